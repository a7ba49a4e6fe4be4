"""Texts of sport and law with fields, and what commands print about the shares of their topics."""

import json

import numpy as np
from click.testing import CliRunner

from sparsetopics.cli.main import main

WORDS = {"sport": "ball goal team match", "law": "court judge appeal crime"}
MONTHS = ("2023-11-30", "2023-12-24", "2024-01-02")


def called(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def told(*arguments):
    """What a command prints with ``--json``."""
    result = called("prevalence", *arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def write_texts(path, label_of):
    """Documents of which those with an even number are mostly of sport, the others of law."""
    rng = np.random.default_rng(0)
    lines = []
    for number in range(120):
        own, other = list(WORDS)[:: 1 if number % 2 == 0 else -1]
        words = [*rng.choice(WORDS[own].split(), 16), *rng.choice(WORDS[other].split(), 4)]
        record = {"id": number, "text": " ".join(words), "label": label_of(number)}
        lines.append(json.dumps(record | fields_of(number)))
    path.write_text("\n".join(lines))
    return path


def fields_of(number):
    """What the corpus ``kept`` keeps of a document, some of it missing."""
    return {
        "section": "" if number == 7 else "AB"[number % 2],
        "date": None if number == 3 else f"{MONTHS[number % 3]}T18:30",
        "size": 8 + number % 3,
    }
