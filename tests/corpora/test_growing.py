"""A vocabulary that grows with its corpus: new words at the end, everything else as it was."""

import json
import os
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import msgspec
import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from sparsetopics import Corpus
from sparsetopics.base.errors import CorpusFormatError, OptionError, OutputError
from sparsetopics.base.transactions import Workspace
from sparsetopics.cli.main import main
from sparsetopics.corpora.append import append
from sparsetopics.corpora.ingest import IngestOptions, ingest
from sparsetopics.corpora.readers.options import ReadOptions
from sparsetopics.corpora.store.document_rows import DocumentManifest
from sparsetopics.corpora.text.pruning import PruningOptions
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.corpora.validate import validate

GROW = IngestOptions(grow_vocabulary=True)
WORDS = [f"{a}{b}{c}" for a in "bdf" for b in "aeiou" for c in "lmn"]


def documents(n_docs, seed=0):
    """Lists of words, of which some are frequent and some are rare."""
    rng = np.random.default_rng(seed)
    ranks = [(rng.random(rng.integers(1, 9)) ** 2 * len(WORDS)).astype(int) for _ in range(n_docs)]
    return [[WORDS[rank] for rank in row] for row in ranks]


def written(path, lists):
    path.write_text("".join(" ".join(words) + "\n" for words in lists))
    return path


def run(*words, status=0):
    result = CliRunner().invoke(main, [str(word) for word in words])
    assert result.exit_code == status, result.output
    return result


def bytes_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def candidates_of(folder):
    columns = pq.read_table(folder / "candidates.parquet").to_pydict()
    numbers = zip(columns["document_frequency"], columns["term_frequency"], strict=True)
    return dict(zip(columns["word"], numbers, strict=True))


def frequencies(lists):
    """The frequencies of words, counted plainly."""
    of_documents = Counter(word for words in lists for word in {*words})
    of_terms = Counter(word for words in lists for word in words)
    return {word: (of_documents[word], of_terms[word]) for word in of_terms}


def passing(lists, min_df=None, max_df=None, max_words=None):
    """The words that pass the cuts, by falling frequency."""
    n_docs, counts = len(lists), frequencies(lists)
    least = (2 if n_docs >= 100 else 1) if min_df is None else min_df
    most = (0.5 if n_docs >= 100 else 1.0) if max_df is None else max_df
    least = int(np.ceil(least * n_docs)) if isinstance(least, float) else least
    most = int(most * n_docs) if isinstance(most, float) else most
    kept = [word for word, (document, _) in counts.items() if least <= document <= most]
    return sorted(kept, key=lambda word: (-counts[word][1], word))[:max_words]


@pytest.fixture
def corpus(tmp_path):
    source = written(tmp_path / "a.lines", [["owl", "cat"], ["owl", "dog"], ["cat", "owl"]])
    cuts = PruningOptions(min_df=2, max_df=1.0)
    ingest([source], tmp_path / "corpus", IngestOptions(pruning=cuts))
    return tmp_path / "corpus"


# --- the totals -----------------------------------------------------------------------------------
def test_the_totals_are_those_of_all_words_taken_or_not(tmp_path):
    lists = documents(150)
    stop_words = frozenset([WORDS[0]])
    cuts = PruningOptions(min_df=9, max_words=5, stop_words=stop_words)

    ingest([written(tmp_path / "a.lines", lists)], tmp_path / "c", IngestOptions(pruning=cuts))

    assert candidates_of(tmp_path / "c") == frequencies(lists)
    metadata = pq.read_schema(tmp_path / "c" / "candidates.parquet").metadata
    assert json.loads(metadata[b"n_documents"]) == 150
    assert json.loads(metadata[b"pruning"]) == {
        "min_df": 9,
        "max_df": None,
        "max_words": 5,
        "stop_words": [WORDS[0]],
    }
    assert DocumentManifest.load(tmp_path / "c").candidates.file == "candidates.parquet"
    assert validate(tmp_path / "c") == []


