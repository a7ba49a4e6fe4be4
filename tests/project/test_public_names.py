"""What ``import sparsetopics`` offers, and how people find it."""

import pydoc
import subprocess
import sys

import pytest

import sparsetopics
from sparsetopics.base import errors


def test_dir_shows_the_public_names_and_nothing_else():
    shown = {name for name in dir(sparsetopics) if not name.startswith("__")}

    assert shown == set(sparsetopics.__all__)
    assert {"LDA", "Corpus", "load", "MLflowLaps", "OptionError"} <= shown


def test_help_names_and_explains_them():
    text = pydoc.plain(pydoc.render_doc(sparsetopics))

    for name in sparsetopics.__all__:
        assert name in sparsetopics.__doc__, name
        assert f"class {name}(" in text or f"{name}(" in text, name


def test_all_errors_are_public():
    own = {name for name, each in vars(errors).items() if name.endswith("Error")}

    assert own == {name for name in sparsetopics.__all__ if name.endswith("Error")}
    for name in own:
        assert getattr(sparsetopics, name) is getattr(errors, name)


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'sparsetopics' has no attribute 'LSA'"):
        _ = sparsetopics.LSA
    with pytest.raises(ImportError):
        from sparsetopics import LSA  # noqa: F401


def test_the_import_itself_is_light():
    code = "import sparsetopics, sys; assert not {'numpy', 'sklearn', 'numba'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
