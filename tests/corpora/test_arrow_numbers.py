"""Arrow arrays of numbers and strings are those that Arrow makes by way of pandas."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsetopics.corpora.sources.arrow_files import arrow_numbers, arrow_strings, numbers_of

SAVE = """
import sys
from pathlib import Path
import numpy as np
from sparsetopics.corpora.text.vocabulary import Vocabulary

Vocabulary(("word",), np.ones(1, np.int64), np.ones(1, np.int64)).save(Path({folder!r}))
print([name for name in ("pandas",) if name in sys.modules])
"""


@given(texts=st.lists(st.text(st.characters(exclude_categories=["Cs"]))))
def test_strings_are_those_of_arrow(texts):
    found = arrow_strings(texts)

    found.validate(full=True)
    assert found.equals(pa.array(texts, pa.string()))


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("step", [1, 2])
def test_numbers_go_to_arrow_and_back(dtype, step):
    numbers = np.arange(7, dtype=dtype)[::step]

    found = arrow_numbers(numbers)

    found.validate(full=True)
    assert found.equals(pa.array(numbers))
    np.testing.assert_array_equal(numbers_of(found, numbers.dtype.type), numbers)


def test_saving_words_does_without_pandas(tmp_path):
    program = SAVE.format(folder=str(tmp_path))

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "[]"