def test_they_can_be_left_out_and_a_given_vocabulary_has_none(corpus, tmp_path):
    run("ingest", tmp_path / "a.lines", "--no-candidates", "--out", tmp_path / "without")
    run("ingest", tmp_path / "a.lines", "--vocabulary", corpus, "--out", tmp_path / "given")

    for folder in (tmp_path / "without", tmp_path / "given"):
        assert not (folder / "candidates.parquet").exists()
        assert DocumentManifest.load(folder).candidates is None
        assert validate(folder) == []


def test_an_append_counts_words_even_if_none_is_added(corpus, tmp_path):
    old_words = (corpus / "vocabulary.parquet").read_bytes()

    append([written(tmp_path / "b.lines", [["owl", "elk"], ["elk", "owl", "elk"]])], corpus)

    assert candidates_of(corpus) == {"owl": (5, 5), "cat": (2, 2), "dog": (1, 1), "elk": (2, 3)}
    assert (corpus / "vocabulary.parquet").read_bytes() == old_words
    append([written(tmp_path / "c.lines", [["owl", "cat"]])], corpus, GROW)
    assert Corpus.open(corpus).vocabulary.words == ("owl", "cat", "elk")


# --- growth ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "cuts",
    [{}, {"min_df": 4}, {"min_df": 0.06}, {"max_words": 12, "min_df": 1}, {"max_df": 0.2}],
    ids=str,
)
@pytest.mark.parametrize("seed", range(2))
def test_any_split_grows_to_all_words_that_pass(cuts, seed, tmp_path):
    rng = np.random.default_rng(seed)
    lists = documents(240, seed)
    ends = [0, *sorted(rng.choice(np.arange(20, 239), 3, replace=False).tolist()), 240]
    parts = [lists[start:stop] for start, stop in pairwise(ends)]
    sources = [written(tmp_path / f"{n}.lines", part) for n, part in enumerate(parts)]
    pruning = IngestOptions(pruning=PruningOptions(**cuts))
    ingest(sources[:1], tmp_path / "c", pruning)

    for n, source in enumerate(sources[1:], start=2):
        old, shards = Corpus.open(tmp_path / "c").vocabulary, bytes_of(tmp_path / "c")
        n_added, summary = append([source], tmp_path / "c", GROW)
        vocabulary = Corpus.open(tmp_path / "c").vocabulary
        seen = [words for part in parts[:n] for words in part]
        new = [word for word in passing(seen, **cuts) if word not in old.words]
        assert n_added > 0
        assert vocabulary.words == (*old.words, *new)
        assert (vocabulary.term_frequency[: len(old)] == old.term_frequency).all()
        assert summary.n_new_words == len(new)
        assert list(summary.new_words) == new[:10]
        counts = [frequencies(seen)[word] for word in new]
        grown = vocabulary.document_frequency[len(old) :], vocabulary.term_frequency[len(old) :]
        assert [*zip(*(each.tolist() for each in grown), strict=True)] == counts
        kept = {name for name in shards if name.startswith("shard")}
        assert {name: bytes_of(tmp_path / "c")[name] for name in kept} == {
            name: shards[name] for name in kept
        }
        assert validate(tmp_path / "c") == []
    ingest(sources, tmp_path / "whole", pruning)
    assert {*Corpus.open(tmp_path / "whole").vocabulary.words} <= {*vocabulary.words}
    whole = (tmp_path / "whole" / "candidates.parquet").read_bytes()
    assert (tmp_path / "c" / "candidates.parquet").read_bytes() == whole


def test_documents_hold_their_new_words_and_old_ones_do_not(corpus, tmp_path):
    source = written(tmp_path / "b.lines", [["dog", "elk"], ["elk", "owl"]])

    told = run("ingest", source, "--append", corpus, "--grow-vocabulary", "--json")

    read = json.loads(told.stdout)
    assert (read["n_new_words"], read["new_words"]) == (2, ["dog", "elk"])
    assert Corpus.open(corpus).to_csr().toarray().tolist() == [
        [1, 1, 0, 0],
        [1, 0, 0, 0],
        [1, 1, 0, 0],
        [0, 0, 1, 1],
        [1, 0, 0, 1],
    ]


