"""What a word is, in all scripts and forms of Unicode."""

import unicodedata
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import regex
from hypothesis import example, given, settings
from hypothesis import strategies as st

from reference_words import weight, words_of
from sparsetopics import Corpus
from sparsetopics.base.errors import OptionError
from sparsetopics.corpora.text.letters import letter_weights, small_letters
from sparsetopics.corpora.text.token_kernels import UNCUT
from sparsetopics.corpora.text.tokenizer import TokenizerOptions
from worlds.collections_on_disk import histograms

# Sentences, and those of their words that have three letters, or two in scripts of syllables.
SENTENCES = {
    "English": ("The owls don’t sleep at night.", "the owls don sleep night"),
    "German": ("Müller fährt über die große Brücke.", "müller fährt über die große brücke"),
    "French": ("L’été, les élèves étudient peu à Noël.", "été les élèves étudient peu noël"),
    "Turkish": ("Çocuklar bahçede güneşi seviyor.", "çocuklar bahçede güneşi seviyor"),
    "Vietnamese": ("Người Việt uống cà phê sữa đá.", "người việt uống phê sữa"),
    "Yoruba": ("Ọmọ náà ń sùn ní ilé.", "ọmọ náà sùn ilé"),
    "Russian": ("Ёжик и йод в тумане.", "ёжик йод тумане"),
    "Greek": ("Η γλαύκα πετάει τη νύχτα.", "γλαύκα πετάει νύχτα"),
    "Armenian": ("Բուն գիշերը թռչում է։", "բուն գիշերը թռչում"),
    "Georgian": ("ბუ ღამით დაფრინავს", "ღამით დაფრინავს"),
    "Hebrew": ("הַיַּנְשׁוּף עָף בַּלַּיְלָה", "הַיַּנְשׁוּף בַּלַּיְלָה"),
    "Arabic": ("البُومَةُ تَطيرُ في اللّيلِ", "البُومَةُ تَطيرُ اللّيلِ"),
    "Persian": ("جغدها شب‌ها پرواز می‌کنند", "جغدها شب‌ها پرواز می‌کنند"),
    "Hindi": ("हिन्दी भाषा की स्वतंत्रता, क्या करना?", "हिन्दी भाषा स्वतंत्रता क्या करना"),
    "Marathi": ("घुबड रात्री उडते आणि गाय शेतात आहे", "घुबड रात्री उडते आणि गाय शेतात आहे"),
    "Bengali": ("পেঁচা রাতে ওড়ে", "পেঁচা রাতে ওড়ে"),
    "Tamil": ("ஆந்தை இரவில் பறக்கும்", "ஆந்தை இரவில் பறக்கும்"),
    "Telugu": ("గుడ్లగూబ రాత్రి ఎగురుతుంది", "గుడ్లగూబ రాత్రి ఎగురుతుంది"),
    "Malayalam": ("മൂങ്ങ രാത്രിയിൽ പറക്കുന്നു", "മൂങ്ങ രാത്രിയിൽ പറക്കുന്നു"),
    "Sinhala": ("ශ්‍රී ලංකාවේ බකමූණා", "ශ්‍රී ලංකාවේ බකමූණා"),
    "Amharic": ("ጉጉት በሌሊት ይበራል።", "ጉጉት በሌሊት ይበራል"),
    "Korean": ("올빼미는 밤에 난다", "올빼미는 밤에 난다"),
    "Mathematics": ("Let 𝒳𝒴𝒵 be x² and ½ of H₂O.", "let 𝒳𝒴𝒵 and"),
    "soft hyphens": ("Donau\u00addampf\u00adschiff", "donaudampfschiff"),
    "spaces without width": ("every\u200bwhere \ufeffowls", "everywhere owls"),
    "marks of direction": ("the \u200fowl\u200e \u202aflies\u202c", "the owl flies"),
    "lines": ("a mid-\nnight\u2010\r\n ly flight of WHITE-\n OWLS", "midnightly flight whiteowls"),
    "names at line ends": ("by Jean-\nPaul, 19-\n20 times", "jean paul times"),
    "emoji": ("I ❤️ 👩‍👩‍👧 owls 1️⃣ très🦉️bien", "owls très bien"),
    "marks alone": ("\u0301abc \u094dक \u200dowl\u200d", "abc owl"),
}
unicode = st.lists(
    st.one_of(
        st.characters(exclude_categories=["Cs"]),
        st.sampled_from("aBÉé\u0301\u00ad-\u2010\n\r \t\u200b\u200c\u200d\ufe0fकिं्漢字かกำ한한ǅ"),
        st.sampled_from(["ab-\ncd", "AB-\r\n CD", "abc", "कख", "กข\u200bค"]),
    ),
    max_size=20,
).map("".join)


