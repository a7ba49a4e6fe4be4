"""A few damaged files for every reader and loader; ``fuzz_all.py`` tries thousands."""

import sys
import time

import numpy as np
import pytest

from fuzz import cases
from fuzz.all_subjects import SUBJECTS, sandbox_of
from fuzz.mutation import mutate

pytest.importorskip("PIL.Image")
N_CASES = 25


@pytest.mark.skipif(sys.platform == "win32", reason="no alarms to stop what hangs")
@pytest.mark.parametrize("reader", SUBJECTS)
def test_damaged_files_are_read_or_refused_in_one_line(reader, tmp_path):
    sandbox = sandbox_of(reader, tmp_path, seed=0)
    sandbox.subject.read(sandbox.folder)  # sound, as yet

    outcomes = [sandbox.run(number) for number in range(N_CASES)]

    crashes = {number: outcome.crash for number, outcome in enumerate(outcomes) if outcome.crash}
    assert crashes == {}
    assert sum(outcome.is_refused for outcome in outcomes) > N_CASES / 10


def test_a_case_follows_from_reader_seed_and_number(tmp_path):
    first, second, other = (sandbox_of("csv", tmp_path, seed) for seed in (0, 0, 1))

    cases = [first.case(number) for number in range(N_CASES)]

    assert [second.case(number) for number in reversed(range(N_CASES))] == cases[::-1]
    assert [other.case(number) for number in range(N_CASES)] != cases


def test_every_kind_of_damage_is_done():
    data = b"numbers 12 and 34, words and more of them" * 4
    rng = np.random.default_rng(0)

    damaged = [mutate(data, rng, other=data[::-1]) for _ in range(500)]

    assert sum(each != data for each in damaged) > 450
    assert any(len(each) < len(data) / 2 for each in damaged)
    assert any(len(each) > 2 * len(data) for each in damaged)
    assert any(b"9223372036854775808" in each for each in damaged)


@pytest.mark.parametrize(
    ("error", "told"),
    [(KeyError("owl"), "KeyError"), (MemoryError(), "MemoryError"), (UserWarning("x"), "Warning")],
)
def test_what_no_reader_may_do_is_a_crash(error, told, tmp_path):
    sandbox = sandbox_of("stop-words", tmp_path, seed=0)

    def read(folder):
        raise error

    object.__setattr__(sandbox.subject, "read", read)

    assert told in sandbox.run(0).crash


@pytest.mark.parametrize("is_busy", [True, False])
def test_only_seconds_of_computing_are_few(tmp_path, monkeypatch, is_busy):
    """On a busy machine five seconds by the clock are nothing."""
    monkeypatch.setattr(cases, "SECONDS", 0.3)
    sandbox = sandbox_of("stop-words", tmp_path, seed=0)

    def read(folder):
        end = time.process_time() + 10
        while is_busy and time.process_time() < end:
            pass
        time.sleep(0.2)

    object.__setattr__(sandbox.subject, "read", read)

    assert ("of computing" in sandbox.run(0).crash) == is_busy


def test_files_left_behind_are_a_crash(tmp_path):
    sandbox = sandbox_of("stop-words", tmp_path, seed=0)
    object.__setattr__(
        sandbox.subject, "read", lambda folder: (folder.parent / "owl").write_text("")
    )

    assert "left behind" in sandbox.run(0).crash