def test_people_read_which_words_are_new(corpus, tmp_path):
    source = written(tmp_path / "b.lines", [WORDS, WORDS])

    said = run("ingest", source, "--append", corpus, "--grow-vocabulary").stdout

    named = ", ".join(sorted(WORDS)[:10])
    assert f"\nAdded {len(WORDS)} new words to the vocabulary: {named}, ….\n" in said


def test_nothing_grows_where_no_word_passes(tmp_path):
    lists = [["owl", "cat"]] * 2
    cuts = PruningOptions(min_df=2, max_df=0.6)
    source = written(tmp_path / "a.lines", [*lists, ["dog"], ["elk"]])
    ingest([source], tmp_path / "c", IngestOptions(pruning=cuts))

    append([written(tmp_path / "b.lines", lists * 9)], tmp_path / "c", GROW)

    assert Corpus.open(tmp_path / "c").vocabulary.words == ("cat", "owl")
    assert validate(tmp_path / "c") == []


def test_lemmas_have_their_commonest_form_in_the_new_documents(tmp_path):
    source = written(tmp_path / "a.lines", [["the", "owl", "sings"], ["an", "owl", "sings"]])
    run("ingest", source, "--lemmas", "en", "--min-df", 2, "--max-df", 1.0, "--out", tmp_path / "c")
    before = Corpus.open(tmp_path / "c").vocabulary
    houses = written(tmp_path / "b.lines", [["owl", "houses"], ["two", "houses", "owls"]])

    append([houses], tmp_path / "c", GROW)

    vocabulary = Corpus.open(tmp_path / "c").vocabulary
    assert vocabulary.shown[: len(before)] == before.shown
    assert dict(zip(vocabulary.words, vocabulary.shown, strict=True))["house"] == "houses"
    assert validate(tmp_path / "c") == []


def test_counts_grow_by_all_their_words(tmp_path):
    (tmp_path / "docword.a.txt").write_text("1\n2\n1\n1 1 3\n")
    (tmp_path / "vocab.a.txt").write_text("owl\ncat\n")
    (tmp_path / "docword.b.txt").write_text("1\n3\n2\n1 1 2\n1 2 1\n")
    (tmp_path / "vocab.b.txt").write_text("elk\nowl\nyak\n")
    ingest([tmp_path / "docword.a.txt"], tmp_path / "c")

    append([tmp_path / "docword.b.txt"], tmp_path / "c", GROW)

    assert Corpus.open(tmp_path / "c").vocabulary.words == ("owl", "elk")
    assert candidates_of(tmp_path / "c") == {"owl": (2, 4), "elk": (1, 2)}


def test_skipped_documents_are_not_counted(tmp_path):
    for name, rows in (
        ("a", [("1", "owl cat"), ("2", "owl")]),
        ("b", [("1", "elk elk"), ("3", "owl elk"), ("3", "elk yak")]),
    ):
        lines = [json.dumps({"id": key, "text": text}) for key, text in rows]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
    cuts = PruningOptions(min_df=2, max_df=1.0)
    ingest([tmp_path / "a.jsonl"], tmp_path / "c", IngestOptions(pruning=cuts))

    skipping = replace(GROW, read=ReadOptions(duplicate_ids="skip"))
    append([tmp_path / "b.jsonl"], tmp_path / "c", skipping)

    assert candidates_of(tmp_path / "c") == {"owl": (3, 3), "cat": (1, 1), "elk": (1, 1)}
    assert Corpus.open(tmp_path / "c").vocabulary.words == ("owl",)


def test_counting_begins_with_an_append_to_a_corpus_of_an_earlier_release(corpus, tmp_path):
    manifest = DocumentManifest.load(corpus)
    msgspec.structs.replace(manifest, candidates=None).save(corpus)
    (corpus / "candidates.parquet").unlink()
    append([written(tmp_path / "b.lines", [["owl", "elk"]])], corpus)  # which counts nothing
    said = []

    append([written(tmp_path / "c.lines", [["dog", "owl"]])], corpus, GROW, say=said.append)

    assert said == [f"{corpus}: words outside the vocabulary are counted from this append on."]
    assert candidates_of(corpus) == {"owl": (4, 4), "cat": (2, 2), "dog": (1, 1)}
    assert Corpus.open(corpus).vocabulary.words == ("owl", "cat", "dog")  # by the default cuts
    assert validate(corpus) == []


