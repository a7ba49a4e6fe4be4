"""LDA-C, Matrix Market and gensim's corpora: counts as they stand, errors with a line number."""

import gzip

import numpy as np
import pytest
from gensim.corpora import BleiCorpus, Dictionary, MmCorpus
from scipy.io import mmwrite
from scipy.sparse import coo_array, csc_array, csr_array

from sparsetopics.base.errors import ShapeError, SourceError
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.ingest import IngestOptions, ingest
from sparsetopics.corpora.readers import counts
from sparsetopics.corpora.readers import matrix_market as read_matrix_market
from sparsetopics.corpora.readers.options import ReadOptions
from sparsetopics.corpora.sources import byte_stream
from worlds.collections_on_disk import documents_of

WORDS = ["owl", "cat", "dog", "never"]
COUNTS = np.array([[2, 0, 1, 0], [0, 0, 0, 0], [1, 5, 0, 0], [0, 0, 1, 0]])
FROM_ONE = {"1": {"owl": 2, "dog": 1}, "3": {"owl": 1, "cat": 5}, "4": {"dog": 1}}
FROM_ZERO = {str(int(number) - 1): row for number, row in FROM_ONE.items()}
LDAC = ["2 0:2 2:1", "0", "2 1:5 0:1", "1 2:1"]


@pytest.fixture
def vocabulary(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_text("\n".join(WORDS) + "\n")
    return path


@pytest.fixture(params=[byte_stream.BLOCK_BYTES, 10], ids=["one block", "many blocks"])
def block_bytes(request, monkeypatch):
    monkeypatch.setattr(byte_stream, "BLOCK_BYTES", request.param)


def written(path, lines):
    data = "".join(f"{line}\n" for line in lines).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def market(path, lines, banner="integer", shape=(4, 4)):
    head = [f"%%MatrixMarket matrix coordinate {banner} general", "% by hand", ""]
    return written(path, [*head, f"{shape[0]} {shape[1]} {len(lines)}", *lines])


def ingested(source, tmp_path, options=None):
    ingest([source], tmp_path / "corpus", options)
    return documents_of(Corpus.open(tmp_path / "corpus"))


@pytest.mark.usefixtures("vocabulary", "block_bytes")
@pytest.mark.parametrize("name", ["pets.ldac", "pets.lda-c.gz"])
def test_ldac_counts_are_kept(tmp_path, name):
    assert ingested(written(tmp_path / name, LDAC), tmp_path) == FROM_ZERO


@pytest.mark.usefixtures("vocabulary")
def test_ldac_adds_up_a_word_given_twice_and_drops_zeros(tmp_path):
    path = written(tmp_path / "a.ldac", ["3 1:2  1:3\t0:0 \r"])

    assert ingested(path, tmp_path) == {"0": {"cat": 5}}


def test_what_gensim_writes_as_ldac(tmp_path):
    bow = [[(0, 2), (2, 1)], [(0, 1), (1, 5)]]
    BleiCorpus.serialize(str(tmp_path / "a.ldac"), bow, id2word=dict(enumerate(WORDS)))

    found = ingested(tmp_path / "a.ldac", tmp_path)

    assert found == {"0": {"owl": 2, "dog": 1}, "1": {"owl": 1, "cat": 5}}


LDAC_LINE = "expected a number of words, then as many word:count pairs .* but found"
WHOLE_TRIPLE = r"expected 3 whole numbers \(document, word, count\)"


@pytest.mark.usefixtures("vocabulary", "block_bytes")
@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("2 0:1", "the line promises 2 word:count pairs, but has 1"),
        ("1 4:1", "expected a word number from 0 to 3, but found 4"),
        ("1 0:-1", f"{LDAC_LINE} '1 0:-1'"),
        ("1 -1:1", f"{LDAC_LINE} '1 -1:1'"),
        ("1 0:nan", f"{LDAC_LINE} '1 0:nan'"),
        ("1 0:1.5", f"{LDAC_LINE} '1 0:1.5'"),
        ("1 0 1", f"{LDAC_LINE} '1 0 1'"),
        ("", f"{LDAC_LINE} ''"),
        ("1 0:5000000000", "expected a count of at most 4294967295, but found 5000000000"),
        ("1 0:99999999999999999999", f"{LDAC_LINE} '1 0:99999999999999999999'"),
    ],
)
def test_a_bad_line_of_ldac_is_named(tmp_path, line, problem):
    path = written(tmp_path / "a.ldac", [*LDAC, line])

    with pytest.raises(SourceError, match=f"a.ldac, line 5: {problem}"):
        ingest([path], tmp_path / "corpus")
    assert not (tmp_path / "corpus").exists()


