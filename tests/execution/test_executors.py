"""Where tasks run: in which order results come, and how many threads linear algebra has."""

import json
import os
import subprocess
import sys

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from sparsetopics.base.errors import OptionError
from sparsetopics.execution.executors import open_executor, open_local_map
from sparsetopics.options.workplace import Workplace


def blas_threads(item=None):
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


@pytest.mark.parametrize("workers", [1, 2])
def test_linear_algebra_keeps_to_the_thread_that_asks(workers):
    with threadpool_limits(2, user_api="blas"):
        with open_executor(workers) as executor:
            found = executor.map(blas_threads, range(4))
        after = blas_threads()

    assert found == [{1}] * 4
    assert after == {2}


def test_it_does_so_in_what_is_imported_later():
    code = """
from sparsetopics.execution.executors import open_executor, open_local_map
from sparsetopics.options.workplace import Workplace
with open_executor(1):
    import scipy.linalg, scipy.optimize
    from threadpoolctl import threadpool_info
    print([each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"])
"""
    environment = os.environ | {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"}
    found = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )

    assert set(json.loads(found.stdout)) == {1}


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_results_come_in_the_order_of_the_items(workers):
    with open_executor(workers) as executor:
        assert executor.map(lambda item: item**2, range(50)) == [n**2 for n in range(50)]


def test_no_workers_are_refused():
    with (
        pytest.raises(OptionError, match="workers: must be at least 1, but is 0"),
        open_executor(0),
    ):
        pass


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_streams_are_read_one_after_the_other_and_little_ahead(workers):
    begun = []

    def stream(number):
        begun.append(number)
        yield from ((number, item) for item in range(number % 4))

    found = []
    with open_local_map(Workplace(workers=workers)) as here:
        for number, item in here.chained(map(stream, range(40))):
            assert max(begun) <= number + (workers if workers > 1 else 0)
            found.append((number, item))

    assert found == [(number, item) for number in range(40) for item in range(number % 4)]


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_the_error_of_a_stream_comes_after_what_it_gave(workers):
    def stream():
        yield from range(3)
        raise ValueError("the end")

    found = []
    with open_local_map(Workplace(workers=workers)) as here, pytest.raises(ValueError, match="end"):
        found.extend(here.chained([stream(), iter([7])]))

    assert found == [0, 1, 2]
