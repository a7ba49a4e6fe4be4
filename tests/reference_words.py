"""Words by the rule of ``corpora/text/letters.py``, character by character in plain Python."""

import unicodedata
from functools import cache

import regex

UNSPACED = ("Han", "Hira", "Kana", "Bopo", "Thai", "Lao", "Khmr", "Mymr")
SCRIPTS = (
    "Hang Yi Ethi Cher Cans Vai Deva Beng Guru Gujr Orya Taml Telu Knda Mlym Sinh Tibt Bali Java "
    "Sund"
)
SYLLABIC = tuple(SCRIPTS.split())
JOINERS = "\u200c\u200d"


@cache
def has(character, *properties):
    return any(regex.match(rf"\p{{{name}}}", character) for name in properties)


def is_letter_or_mark(character):
    return has(character, "L", "M")


def is_of(character, scripts):
    return is_letter_or_mark(character) and has(character, *(f"scx={name}" for name in scripts))


def at(text, place):
    """A character of the text; before its beginning and after its end there are spaces."""
    return text[place] if 0 <= place < len(text) else " "


def after_line_end(text, place):
    """Where the text of the next line begins, if this one ends here; None for others."""
    if at(text, place) == "\r":
        place += 1
    if at(text, place) != "\n":
        return None
    place += 1
    while at(text, place) in " \t" and place < len(text):
        place += 1
    return place


def without_breaks(text):
    text = "".join(
        "-" if c in "\u2010\u00ad" and after_line_end(text, n + 1) is not None else c
        for n, c in enumerate(text)
    )
    kept, place = [], 0
    while place < len(text):
        end = after_line_end(text, place + 1) if text[place] == "-" else None
        if end is not None:
            base = place - 1
            while has(at(text, base), "M"):
                base -= 1
            first = at(text, end)
            if has(first, "Lu"):
                joins = has(at(text, base), "Lu")
            else:
                joins = has(first, "L") and is_letter_or_mark(at(text, place - 1))
            if joins:
                place = end
                continue
        kept.append(text[place])
        place += 1
    return "".join(kept)


def without_invisible(text):
    kept, place = [], 0
    while place < len(text):
        end = place
        while at(text, end) == "\u200b":
            end += 1
        if end > place:
            sides = at(text, place - 1), at(text, end)
            kept += [" "] if all(is_of(side, UNSPACED) for side in sides) else []
            place = end
            continue
        character = text[place]
        is_removed = has(character, "Cf", "Mn") and has(character, "Default_Ignorable_Code_Point")
        kept += [] if is_removed and character not in JOINERS else [character]
        place += 1
    return "".join(kept)


def without_stray_joiners(text):
    kept, place = [], 0
    while place < len(text):
        end = place
        while end < len(text) and text[end] in JOINERS:
            end += 1
        if is_letter_or_mark(at(text, place - 1)) and is_letter_or_mark(at(text, end)):
            kept.append(text[place:end])
        if end == place:
            kept.append(text[place])
            end += 1
        place = end
    return "".join(kept)


def weight(character):
    """What a character counts in a word; None if it is in no word, 0 if it only follows others."""
    if character in JOINERS or has(character, "M"):
        found = 0
    elif not has(character, "L"):
        return None
    elif has(character, "GCB=EX", "GCB=SM", "GCB=V", "GCB=T"):
        found = 0
    else:
        found = 2 if is_of(character, [*UNSPACED, *SYLLABIC]) else 1
    return None if is_of(character, UNSPACED) else found


def words_of(text, form="NFC"):
    """The words of a text in their order, without lower case."""
    text = without_stray_joiners(without_invisible(without_breaks(text)))
    return [word for word, _ in placed_words(unicodedata.normalize(form, text))]


def placed_words(text):
    """The words of a text in a normal form, and the place where each begins."""
    words, word, total = [], "", 0
    for place, character in enumerate([*text, " "]):
        found = weight(character)
        if found is None or (not word and found == 0):
            if total >= 3:
                words.append((word, place - len(word)))
            word, total = "", 0
        else:
            word, total = word + character, total + found
    return words


def are_names(text):
    """Which words have one capital, and follow another word, a number, a comma or an abbreviation
    in the same paragraph."""
    found = []
    for word, place in placed_words(text):
        before = text[:place].rstrip(" \r\n")
        is_inside = text[len(before) : place].count("\n") < 2 and (
            before.endswith(",")
            or has(before[-1:], "L", "M", "N")
            or regex.search(r"[\p{Lu}\p{Lt}][a-z]{0,3}\.$", before) is not None
        )
        is_capital = has(word[0], "Lu", "Lt") and not has(word[1], "Lu", "Lt")
        found.append(is_inside and is_capital)
    return found