@pytest.mark.usefixtures("vocabulary", "block_bytes")
def test_ldac_cut_off_in_a_line(tmp_path):
    path = written(tmp_path / "a.ldac", LDAC[:1])
    path.write_bytes(path.read_bytes()[:-5])

    with pytest.raises(SourceError, match=r"line 1: the line promises 2 .* but has 1.* cut off"):
        ingest([path], tmp_path / "corpus")


@pytest.mark.usefixtures("vocabulary", "block_bytes")
def test_matrix_market_streams_by_document(tmp_path):
    lines = ["1 1 2", "1 3 1", "3 2 5", "3 1 1", "4 3 1"]

    assert ingested(market(tmp_path / "a.mtx.gz", lines), tmp_path) == FROM_ONE


@pytest.mark.usefixtures("vocabulary")
@pytest.mark.parametrize("banner", ["integer", "real"])
@pytest.mark.parametrize("kind", [csr_array, csc_array])  # by row, by column
@pytest.mark.parametrize("transposed", [False, True])
def test_matrix_market_in_any_order(tmp_path, banner, kind, transposed):
    counts = np.vstack([COUNTS, np.zeros((1, 4), int)])  # five documents, so that sides differ
    matrix = kind(counts.T if transposed else counts).astype(
        {"integer": int, "real": float}[banner]
    )
    coo = coo_array(matrix)  # in the order of ``kind``
    lines = [f"{i + 1} {j + 1} {n}" for i, j, n in zip(coo.row, coo.col, coo.data, strict=True)]

    assert ingested(market(tmp_path / "a.mtx", lines, banner, matrix.shape), tmp_path) == FROM_ONE


@pytest.mark.usefixtures("vocabulary")
def test_what_scipy_writes(tmp_path):
    mmwrite(tmp_path / "a.mtx", csr_array(COUNTS))

    assert ingested(tmp_path / "a.mtx", tmp_path) == FROM_ONE


@pytest.mark.usefixtures("vocabulary")
def test_a_pattern_and_an_explicit_zero(tmp_path):
    pattern = market(tmp_path / "a.mtx", ["1 1", "3 2"], "pattern")
    zero = market(tmp_path / "b.mtx", ["1 1 1", "3 2 0", "4 2 1"])

    assert ingested(pattern, tmp_path) == {"1": {"owl": 1}, "3": {"cat": 1}}
    found = ingested(zero, tmp_path, IngestOptions(overwrite=True))
    assert found == {"1": {"owl": 1}, "4": {"cat": 1}}


@pytest.mark.usefixtures("vocabulary")
def test_sorting_in_memory_goes_on_in_stretches(tmp_path, monkeypatch):
    monkeypatch.setattr(read_matrix_market, "_PAIRS_AT_ONCE", 2)
    lines = ["1 1 2", "3 1 1", "3 2 5", "1 3 1", "4 3 1"]  # column by column

    assert ingested(market(tmp_path / "a.mtx", lines), tmp_path) == FROM_ONE


