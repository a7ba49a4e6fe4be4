"""The same topics, trace, scores and tables to the last bit, whatever vectors a processor has."""

import hashlib
import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from string import ascii_lowercase

import llvmlite.binding as llvm
import numpy as np
import pyarrow as pa
import pytest
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

from sparsetopics.answers.prevalence import grouped_documents
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.grouping import Grouping
from sparsetopics.execution.executors import Executor
from sparsetopics.inference.course import Hooks
from sparsetopics.inference.training import train
from sparsetopics.measures.paired import mean_score
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.options.training import LocalOptions, TrainingOptions
from sparsetopics.runs.topic_path import RungScorer
from worlds.bars import ten_bars

OPTIONS = {
    "lda, collapsed": TrainingOptions(12, 4, local=LocalOptions(sparsity=3)),
    "lda, mean-field": TrainingOptions(12, 3, local=LocalOptions("mean-field", sparsity=3)),
    "hdp": TrainingOptions(14, 6, model="hdp"),
    "hdp, learned": TrainingOptions(14, 6, model="hdp", learn_hyperparameters=True),
}
# Processors by the names that LLVM has for them, those with longer vectors later: what such a one
# must have, whose code BLAS takes, and how the names of features begin that numpy does without.
PROCESSORS = {
    "generic": ((), "Nehalem", ("AVX", "FMA", "X86_V")),
    "haswell": (("avx2", "fma"), "Haswell", ("AVX512", "X86_V4")),
    "skylake-avx512": (("avx512f", "avx512vl"), "SkylakeX", ()),
}


def imitated():
    """The next processor with shorter vectors than this one; compiling for each takes long."""
    if platform.machine() != "x86_64":  # others have other names
        return []
    features = llvm.get_host_cpu_features()
    return [n for n, (needed, *_) in PROCESSORS.items() if all(map(features.get, needed))][-2:-1]


def digests(corpus, folder):
    """A digest of what each training finds, and of scores and tables, by its name."""
    source = ten_bars(np.random.default_rng(0), n_docs=90, n_tokens=80).source(3)
    trained = {name: digest(source, options, folder) for name, options in OPTIONS.items()}
    return trained | made_of_topics(Corpus.open(corpus), np.random.default_rng(2))


def make_corpus():
    """Only here: its kernels count whole numbers, and take long to compile for each processor."""
    rng = np.random.default_rng(2)
    words = [f"word{one}{other}" for one in ascii_lowercase for other in ascii_lowercase]
    texts = [" ".join(rng.choice(words, 60)) for _ in range(120)]
    table = pa.table({"text": texts, "section": list("abcd") * 30})
    return Corpus.from_table(table, keep=["section"])


def made_of_topics(corpus, rng):
    """Tables and scores of 70 topics, which are enough to fill the vectors of any processor."""
    counts = 100.0 * rng.gamma(0.1, 1.0, (70, corpus.n_words)) + 0.1
    model = TopicPosterior("lda", counts, rng.gamma(1.0, 0.1, 70), 0.1)
    grouping = Grouping.parse("section", None)
    found = grouped_documents(model, corpus, corpus.vocabulary.words, grouping).prevalence()
    labels = [("", "")] * model.n_topics
    scores = RungScorer.of_validation(corpus, workers=1).scores(lambda: model)
    return {
        "prevalence": found.table(labels).to_pylist(),
        "differences": found.differences(labels).to_pylist(),
        "scores": [*scores.log_likelihoods.tolist(), *mean_score(scores)],
    }


def digest(source, options, folder):
    trace = []
    hooks = Hooks(on_lap=lambda info, model: trace.append(info._replace(seconds=0.0)))
    model = train(source, options, folder, Executor(), np.random.default_rng(1), hooks=hooks)
    found = hashlib.sha256(model.topic_word_posterior.tobytes())
    found.update(model.doc_concentration.tobytes())
    return [repr(info) for info in trace] + [found.hexdigest()]


def environment(processor, folder):
    _, of_blas, disabled = PROCESSORS[processor]
    present = [name for name in __cpu_dispatch__ if __cpu_features__[name]]
    paths = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    return os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "NUMBA_CPU_NAME": processor,
        "NUMBA_CPU_FEATURES": "",
        "NUMBA_CACHE_DIR": str(folder / "kernels"),
        "OPENBLAS_CORETYPE": of_blas,
        "NPY_DISABLE_CPU_FEATURES": " ".join(n for n in present if n.startswith(disabled)),
    }


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpora") / "corpus"
    make_corpus().save(folder)
    return folder


@pytest.fixture(scope="module")
def expected(corpus, tmp_path_factory):
    return digests(corpus, tmp_path_factory.mktemp("here"))


@pytest.mark.parametrize("processor", imitated())
def test_the_processor_does_not_change_a_bit(expected, corpus, processor, tmp_path):
    done = subprocess.run(
        [sys.executable, __file__, str(corpus), str(tmp_path)],
        check=False,
        capture_output=True,
        text=True,
        env=environment(processor, tmp_path),
    )

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == expected


if __name__ == "__main__":
    print(json.dumps(digests(*map(Path, sys.argv[1:]))))
