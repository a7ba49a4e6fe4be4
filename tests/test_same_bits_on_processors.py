"""The same topics, ELBO and trace to the last bit, whatever vectors the processor has."""

import hashlib
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

from bars import ten_bars
from sparsetopics.execution.executors import SerialExecutor
from sparsetopics.inference.training import Hooks, train
from sparsetopics.options.training import LocalOptions, TrainingOptions

OPTIONS = {
    "lda, collapsed": TrainingOptions(12, 4, local=LocalOptions(sparsity=3)),
    "lda, mean-field": TrainingOptions(12, 3, local=LocalOptions("mean-field", sparsity=3)),
    "hdp": TrainingOptions(14, 6, model="hdp"),
}
# Processors by the names that LLVM has for them, those with longer vectors later: what such a one
# must have, whose code BLAS takes, and how the names of features begin that numpy does without.
PROCESSORS = {
    "generic": ((), "Nehalem", ("AVX", "FMA", "X86_V")),
    "haswell": (("avx2", "fma"), "Haswell", ("AVX512", "X86_V4")),
    "skylake-avx512": (("avx512f", "avx512vl"), "SkylakeX", ()),
}


def imitated():
    """The processors with shorter vectors than this one, which stands for the longest it has."""
    if platform.machine() != "x86_64":  # others have other names
        return []
    features = llvm.get_host_cpu_features()
    return [n for n, (needed, *_) in PROCESSORS.items() if all(map(features.get, needed))][:-1]


def digests(folder):
    """A digest of what each training finds, by its name."""
    source = ten_bars(np.random.default_rng(0), n_docs=90, n_tokens=80).source(3)
    return {name: digest(source, options, folder) for name, options in OPTIONS.items()}


def digest(source, options, folder):
    trace = []
    hooks = Hooks(on_lap=lambda info, model: trace.append(info._replace(seconds=0.0)))
    model = train(source, options, folder, SerialExecutor(), np.random.default_rng(1), hooks=hooks)
    found = hashlib.sha256(model.topic_word_posterior.tobytes())
    found.update(model.doc_concentration.tobytes())
    return [repr(info) for info in trace] + [found.hexdigest()]


def environment(processor, folder):
    _, of_blas, disabled = PROCESSORS[processor]
    present = [name for name in __cpu_dispatch__ if __cpu_features__[name]]
    paths = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    return os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "NUMBA_CPU_NAME": processor,
        "NUMBA_CPU_FEATURES": "",
        "NUMBA_CACHE_DIR": str(folder / "kernels"),
        "OPENBLAS_CORETYPE": of_blas,
        "NPY_DISABLE_CPU_FEATURES": " ".join(n for n in present if n.startswith(disabled)),
    }


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    return digests(tmp_path_factory.mktemp("here"))


@pytest.mark.parametrize("processor", imitated())
def test_the_processor_does_not_change_a_bit(expected, processor, tmp_path):
    done = subprocess.run(
        [sys.executable, __file__, str(tmp_path)],
        check=False,
        capture_output=True,
        text=True,
        env=environment(processor, tmp_path),
    )

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == expected


if __name__ == "__main__":
    print(json.dumps(digests(Path(sys.argv[1]))))