def test_gensims_corpus_and_text_dictionary(tmp_path):
    dictionary = Dictionary([["owl", "cat"], ["dog", "owl"], ["cat"]])
    bow = [dictionary.doc2bow(text) for text in (["owl", "owl", "cat"], ["dog"])]
    MmCorpus.serialize(str(tmp_path / "pets_bow.mm"), bow, id2word=dictionary)
    dictionary.save_as_text(tmp_path / "pets_wordids.txt")

    expected = {"1": {"owl": 2, "cat": 1}, "2": {"dog": 1}}
    assert ingested(tmp_path / "pets_bow.mm", tmp_path) == expected


@pytest.mark.usefixtures("vocabulary", "block_bytes")
@pytest.mark.parametrize(
    ("line", "banner", "problem"),
    [
        ("4 1 -2", "integer", "expected a count from 0 to 4294967295, but found -2"),
        ("4 1 -2.0", "real", "expected a count from 0 to 4294967295, but found -2"),
        ("4 1 0.5", "real", "expected a whole count .* but found 0.5"),
        ("4 1 nan", "real", "expected a whole count .* but found nan"),
        ("4 1 inf", "real", "expected a whole count .* but found inf"),
        ("4 1 1e300", "real", r"expected a whole count .* but found 1e\+300"),
        ("4 1 1.5", "integer", f"{WHOLE_TRIPLE}, but found '4 1 1.5'"),
        ("4 1 x", "real", r"expected 3 numbers \(document, word, count\), but found '4 1 x'"),
        ("4 1", "integer", f"{WHOLE_TRIPLE}, but found '4 1'"),
        ("4 1 1", "pattern", r"expected 2 whole numbers \(document, word\), but found '4 1 1'"),
        ("4 5 1", "integer", "expected a word number from 1 to 4, but found 5"),
        ("4 0 1", "integer", "expected a word number from 1 to 4, but found 0"),
        ("6 1 1", "integer", "expected a document number from 1 to 5, but found 6"),
    ],
)
def test_a_bad_line_of_matrix_market_is_named(tmp_path, line, banner, problem):
    good = ["1 1", "1 3"] if banner == "pattern" else ["1 1 2", "1 3 1"]
    path = market(tmp_path / "a.mtx", [*good, line], banner, shape=(5, 4))

    with pytest.raises(SourceError, match=f"a.mtx, line 7: {problem}"):
        ingest([path], tmp_path / "corpus")


@pytest.mark.usefixtures("vocabulary")
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "but the file is empty"),
        ("4 4 1\n1 1 1\n", "line 1: expected %%MatrixMarket .* but found '4 4 1'"),
        ("%%MatrixMarket matrix array real general\n4 4\n", "coordinate, integer or real"),
        ("%%MatrixMarket matrix coordinate complex general\n4 4 0\n", "integer or real"),
        ("%%MatrixMarket matrix coordinate real symmetric\n4 4 0\n", "general"),
        (
            "%%MatrixMarket matrix coordinate real general\n% only\n",
            "line 2: expected numbers of rows, .* but the file ends",
        ),
        ("%%MatrixMarket matrix coordinate real general\n4 x 1\n", "line 2: .* but found '4 x 1'"),
        (
            "%%MatrixMarket matrix coordinate real general\n3 5 1\n1 1 1\n",
            "4 rows or .* but found 3 rows and 5",
        ),
        (
            "%%MatrixMarket matrix coordinate real general\n4 4 2\n1 1 1\n",
            "promises 2 pairs, but the file has 1",
        ),
    ],
)
def test_a_bad_head_of_matrix_market(tmp_path, text, problem):
    (tmp_path / "a.mtx").write_text(text)

    with pytest.raises(SourceError, match=problem):
        ingest([tmp_path / "a.mtx"], tmp_path / "corpus")


@pytest.mark.usefixtures("vocabulary")
def test_many_empty_documents_come_in_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr(counts, "_DOCS_AT_ONCE", 3)
    path = market(tmp_path / "a.mtx", ["2 1 1", "9 3 1", "10 2 1"], shape=(20, 4))

    found = ingested(path, tmp_path)

    assert found == {"2": {"owl": 1}, "9": {"dog": 1}, "10": {"cat": 1}}
    assert Corpus.open(tmp_path / "corpus").n_skipped == 17


