"""Text for people: what a terminal must not obey, foreign messages, counts of things."""

import ast
import io
import math

import pytest

from code_sizes import ROOT
from sparsetopics.base.array_files import read_npy_header
from sparsetopics.base.wording import (
    LONGEST_REASON,
    decimals,
    excerpt,
    kind_and_reason_of,
    printable,
    quantity,
    reason_of,
    with_marks,
    without_middle,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain − größer 東京 🎉", "plain − größer 東京 🎉"),
        ("\x1b]0;owned\x07", "\\x1b]0;owned\\x07"),
        ("a\r\nb\tc\x7f", "a\\r\\nb\\tc\\x7f"),
        ("\x9b31m", "\\x9b31m"),
        ("safe\u202eexe.txt\u2066", "safe\\u202eexe.txt\\u2066"),
        ("a\u2028b", "a\\u2028b"),
        ("\udc80", "\\udc80"),
        ("می\u200cخواهم 👩\u200d💻 12\xa0%", "می\u200cخواهم 👩\u200d💻 12\xa0%"),
    ],
)
def test_what_controls_a_terminal_is_escaped_and_nothing_else(text, shown):
    assert printable(text) == shown


def errors_of_pillow():
    image = pytest.importorskip("PIL.Image")
    with pytest.raises(image.UnidentifiedImageError) as caught:
        image.open(io.BytesIO(b"no image"))
    return caught.value


def test_messages_of_others_are_one_line_without_addresses():
    assert reason_of(errors_of_pillow()) == "cannot identify image file"
    with pytest.raises(ValueError, match=r"<ast\.Call") as caught:
        ast.literal_eval("f(1)")
    assert reason_of(caught.value) == "malformed node or string on line 1"
    several = OSError("\n  An error occurred (403):\nDetail: <Response [403]>\n")
    assert reason_of(several) == "An error occurred (403)"
    assert reason_of(FileNotFoundError(2, "No such file", "x")) == "No such file"
    assert reason_of(RuntimeError()) == kind_and_reason_of(RuntimeError()) == "RuntimeError"
    assert kind_and_reason_of(KeyError("a")) == "KeyError: 'a'"
    assert len(reason_of(ValueError("x" * 10_000))) == LONGEST_REASON + 1


def test_a_header_that_calls_a_function_is_damaged():
    header = b"{'descr': f(), 'fortran_order': False, 'shape': (1,)}"
    data = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header

    with pytest.raises(ValueError, match=r"^a damaged header"):
        read_npy_header(io.BytesIO(data))


def test_one_thing_is_singular():
    found = [quantity(n, "topic") for n in (0, 1, 2, 12_345)]
    assert found == ["0 topics", "1 topic", "2 topics", "12,345 topics"]
    assert [quantity(n, "batch", "batches") for n in (1, 2)] == ["1 batch", "2 batches"]


def test_long_names_lose_their_middle():
    assert without_middle("short", 9) == "short"
    assert without_middle("runs/of-today/lda-50", 9) == "runs…a-50"


def test_commands_print_through_one_place():
    """Elsewhere, a word or a file name could reach the terminal as it is."""
    for file in sorted((ROOT / "cli").glob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        calls = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        is_printer = file.name == "printing.py"
        assert ("click.echo" in calls) == is_printer, file
        assert not calls & {"print", "click.secho", "sys.stderr.write", "sys.stdout.write"}, file


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\n b\tc", "a b c"),
        ("0123456789", "0123456789"),
        ("01234567890", "012345678…"),
        ("\x1b[1m\u202e", "\\x1b[1m\\u…"),
        ("", ""),
        (" " * 100 + "late", "…"),
        ("long " * 10_000_000, "long long…"),
    ],
)
def test_an_excerpt_is_one_printable_line(text, shown):
    assert excerpt(text, 10) == shown


@pytest.mark.parametrize(
    ("text", "words", "shown"),
    [
        ("Police, police.", ["police"], "[Police], [police]."),
        ("policemen police2 _police_", ["police"], "policemen police2 _[police]_"),
        ("in New York or New\u2014York", ["new", "new_york"], "in [New York] or [New\u2014York]"),
        ("a.c abc", ["a.c"], "[a.c] abc"),
        ("我爱北京天安门", ["北京"], "我爱[北京]天安门"),
        ("GRÖSSE Größe", ["größe"], "GRÖSSE [Größe]"),
        ("nothing", [], "nothing"),
        ("no (word", ["_", "(", "[", "\\"], "no [(]word"),
        ("", ["a"], ""),
    ],
)
def test_words_are_marked_where_they_stand_alone(text, words, shown):
    pieces = with_marks(text, words)

    assert "".join(f"[{piece}]" if is_marked else piece for piece, is_marked in pieces) == shown
    assert "".join(piece for piece, _ in pieces) == text


def test_marks_take_no_longer_than_the_text_is_long():
    text = "a" + " " * 20_000 + "b" * 20_000

    assert with_marks(text, ["a_c", "b_c", "bb_b"]) == [(text, False)]


@pytest.mark.parametrize(
    ("error", "n_decimals"),
    [
        *((0.0123, 3), (0.0996, 2), (0.1, 2), (1.0, 1), (12.0, 0), (4_321.0, 0), (1e-300, 15)),
        *((0.0, 4), (math.nan, 4), (math.inf, 4)),
    ],
)
def test_numbers_have_the_decimals_that_two_digits_of_their_error_have(error, n_decimals):
    assert decimals(error) == n_decimals
