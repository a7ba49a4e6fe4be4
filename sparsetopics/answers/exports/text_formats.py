"""Text formats: MALLET, Matrix Market, names in TOML, JSON for pyLDAvis and trees in Newick for
topics, others for documents."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TextIO

import numpy as np
import pyarrow as pa
from pyarrow.csv import WriteOptions, write_csv
from scipy.io import mmwrite
from scipy.sparse import coo_array

from sparsetopics.answers.proportions import shares_of
from sparsetopics.answers.topic_names import labels_of, words_of_names
from sparsetopics.base.batches import FloatArray
from sparsetopics.base.errors import OutputError
from sparsetopics.base.sealed_files import Json
from sparsetopics.base.showing import shortened
from sparsetopics.base.wording import printable
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.measures.relevance import LONGEST_NAME
from sparsetopics.measures.top_words import top_words
from sparsetopics.model.statistics import tokens_of_documents
from sparsetopics.options.option import refuse
from sparsetopics.runs.plan import toml
from sparsetopics.runs.run import AnyRun
from sparsetopics.runs.topic_path_files import TopicPathFolder, TopicTree, TreeRung

VOCABULARY_SUFFIX = ".vocab"  # as gensim names it
KEYS_SUFFIX = ".keys"
KEY_WORDS = 20  # MALLET's --num-top-words
EXACT_DIGITS = 17  # enough to tell any two float64 apart
# Several readers of word counts, gensim's among them, accept no other header.
BANNER = "%%MatrixMarket matrix coordinate real general"
ENTRIES = WriteOptions(include_header=False, delimiter=" ", quoting_style="none")
LABEL_WORDS = 5  # of a topic in Newick
APOSTROPHE = "\N{RIGHT SINGLE QUOTATION MARK}"
# What is below a node, in Newick, without the length of the edge above; and the size of its rung.
Node = tuple[str, int]


def write_mallet(path: Path, run: AnyRun) -> None:
    """Write what MALLET's ``--topic-word-weights-file`` and ``--output-topic-keys`` write.

    ``path`` gets a line ``topic TAB word TAB weight`` for every topic and word. Weights are
    smoothing + counts in full precision, as MALLET's are β + counts. ``path.keys`` gets one line
    per topic: the topic, α_k (the weight of the component in a mixture) and the 20 best words.
    Raises OutputError for a word with a tab or a line break.
    """
    words = run.words.words
    _check_words(path, words, "\t\n\r")
    topic_word = run.model.topic_word_weights
    with path.open("w", encoding="utf-8", newline="") as file:
        for topic, weights in enumerate(topic_word):
            rows = zip(words, weights.tolist(), strict=True)
            # repr is the shortest text that reads back as the same float64.
            file.writelines(f"{topic}\t{word}\t{weight!r}\n" for word, weight in rows)
    shares = run.model.mixing_weights
    best_words = top_words(topic_word, KEY_WORDS)
    with Path(f"{path}{KEYS_SUFFIX}").open("w", encoding="utf-8", newline="") as file:
        for topic, (share, best) in enumerate(zip(shares, best_words, strict=True)):
            file.write(f"{topic}\t{float(share)!r}\t{' '.join(words[word] for word in best)}\n")


def write_topic_matrix(path: Path, run: AnyRun) -> None:
    """Write word probabilities (topics by words) as Matrix Market, and the words to ``path.vocab``.

    The matrix is dense but is written by coordinates, the only layout that some readers know.
    """
    _write_vocabulary(path, run.words.words)
    comment = "Probabilities of words (columns) in topics (rows)"
    with path.open("wb") as file:  # mmwrite would add .mtx to a name
        mmwrite(file, coo_array(run.model.topic_word_mean), comment, precision=EXACT_DIGITS)


def write_names(path: Path, run: AnyRun) -> None:
    """Write a file for ``read_names`` with the name of each topic and ten words, by its id."""
    lines = ["# Edit the names, and give this file to --names. Ids and words find a topic again.\n"]
    rows = zip(run.topics, labels_of(run), words_of_names(run), run.model.weights, strict=True)
    for topic, (_, name), words, weight in rows:
        quoted = toml(shortened(printable(name), LONGEST_NAME))  # escapes may make it too long
        own = ", ".join(map(toml, topic.words or words))
        lines.append(f"\n# {weight:.2%}\n{topic.id} = {{name = {quoted}, words = [{own}]}}\n")
    path.write_text("".join(lines), encoding="utf-8", newline="\n")


def write_pyldavis(path: Path, run: AnyRun, documents: Corpus) -> None:
    """Write one object: the arguments of ``pyLDAvis.prepare``.

    The documents are those of ``documents``, in their order, with the proportions that ``infer``
    finds. Rows are streamed, so memory does not grow with their number here; pyLDAvis itself holds
    them all. Raises OptionError for a single topic, which pyLDAvis cannot place on its map.
    """
    if run.model.n_topics == 1:
        refuse("to", f"pyldavis needs two topics or more, but {run.path} has one")
    doc_lengths: list[float] = []
    term_frequency = np.zeros(len(run.words))
    shares_in = shares_of(run.model)

    def counted_shares() -> Iterator[FloatArray]:
        for batch in documents.batches():
            doc_lengths.extend(tokens_of_documents(batch).tolist())
            own = np.bincount(batch.word_ids, batch.weights, len(term_frequency))
            np.add(term_frequency, own, out=term_frequency)
            yield from shares_in(batch)

    with path.open("w", encoding="utf-8", newline="") as file:
        file.write('{"topic_term_dists": ')
        _write_rows(file, run.model.topic_word_mean)
        file.write(',\n"doc_topic_dists": ')
        _write_rows(file, counted_shares())
        # Documents are read once: all were counted when their proportions were written.
        rest: dict[str, Json] = {
            "doc_lengths": doc_lengths,
            "vocab": run.words.words,
            "term_frequency": term_frequency.tolist(),
            "sort_topics": False,  # topics keep their order
            "start_index": 1,  # its page shows a topic with the number 0 as if none were selected
        }
        file.writelines(f',\n"{name}": {json.dumps(values)}' for name, values in rest.items())
        file.write("}\n")


def _write_rows(file: TextIO, rows: Iterable[FloatArray]) -> None:
    """Write a list of lists, one per line."""
    file.write("[")
    for number, row in enumerate(rows):
        separator = ",\n" if number else ""
        file.write(f"{separator}{json.dumps(row.tolist())}")
    file.write("]")


def write_newick(path: Path, topic_path: TopicPathFolder) -> None:
    """Write the tree that ``newick`` returns."""
    path.write_text(f"{newick(topic_path.tree)}\n", encoding="utf-8", newline="")


def newick(tree: TopicTree) -> str:
    """Return the tree of topics in the Newick format, with edges of ln(K_child / K_parent).

    Leaves are the topics of the largest rung, and inner nodes those that others were merged to. The
    topics of the rung of K topics lie ln K below the root, so a cut at this distance gives the
    rung. A topic that is not merged on the way to a smaller rung has one node, that of the larger
    rung, because some programs refuse nodes with a single child. If the last rung has several
    topics, a root without a label joins them.
    """
    first = tree.rungs[0]
    nodes = [(_label(first, topic), first.n_topics) for topic in range(first.n_topics)]
    for rung, fewer in pairwise(tree.rungs):
        parts = rung.children(fewer.n_topics)
        families = [[nodes[part] for part in family] for family in parts]
        nodes = [
            family[0] if len(family) == 1 else _joined(family, fewer.n_topics, _label(fewer, topic))
            for topic, family in enumerate(families)
        ]
    root, _ = nodes[0] if len(nodes) == 1 else _joined(nodes, 1, "")
    return f"{root};"


def _joined(nodes: Sequence[Node], n_topics: int, label: str) -> Node:
    """Return the node of a rung that others were merged to."""
    edges = (f"{below}:{math.log(size / n_topics)!r}" for below, size in nodes)
    return f"({','.join(edges)}){label}", n_topics


def _label(rung: TreeRung, topic: int) -> str:
    """Return ``'50-3 space nasa …'``: the rung, the topic and its best words, in quotes.

    Line breaks and other control characters become spaces: some programs read line by line.
    """
    words = " ".join(rung.topics[topic].words[:LABEL_WORDS])
    # The standard doubles a quote inside quotes, but ape 5.7 and ete3 3.1 cannot read that.
    plain = "".join(c if c.isprintable() else " " for c in words).replace("'", APOSTROPHE)
    return f"'{rung.n_topics}-{topic} {plain}'"


# --- documents ------------------------------------------------------------------------------------
def write_count_matrix(path: Path, corpus: Corpus) -> None:
    """Write word counts (documents by words) as Matrix Market, and the words to ``path.vocab``."""
    _write_vocabulary(path, corpus.vocabulary.words)
    n_docs = 0
    with path.open("wb") as file:
        file.write(f"{BANNER}\n{corpus.n_docs} {corpus.n_words} {corpus.n_pairs}\n".encode())
        for batch in corpus.batches():
            # Documents and words count from one.
            columns = [n_docs + batch.documents + 1, batch.word_ids + 1, batch.word_counts]
            write_csv(pa.table(columns, ["document", "word", "count"]), file, ENTRIES)
            n_docs += batch.n_docs


def write_lda_c(path: Path, corpus: Corpus) -> None:
    """Write Blei's LDA-C format, and the words to ``path.vocab``.

    Each document is a line ``M id:count id:count ...``; M is the number of its different words, and
    ids count from zero. Raises OutputError for counts that are not whole numbers.
    """
    if not isinstance(corpus.n_tokens, int):
        problem = "LDA-C holds only whole numbers, but some word counts are not"
        raise OutputError(path.name, problem, "Export to matrix-market, which takes any counts.")
    _write_vocabulary(path, corpus.vocabulary.words)
    with path.open("w", encoding="ascii", newline="") as file:
        for batch in corpus.batches():
            pairs = zip(batch.word_ids.tolist(), batch.word_counts.tolist(), strict=True)
            entries = [f" {word}:{count}" for word, count in pairs]
            for start, stop in pairwise(batch.indptr.tolist()):
                file.write(f"{stop - start}{''.join(entries[start:stop])}\n")


def _write_vocabulary(path: Path, words: Sequence[str]) -> None:
    """Write ``path.vocab``, one word per line; OutputError for a word with a line break."""
    _check_words(path, words, "\n\r")
    with Path(f"{path}{VOCABULARY_SUFFIX}").open("w", encoding="utf-8", newline="") as file:
        file.writelines(f"{word}\n" for word in words)


def _check_words(path: Path, words: Sequence[str], forbidden: str) -> None:
    """Raise OutputError if a word holds a character that separates fields in the format."""
    for word in words:
        if any(character in word for character in forbidden):
            problem = f"a text format needs words without tabs and line breaks, but found {word!r}"
            raise OutputError(path.name, problem, "Export to parquet, which takes any word.")