@pytest.mark.usefixtures("vocabulary")
def test_a_head_that_promises_too_many_documents(tmp_path):
    path = market(tmp_path / "a.mtx", ["1 1 1"], shape=(10**12, 4))

    with pytest.raises(
        SourceError, match="promises 1,000,000,000,000 documents, more than 2,147,483,647"
    ):
        ingest([path], tmp_path / "corpus")


@pytest.mark.usefixtures("vocabulary")
def test_an_order_that_breaks_late_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(byte_stream, "BLOCK_BYTES", 80)
    lines = ["1 1 2", "1 3 1", "3 1 1", "4 2 1", "4 3 1", "2 1 1"]

    with pytest.raises(SourceError, match="line 10: expected document numbers in ascending"):
        ingest([market(tmp_path / "a.mtx", lines)], tmp_path / "corpus")


def test_words_that_are_nowhere(tmp_path):
    path = market(tmp_path / "pets.mtx", ["1 1 1"])
    with pytest.raises(SourceError, match=r"no pets\.mtx\.vocab or .* vocab\.txt beside it"):
        ingest([path], tmp_path / "corpus")

    words = written(tmp_path / "elsewhere", WORDS)
    options = IngestOptions(read=ReadOptions(vocabulary_file=words))
    assert ingested(path, tmp_path, options) == {"1": {"owl": 1}}


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (["3", "0\towl\t1", "2\tdog\t1"], "no word has number 1.*compactify"),
        (["3", "0\towl\t1", "1\towl\t1"], "a word has two numbers"),
        (["3", "0\towl\t1", "0\tcat\t1"], "line 3: .* each id once, but found '0.tcat.t1'"),
        (["3", "0\towl\t1", "cat"], "line 3: .* but found 'cat'"),
    ],
)
def test_a_bad_text_dictionary(tmp_path, lines, problem):
    written(tmp_path / "a.vocab", lines)

    with pytest.raises(SourceError, match=problem):
        ingest([market(tmp_path / "a.mtx", ["1 1 1"])], tmp_path / "corpus")


def test_gensims_bag_of_words_in_python():
    dictionary = Dictionary([["owl", "cat"], ["dog", "owl"]])
    texts = [["owl", "owl", "cat"], [], ["dog"]]

    corpus = Corpus.from_gensim([dictionary.doc2bow(text) for text in texts], dictionary)

    assert documents_of(corpus) == {"0": {"owl": 2, "cat": 1}, "2": {"dog": 1}}
    assert list(corpus.vocabulary.words) == [dictionary[n] for n in range(3)]
    gappy = Corpus.from_gensim([[(9, 1.5)]], {4: "owl", 9: "cat"})
    assert documents_of(gappy) == {"0": {"cat": 1.5}}


@pytest.mark.parametrize(
    ("bow", "error", "found"),
    [
        (
            [[(0, 1)], [(7, 1)]],
            ShapeError,
            "document 1: word 7 is not among the 2 of the dictionary",
        ),
        ([[(-1, 1)]], ShapeError, "word -1 is not among"),
        ([[(0, -2)]], ShapeError, "must be from 0 to .*, but is -2.0"),
        ([[(0, float("nan"))]], ShapeError, "nan"),
        ([["owl"]], SourceError, r"document 0: expected pairs .*, but found \['owl'\]"),
        ([3], SourceError, "document 0: expected pairs .*, but found 3"),
        ([[]], SourceError, "counts: none is above zero"),
    ],
)
def test_what_is_no_bag_of_words(bow, error, found):
    with pytest.raises(error, match=found):
        Corpus.from_gensim(bow, {0: "owl", 1: "cat"})


LARGEST = 4_294_967_295
TWICE = f"counts add up to {2 * LARGEST}, more than {LARGEST}, for the word 'cat'"


