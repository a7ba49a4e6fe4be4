"""Random tables come back equal, or are refused with their place; more in benchmarks/."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from worlds.random_tables import ENCODINGS, WRITERS, fault, fault_in_memory, tables

N_CASES = 110


@pytest.mark.parametrize(("writer", "extension"), WRITERS, ids=lambda x: getattr(x, "__name__", x))
@settings(max_examples=N_CASES // len(WRITERS), deadline=None, suppress_health_check=[*HealthCheck])
@given(table=tables(), encoding=st.sampled_from(ENCODINGS))
def test_a_table_that_was_written_comes_back_equal(writer, extension, table, encoding):
    assert fault(*table, writer, extension, encoding) == ""


@settings(max_examples=N_CASES // len(WRITERS), deadline=None, suppress_health_check=[*HealthCheck])
@given(table=tables())
def test_a_table_in_memory_comes_back_equal(table):
    assert fault_in_memory(*table) == ""
