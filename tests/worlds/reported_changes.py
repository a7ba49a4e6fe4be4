"""Changes of topics as pages show them, of any strings."""

from sparsetopics.answers.changes import Change


def changes_of(strings):
    """News of all kinds: a topic with an id and documents, one that is gone, and no topic."""
    words, documents = tuple(strings[:8]), tuple(strings)
    return [
        Change("taken over", "bbbbbbbb", strings[1], words, documents=documents),
        Change("gone", None, strings[0], words, former=("cccccccc",)),
        Change("no topic fits", None, "9 documents", words, documents=documents),
        Change("same", "dddddddd", strings[2], words),
    ]