@pytest.mark.usefixtures("vocabulary", "block_bytes")
@pytest.mark.parametrize(
    ("name", "lines", "where"),
    [
        ("a.ldac", ["0", f"2 1:{LARGEST} 1:{LARGEST}"], "line 2"),
        ("a.mtx", [f"3 2 {LARGEST}"] * 2, "document 3"),
        ("docword.a.txt", ["4", "4", "2", *[f"3 2 {LARGEST}"] * 2], "document 3"),
    ],
)
def test_counts_that_add_up_to_too_much_are_refused(tmp_path, name, lines, where):
    path = (market if name == "a.mtx" else written)(tmp_path / name, lines)

    with pytest.raises(SourceError, match=f"{name}, {where}: {TWICE}"):
        ingest([path], tmp_path / "corpus")


@pytest.mark.usefixtures("vocabulary", "block_bytes")
def test_counts_that_add_up_to_the_largest_are_kept(tmp_path):
    lines = ["4", "4", "2", f"3 2 {LARGEST - 1}", "3 2 1"]

    found = ingested(written(tmp_path / "docword.a.txt", lines), tmp_path)

    assert found == {"3": {"cat": LARGEST}}


@pytest.mark.parametrize("kind", [np.uint32, np.uint64, np.float64, np.uint8])
@pytest.mark.parametrize("form", [csr_array, coo_array, csc_array])
def test_repeated_entries_of_a_matrix_are_added_up_exactly(kind, form):
    most = 200 if kind is np.uint8 else LARGEST
    given = np.array([most, most], kind), np.array([1, 1])
    if form is coo_array:
        counts = coo_array((given[0], (np.array([0, 0]), given[1])), (1, 2))
    elif form is csr_array:
        counts = csr_array((*given, np.array([0, 2])), (1, 2))
    else:
        counts = csc_array((given[0], np.array([0, 0]), np.array([0, 0, 2])), (1, 2))

    if kind is np.uint8:
        assert documents_of(Corpus.from_csr(counts, ["owl", "cat"])) == {"0": {"cat": 400}}
    else:
        with pytest.raises(
            ShapeError, match=r"counts, row 0, column 1: must be .*, but is 8589934590"
        ):
            Corpus.from_csr(counts, ["owl", "cat"])


def test_a_count_that_is_too_large_by_one_as_float32():
    with pytest.raises(ShapeError, match=r"row 0, column 0: must be .*, but is 4294967296\.0"):
        Corpus.from_csr(csr_array(np.array([[2.0**32]], np.float32)), ["owl"])


def test_pairs_of_gensim_add_up():
    dictionary = Dictionary([["owl", "cat"]])
    with pytest.raises(ShapeError, match="but is 8589934590"):
        Corpus.from_gensim([[(0, LARGEST), (0, LARGEST)]], dictionary)
    with pytest.raises(SourceError, match=r"bow, document 0: expected pairs .*, but found .*1_0"):
        Corpus.from_gensim([[(0, "1_0")]], dictionary)


@pytest.mark.usefixtures("vocabulary", "block_bytes")
@pytest.mark.parametrize("number", ["0x10", "0X1", "1_0"])
@pytest.mark.parametrize("column", [0, 1, 2])
@pytest.mark.parametrize("banner", ["integer", "real"])
def test_what_only_programs_take_for_numbers_is_refused(tmp_path, number, column, banner):
    numbers = ["1", "1", "1"]
    numbers[column] = number
    line = " ".join(numbers)
    matrix = market(tmp_path / "a.mtx", [line], banner, (20, 4))
    collection = written(tmp_path / "docword.a.txt", ["20", "4", "1", line])

    for path, where in ((matrix, 5), (collection, 4)):
        with pytest.raises(SourceError, match=f"line {where}: expected 3 .* but found '{line}'"):
            ingest([path], tmp_path / "corpus")
