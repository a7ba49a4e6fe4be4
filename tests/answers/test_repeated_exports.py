"""Exports of the same run or corpus have the same bytes, in any process and at any path."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sparsetopics.answers.exports import CORPUS_TARGETS, RUN_TARGETS
from sparsetopics.answers.exports.exporting import export_corpus, export_run
from sparsetopics.corpora.ingest import IngestOptions, ingest
from sparsetopics.runs.run_files import vocabulary_of


def export_all(run, corpus, out):
    for target, kind in RUN_TARGETS.items():
        documents = corpus if "documents" in kind.takes else None
        export_run(run, target, out / f"run.{target}", documents=documents)
    for target in CORPUS_TARGETS:
        export_corpus(corpus, target, out / f"corpus.{target}")


@pytest.fixture
def corpus_folder(tmp_path, run_folder, training_batch, vocabulary):
    texts = [
        " ".join(vocabulary.words[word] for word in training_batch[n : n + 1].word_ids)
        for n in range(training_batch.n_docs)
    ]
    (tmp_path / "lines.txt").write_text("\n".join(texts))
    options = IngestOptions(vocabulary=vocabulary_of(run_folder), format="lines")
    ingest([tmp_path / "lines.txt"], tmp_path / "corpus", options)
    return tmp_path / "corpus"


def test_exports_have_the_same_bytes_in_another_process(tmp_path, run_folder, corpus_folder):
    places = [tmp_path / name for name in ("one", "another")]
    for place in places:
        place.mkdir()
    # Sets of strings have another order under another seed.
    seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"

    export_all(run_folder, corpus_folder, places[0])
    arguments = [sys.executable, __file__, run_folder, corpus_folder, places[1]]
    subprocess.run(arguments, check=True, env=os.environ | {"PYTHONHASHSEED": seed})

    one, another = ({file.name: file.read_bytes() for file in place.iterdir()} for place in places)
    assert len(one) >= len(RUN_TARGETS) + len(CORPUS_TARGETS) + 6
    assert [name for name in one if one[name] != another[name]] == []
    assert one.keys() == another.keys()


if __name__ == "__main__":
    export_all(*map(Path, sys.argv[1:]))