def test_parts_and_held_out_corpora_keep_the_grown_words(corpus, tmp_path):
    append([written(tmp_path / "b.lines", [["elk", "owl"]] * 9)], corpus, GROW)
    parts = ("--out-train", tmp_path / "train", "--out-heldout", tmp_path / "heldout")
    run("corpus", "split", corpus, *parts, "--held-out-share", 0.3)
    run("ingest", tmp_path / "a.lines", "--vocabulary", corpus, "--out", tmp_path / "given")
    Corpus.open(corpus).save(tmp_path / "saved")

    for name in ("train", "heldout", "given", "saved"):
        assert Vocabulary.read(tmp_path / name).grown == (2,)
        assert validate(tmp_path / name) == []


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("a.lines --out other --grow-vocabulary", "--grow-vocabulary: is for --append"),
        ("a.lines --append corpus --no-candidates", "--candidates: cannot be combined with"),
        ("a.lines --append corpus --grow-vocabulary --min-df 3", "--min-df: cannot be combined"),
    ],
)
def test_what_does_not_go_together_is_refused(words, problem, corpus, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    assert problem in run("ingest", *words.split(), status=1).stderr


# --- damage ---------------------------------------------------------------------------------------
def test_damaged_totals_are_found_and_not_used(corpus, tmp_path):
    path = corpus / "candidates.parquet"
    data = bytearray(path.read_bytes())
    data[10] ^= 1
    path.write_bytes(data)
    before = bytes_of(corpus)

    (found,) = validate(corpus)

    assert "candidates.parquet: expected SHA-256" in found
    with pytest.raises(CorpusFormatError, match=r"candidates\.parquet: expected SHA-256"):
        append([written(tmp_path / "b.lines", [["owl"]])], corpus)
    assert bytes_of(corpus) == before


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda table: table.take([0, 0, 1]), "only 2 of its 3 words are different"),
        (lambda table: table.drop_columns("term_frequency"), "term_frequency"),
        (lambda table: table.replace_schema_metadata({}), "n_documents"),
        (
            lambda table: table.replace_schema_metadata(
                {b"n_documents": b"3", b"pruning": b'{"min_df": "owl"}'}
            ),
            "min_df",
        ),
    ],
)
def test_totals_that_say_something_else_are_found(change, problem, corpus):
    path = corpus / "candidates.parquet"
    pq.write_table(change(pq.read_table(path)), path)
    manifest = DocumentManifest.load(corpus)
    entry = type(manifest.candidates).of(path)
    msgspec.structs.replace(manifest, candidates=entry).save(corpus)

    (found,) = validate(corpus)

    assert "candidates.parquet" in found
    assert problem in found


@pytest.mark.parametrize("grown", [b"[9]", b"[0]", b"[1, 1]", b"7", b'["a"]'])
def test_impossible_boundaries_are_refused(grown, corpus):
    path = corpus / "vocabulary.parquet"
    table = pq.read_table(path)
    metadata = {**table.schema.metadata, b"grown": grown}
    pq.write_table(table.replace_schema_metadata(metadata), path)

    with pytest.raises(CorpusFormatError, match="cannot be read as a vocabulary"):
        Vocabulary.read(corpus)


# --- once and whole -------------------------------------------------------------------------------
def test_the_same_append_adds_its_documents_once(corpus, tmp_path):
    source = written(tmp_path / "b.lines", [["owl", "elk"], ["elk"]])
    append([source], corpus, GROW)
    append([written(tmp_path / "c.lines", [["owl"]])], corpus, GROW)
    before = bytes_of(corpus)

    again = run("ingest", source, "--append", corpus, "--grow-vocabulary", "--json")

    assert "the same command has added these documents before; it adds nothing.\n" in again.stderr
    assert json.loads(again.stdout)["n_added"] == 0
    assert bytes_of(corpus) == before
    os.utime(source, (0, 0))
    assert append([source], corpus, GROW)[0] == 2