EXPECTED = {None: (-1, UNCUT), 0: (0,), 1: (1,), 2: (2,)}  # weights in the table, by the twin's


def found(text, **options):
    return histograms([text], TokenizerOptions(**options))[0]


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize("name", SENTENCES)
def test_words_are_whole_in_all_scripts_and_forms(name, form):
    text, words = SENTENCES[name]

    counts = found(unicodedata.normalize(form, text))

    assert counts == Counter(unicodedata.normalize("NFC", words).split())


@settings(max_examples=100)
@example("\u200d\u200da\u200d\u200db\u200d")
@example("ab\u00ad\u0301c e\u200d\u0301ab")
@given(text=unicode)
def test_a_twin_in_plain_python_finds_the_same_words(text):
    words = words_of(text)

    assert found(text, lowercase=False) == Counter(words)
    assert found(text) == Counter(pc.utf8_lower(pa.array(words, pa.string())).to_pylist())
    assert found(text, lowercase=False, normalize="nfkc") == Counter(words_of(text, "NFKC"))


@given(text=unicode)
def test_composed_and_decomposed_texts_have_the_same_words(text):
    forms = [unicodedata.normalize(form, text) for form in ("NFC", "NFD")]

    assert found(forms[0]) == found(forms[1])


def test_letters_weigh_what_plain_python_says():
    weights = letter_weights(are_words_divided=False)
    codes = [*range(0x1200), *range(0x1200, 0xD800, 31), *range(0xE000, 0x110000, 97)]

    wrong = [code for code in codes if weights[code] not in EXPECTED[weight(chr(code))]]

    assert not wrong
    np.testing.assert_array_equal(weights, weights[small_letters()])


def test_a_collection_has_the_same_words_in_both_forms():
    texts = [SENTENCES[name][0] for name in ("German", "Vietnamese", "Hindi", "Korean")] * 3

    one, other = (
        Corpus.from_texts([unicodedata.normalize(form, text) for text in texts])
        for form in ("NFC", "NFD")
    )

    assert one.vocabulary.words == other.vocabulary.words
    np.testing.assert_array_equal(one.to_csr().toarray(), other.to_csr().toarray())


def test_nfkc_joins_ligatures_and_wide_letters():
    text = "ﬁne ｆｕｌｌ ｶﾞｶﾞ Ⅷⅷⅷ"

    assert found(text, normalize="nfkc") == {"fine": 1, "full": 1, "viiiviiiviii": 1}
    assert found(text) == {"ﬁne": 1, "ｆｕｌｌ": 1}


# --- patterns -------------------------------------------------------------------------------------
# Those of docs/how-to/ingest.md.
PATTERNS = {
    r"\p{L}[\p{L}\p{M}\p{Nd}]{2,}": ("Covid19 mp3 3d 2019", "covid19 mp3"),
    r"[\p{L}\p{M}]{2,}": ("AI in the UK, a test", "ai in the uk test"),
    r"\p{L}[\p{L}\p{M}]+(?:-[\p{L}\p{M}]+)*": (
        "a well-known Jean-Luc -x- no-",
        "well-known jean-luc no",
    ),
    r"\p{L}[\p{L}\p{M}]+(?:['’][\p{L}\p{M}]+)*": (
        "Don't panic, it’s ’quoted’ ok",
        "don't panic it’s quoted ok",
    ),
}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_of_the_guide_do_what_it_says(pattern):
    text, words = PATTERNS[pattern]

    assert found(text, token_pattern=pattern) == Counter(words.split())


def test_the_guide_lists_these_patterns():
    page = Path(__file__).parents[2] / "docs" / "how-to" / "ingest.md"
    if not page.exists():
        pytest.skip("needs docs/, which the source archive leaves out")

    assert all(f"| `{pattern}` |" in page.read_text() for pattern in PATTERNS)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("[a-z", "'[a-z' is not a regular expression: unterminated character set after '[a-z'"),
        ("ab*c**", "'ab*c**' is not a regular expression: multiple repeat after 'ab*c*"),
        (
            r"\p{Foo}+",
            r"'\\p{Foo}+' is not a regular expression: unknown property after '\\p{Foo}'",
        ),
    ],
)
def test_a_bad_pattern_is_shown_with_its_place(pattern, message):
    with pytest.raises(OptionError) as caught:
        TokenizerOptions(token_pattern=pattern)

    assert str(caught.value).startswith(f"token_pattern: {message}")


def test_classes_of_regex_are_scanned():
    text = "Äpfel 12 und ǅemal हिन्दी x1"

    for pattern in (r"\p{L}+", r"[\p{L}\p{M}]{2,}", r"\w{2,}", r"\P{L}+", r"[^\p{L} ]+"):
        counts = found(text, token_pattern=pattern, lowercase=False)
        assert counts == Counter(regex.findall(pattern, text))
