"""Fuzz one reader, guided by the code that it reaches: ``python tests/fuzz_guided.py jsonl``.

Needs atheris (``pip install atheris``). Options of libFuzzer may follow the name of the reader,
such as ``-max_total_time=600``. Inputs that crash are written to the working directory.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import atheris

ROOT = Path(__file__).parent.parent
COMPILED = sorted(path.stem for path in ROOT.glob("sparsetopics/kernels/[a-z]*.py"))
TOKENS = "sparsetopics.corpora.text.token_kernels"
KERNELS = [*(f"sparsetopics.kernels.{name}" for name in COMPILED), TOKENS]  # from their bytecode


def main() -> None:
    with atheris.instrument_imports(include=["sparsetopics"], exclude=KERNELS):
        from fuzz.all_subjects import sandbox_of
        from fuzz.cases import Case
    with TemporaryDirectory() as scratch:
        inside, corpus = Path(scratch) / "reader", Path(scratch) / "corpus"
        inside.mkdir()
        corpus.mkdir()
        sandbox = sandbox_of(sys.argv[1], inside, seed=0)
        sandbox.subject.read(sandbox.folder)  # kernels are compiled now
        file = sandbox.subject.damaged[0]
        (corpus / "sound").write_bytes(sandbox.subject.files[file])

        def try_one(data: bytes) -> None:
            if crash := sandbox.try_case(Case(file, data, is_sealed=True)).crash:
                raise AssertionError(crash)

        atheris.Setup([sys.argv[0], str(corpus), *sys.argv[2:]], try_one)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