@pytest.mark.parametrize("source", ["empty", "empty/*.jsonl", "empty/", "a.lines", "full", "x.npy"])
def test_an_empty_night_changes_nothing(source, corpus, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "full" / "below").mkdir(parents=True)
    for name in ("a.lines", "full/below/a.txt", "full/b.csv", "x.npy"):
        (tmp_path / name).write_text("")
    before = bytes_of(corpus)

    told = run("ingest", source, "--append", "corpus", "--grow-vocabulary", "--json")

    assert told.stderr == "corpus: there were no documents to add.\n"
    assert json.loads(told.stdout)["n_added"] == 0
    assert bytes_of(corpus) == before


def test_a_text_file_without_words_is_an_empty_night(corpus, tmp_path):
    (tmp_path / "a.txt").write_text("1 2 3\n")
    before = bytes_of(corpus)

    assert append([tmp_path / "a.txt"], corpus, GROW)[0] == 0
    told = run("ingest", tmp_path / "a.txt", "--append", corpus, "--grow-vocabulary", "--json")
    assert "Warning: Skipped 1 document without a known word: a.txt.\n" in told.stderr
    assert json.loads(told.stdout)["account"]["skipped"] == ["a.txt"]
    said = run("ingest", tmp_path / "a.txt", "--append", corpus, "--grow-vocabulary")
    assert said.output.count("Skipped 1 document") == 1

    assert bytes_of(corpus) == before


def test_empty_sources_beside_others_are_passed_over(corpus, tmp_path):
    (tmp_path / "empty").mkdir()
    source = written(tmp_path / "b.lines", [["owl"]])

    assert append([tmp_path / "empty", source, tmp_path / "empty" / "*"], corpus)[0] == 1


@pytest.mark.parametrize("source", ["gone", "gone/*.jsonl", "gone.jsonl", ""])
def test_sources_that_do_not_exist_stay_errors(source, corpus, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = bytes_of(corpus)

    run("ingest", source, "--append", "corpus", status=1)

    assert bytes_of(corpus) == before


def test_an_empty_night_needs_a_corpus(tmp_path):
    (tmp_path / "empty").mkdir()

    assert (
        "gone" in run("ingest", tmp_path / "empty", "--append", tmp_path / "gone", status=1).stderr
    )


@pytest.mark.parametrize("way_on", ["repeat", "repair", "an empty night"])
def test_an_append_killed_after_its_commit_is_completed_once(way_on, corpus, tmp_path, monkeypatch):
    source = written(tmp_path / "b.lines", [["owl", "elk"], ["elk"]])
    (tmp_path / "empty").mkdir()

    def killed(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Workspace, "_move_one", killed)
        with pytest.raises(KeyboardInterrupt):
            append([source], corpus, GROW)
    with pytest.raises(OutputError, match="repair"):
        Corpus.open(corpus)

    repeated = ("ingest", source, "--append", corpus, "--grow-vocabulary")
    if way_on == "repair":
        run("repair", corpus)
    elif way_on == "an empty night":
        run("ingest", tmp_path / "empty", "--append", corpus)
    run(*repeated)

    assert Corpus.open(corpus).vocabulary.words == ("owl", "cat", "elk")
    assert Corpus.open(corpus).n_docs == 5
    assert candidates_of(corpus)["elk"] == (2, 2)
    assert not (corpus / ".append").exists()
    assert validate(corpus) == []


def test_a_file_of_somebody_else_is_not_replaced(corpus, tmp_path):
    manifest = DocumentManifest.load(corpus)
    msgspec.structs.replace(manifest, candidates=None).save(corpus)
    before = bytes_of(corpus)

    with pytest.raises(OutputError, match=r"candidates\.parquet: a file that is not part of the"):
        append([written(tmp_path / "b.lines", [["owl", "elk"]])], corpus, GROW)

    assert bytes_of(corpus) == before


def test_ingest_refuses_to_grow(tmp_path):
    with pytest.raises(OptionError, match=r"^grow_vocabulary: is for --append"):
        ingest([tmp_path], tmp_path / "c", GROW)
