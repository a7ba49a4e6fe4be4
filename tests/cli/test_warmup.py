"""After ``warmup`` no command has anything left to compile."""

import json
import subprocess
import sys

import numpy as np
from click.testing import CliRunner

from sparsetopics.cli import warmup
from sparsetopics.cli.main import main
from worlds.clumped_mixtures import draw_clumps
from worlds.collections_on_disk import make_texts, write_jsonl

AFTERWARDS = """
import json, sys
from numba.core.dispatcher import Dispatcher
from sparsetopics.cli.main import main
from sparsetopics.cli.warmup import _count_kernels

main(["warmup", "--json"], standalone_mode=False)
before = _count_kernels()
found = {
    (name, kernel)
    for module_name, module in list(sys.modules.items())
    if module_name.startswith("sparsetopics")
    for name, kernel in vars(module).items()
    if isinstance(kernel, Dispatcher) and kernel.stats.cache_path is not None
}
for words in json.loads(sys.argv[1]):
    main(words, standalone_mode=False)
print(json.dumps(sorted({name for name, kernel in found if len(kernel.signatures) > 1})))
print(json.dumps([before, _count_kernels()]))
"""
QUICK = ["--laps", "6", "--quiet"]
COMMANDS = [
    ["ingest", "news.jsonl", "--min-df", "3", "--out", "documents", "--quiet"],
    ["ingest", "vectors.npy", "--out", "vectors", "--quiet"],
    ["corpus", "split", "documents", "--out-train", "train", "--out-heldout", "heldout"],
    ["train", "train", "--topics", "12", "--sparsity", "4", *QUICK, "--out", "hdp"],
    ["train", "train", "--model", "lda", "--topics", "9", "--alpha", "0.3", *QUICK, "--out", "lda",
     "--keep-state"],
    ["resume", "lda", "--laps", "7", "--quiet"],
    ["train", "vectors", "--model", "mixture", "--topics", "3", *QUICK, "--out", "clusters"],
    ["evaluate", "hdp", "lda", "heldout"],
    ["infer", "lda", "heldout", "--out", "lda.parquet"],
    ["infer", "lda", "heldout", "--top", "2", "--out", "top.csv"],
    ["report", "lda", "--corpus", "train", "--out", "lda.html"],
]  # fmt: skip


def test_no_command_compiles_anything_afterwards(tmp_path):
    write_jsonl(tmp_path / "news.jsonl", make_texts(200))
    np.save(tmp_path / "vectors.npy", draw_clumps(0, 200, 5).values)

    done = subprocess.run(
        [sys.executable, "-c", AFTERWARDS, json.dumps(COMMANDS)],
        check=False,
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )

    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[0])
    before, after = json.loads(done.stdout.splitlines()[-1])
    assert before == after
    assert [told["n_kernels"], told["n_compiled"]] == before
    assert told["n_kernels"] >= 40
    # Numbers of two widths, and documents in memory or mapped from a file: no other kernel is
    # compiled for several types.
    assert json.loads(done.stdout.splitlines()[-2]) == ["add_word_logs", "multiply", "share_items"]
    assert all(f" of 5: {what}\n" in done.stderr for what in warmup.STEPS)


def test_people_read_a_sentence(monkeypatch):
    monkeypatch.setattr(warmup, "STEPS", {"tokens": warmup.STEPS["tokens"]})

    result = CliRunner().invoke(main, ["warmup"])

    assert result.exit_code == 0, result.output
    assert " kernels are ready, " in result.stdout
    assert result.stderr == "1 of 1: tokens\n"


def test_what_goes_wrong_is_one_line(monkeypatch):
    monkeypatch.setattr(warmup, "STEPS", {"tokens": ("ingest @gone --out @x",)})

    result = CliRunner().invoke(main, ["warmup"])

    assert result.exit_code == 1
    assert "Error: " in result.stderr
