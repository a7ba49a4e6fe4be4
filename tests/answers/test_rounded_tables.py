"""Tables for people show as many decimals as the standard error allows."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sparsetopics.answers.table_files import write_tables

TABLE = pa.table(
    {
        "topic": [0, 1, 2],
        "mean": [0.123456789, 0.3, 1 / 3],
        "standard_error": [0.0123456, None, 0.00098765],
        "low": [0.1, None, 0.331234567],
        "high": [0.151515, None, 0.33512345],
        "p_value": [0.0123456789, None, 1.0],
    }
)


def test_csv_is_rounded_to_two_digits_of_the_error(tmp_path):
    write_tables(tmp_path / "a.csv", ".csv", TABLE.schema, [TABLE])

    assert (tmp_path / "a.csv").read_text().splitlines()[1:] == [
        "0,0.123,0.012,0.1,0.152,0.0123456789",
        "1,0.3,,,,",
        "2,0.33333,0.00099,0.33123,0.33512,1",
    ]


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl", ".arrow"])
def test_other_formats_are_exact(tmp_path, suffix):
    write_tables(path := tmp_path / "a", suffix, TABLE.schema, [TABLE])

    if suffix == ".parquet":
        assert pq.read_table(path) == TABLE
    elif suffix == ".arrow":
        assert pa.ipc.open_file(path).read_all() == TABLE
    else:
        assert [*map(json.loads, path.read_text().splitlines())] == TABLE.to_pylist()


def test_tables_without_errors_stay_as_they_are(tmp_path):
    table = TABLE.drop_columns("standard_error")
    write_tables(tmp_path / "a.csv", ".csv", table.schema, [table])

    assert "0.123456789" in (tmp_path / "a.csv").read_text()
