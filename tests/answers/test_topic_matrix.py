"""Topic-word matrices of other toolkits."""

from collections import namedtuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from gensim.corpora import Dictionary
from gensim.models import HdpModel, LdaModel
from scipy.io import mmwrite
from scipy.sparse import coo_array

from sparsetopics.answers.exports.exporting import export_run
from sparsetopics.base.errors import RunError, ShapeError, VocabularyError
from sparsetopics.evaluation.scoring import fixed_topics
from sparsetopics.evaluation.scoring.fixed_topics import read_topics
from sparsetopics.evaluation.scoring.weight_files import READERS

WORDS = ("ant", "bee", "cat")
WEIGHTS = np.array([[1.0, 2.0, 1.0], [4.0, 3.0, 1.0]])
EXPECTED = [[0.25, 0.5, 0.25], [0.5, 0.375, 0.125]]


Found = namedtuple("Found", "topic_word, doc_concentration, n_missing_words")


def read(path, words=WORDS):
    return Found(*fixed_topics.read_topic_matrix(path, words, READERS[path.suffix]))


@pytest.fixture
def write(tmp_path):
    def written(matrix):
        np.save(tmp_path / "topics.npy", matrix)
        return tmp_path / "topics.npy"

    return written


def test_every_format_gives_normalised_rows(tmp_path, write):
    np.savez(tmp_path / "topics.npz", topic_word=WEIGHTS)
    np.savetxt(tmp_path / "topics.csv", WEIGHTS, delimiter=",")
    mmwrite(tmp_path / "sparse.mtx", coo_array(WEIGHTS))
    mmwrite(tmp_path / "dense.mtx", WEIGHTS)

    for path in (
        write(WEIGHTS.astype(np.float32)),
        tmp_path / "topics.npz",
        tmp_path / "topics.csv",
        tmp_path / "sparse.mtx",
        tmp_path / "dense.mtx",
    ):
        np.testing.assert_allclose(read(path).topic_word, EXPECTED)


def test_zeros_become_tiny_probabilities(write):
    topic_word = read(write(np.array([[1.0, 0.0, 1.0]]))).topic_word

    assert topic_word[0, 1] == pytest.approx(1e-12)
    assert topic_word.sum() == pytest.approx(1.0)


def test_one_line_of_csv_is_one_topic(tmp_path):
    (tmp_path / "one.csv").write_text("1,1,2\n")

    np.testing.assert_allclose(read(tmp_path / "one.csv").topic_word, [[0.25, 0.25, 0.5]])


@pytest.mark.parametrize("shape", [(2, 4), (3,), (0, 3), (1, 2, 3)])
def test_another_shape_is_refused(write, shape):
    with pytest.raises(
        ShapeError, match=r"expected shape \(topics, 3\), one column per word.*--vocab"
    ):
        read(write(np.ones(shape)))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -0.5])
def test_impossible_entries_are_refused(write, bad):
    with pytest.raises(RunError, match=f"finite and at least 0, but one is {bad}"):
        read(write(np.array([[1.0, bad, 1.0]])))


def test_a_topic_of_zeros_is_refused(write):
    with pytest.raises(RunError, match="row 1 is all zeros"):
        read(write(np.array([[1.0, 1, 1], [0, 0, 0]])))


def test_two_columns_of_one_name_are_refused(tmp_path):
    twice = pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], ["owl", "owl"])
    pq.write_table(twice, tmp_path / "twice.parquet")

    with pytest.raises(RunError, match="two columns are called 'owl'"):
        read(tmp_path / "twice.parquet")


def test_files_that_hold_no_matrix_are_refused(tmp_path):
    np.savez(tmp_path / "other.npz", components=WEIGHTS)
    np.save(tmp_path / "object.npy", np.array([{}], dtype=object))
    (tmp_path / "text.csv").write_text("a,b,c\n")
    (tmp_path / "empty.npy").touch()
    (tmp_path / "torn.npz").write_bytes(b"PK\x03\x04")

    (tmp_path / "torn.mtx").write_text("%%MatrixMarket matrix coordinate")
    (tmp_path / "torn.parquet").write_text("PAR1")
    (tmp_path / "prose.txt").write_text("Once upon a time.\n")
    (tmp_path / "empty.csv").touch()

    for name in ("other.npz", "object.npy", "text.csv", "empty.npy", "torn.npz", "missing.npy",
                 "torn.mtx", "torn.parquet", "prose.txt", "empty.csv"):  # fmt: skip
        with pytest.raises(RunError, match=f"{name}: cannot be read as a topic-word matrix: "):
            read(tmp_path / name)


@pytest.fixture
def named_files(tmp_path):
    """The same weights with their words in another order, one more and one fewer."""
    words = ["cat", "dog", "ant"]
    weights = np.array([[1.0, 9.0, 1.0], [1.0, 5.0, 4.0]])
    np.save(tmp_path / "plain.npy", weights)
    mmwrite(tmp_path / "plain.mtx", weights)
    np.savetxt(tmp_path / "plain.csv", weights, delimiter=",")
    for suffix in (".npy", ".mtx", ".csv"):
        (tmp_path / f"plain{suffix}.vocab").write_text("cat\ndog\nant\n")
    wide = pa.table(weights.T.tolist(), words)
    pq.write_table(wide, tmp_path / "wide.parquet")
    rows = "".join(f"{k},{a},{b},{c}\n" for k, (a, b, c) in enumerate(weights))
    (tmp_path / "wide.csv").write_text(",cat,dog,ant\n" + rows)
    pairs = [(k, w, weights[k, v]) for k in range(2) for v, w in enumerate(words)]
    long = pa.table(list(zip(*pairs, strict=True)), ["topic", "word", "probability"])
    pq.write_table(long, tmp_path / "long.parquet")
    for name, separator in (("long.csv", ","), ("mallet.txt", "\t"), ("mallet.tsv", "\t")):
        header = "topic,word,probability\n" if separator == "," else ""
        lines = "".join(separator.join(map(str, pair)) + "\n" for pair in pairs)
        (tmp_path / name).write_text(header + lines)
    return [path for path in tmp_path.iterdir() if path.suffix in READERS]


def test_columns_are_put_in_order_by_their_words(named_files):
    assert len(named_files) == 9

    for path in named_files:
        found = read(path)

        np.testing.assert_allclose(found.topic_word, [[0.5, 0, 0.5], [0.8, 0, 0.2]], atol=1e-11)
        assert (found.topic_word > 0).all(), path
        assert found.n_missing_words == 1, path


def test_long_rows_are_read_whole(tmp_path):
    weights = np.random.default_rng(0).dirichlet(np.ones(6_000), size=2)
    words = [f"w{number}" for number in range(6_000)]
    rows = [",".join(words), *(",".join(f"{weight:.200f}" for weight in row) for row in weights)]
    (tmp_path / "wide.csv").write_text("\n".join(rows) + "\n")
    assert len(rows[1]) > 2**20  # what is read at once by default

    np.testing.assert_allclose(read(tmp_path / "wide.csv", words).topic_word, weights, rtol=1e-6)


def test_weights_as_java_prints_them(tmp_path):
    (tmp_path / "mallet.txt").write_text("0\tant\t1.0E-2\r\n0\tbee\t0.01\r\n0\tcat\t2.0E-2\r\n")

    np.testing.assert_allclose(read(tmp_path / "mallet.txt").topic_word, [[0.25, 0.25, 0.5]])


def test_words_that_look_like_numbers_or_nothing_keep_their_spelling(tmp_path):
    (tmp_path / "odd.txt").write_text('0\tnull\t1\n0\t007\t2\n0\t"\t1\n')
    (tmp_path / "odd.csv").write_text("topic,word,probability\n0,NA,1\n0,007,2\n0,1e5,1\n")

    for name, words in (("odd.txt", ("null", "007", '"')), ("odd.csv", ("NA", "007", "1e5"))):
        found = read(tmp_path / name, words)
        np.testing.assert_allclose(found.topic_word, [[0.25, 0.5, 0.25]])
        assert found.n_missing_words == 0


def test_a_file_of_other_words_is_refused(named_files):
    for path in named_files:
        with pytest.raises(VocabularyError, match=r"none of its 3 words .*held-out corpus's 2"):
            read(path, ("elk", "fox"))


def test_more_or_fewer_words_than_columns_are_refused(tmp_path, write):
    path = write(WEIGHTS)
    (tmp_path / "topics.npy.vocab").write_text("ant\nbee\n")

    with pytest.raises(ShapeError, match=r"expected shape \(topics, 2\).* found \(2, 3\)"):
        read(path)


TARGETS = {"mallet": "t.txt", "matrix-market": "t.mtx", "csv": "t.csv", "parquet": "t.parquet"}


@pytest.mark.parametrize(("target", "name"), TARGETS.items())
def test_what_export_writes_is_read_back(tmp_path, run_folder, model, vocabulary, target, name):
    export_run(run_folder, target, tmp_path / name)

    found = read(tmp_path / name, vocabulary.words)

    np.testing.assert_allclose(found.topic_word, model.topic_word_mean, rtol=1e-14)
    assert (found.n_missing_words, found.doc_concentration) == (0, None)


def test_a_gensim_model_is_opened_on_request_alone(tmp_path, hdp_folder, hdp, vocabulary):
    export_run(hdp_folder, "gensim", path := tmp_path / "hdp.model")

    with pytest.raises(RunError, match=r"known extension.*\.npy.*you trust it, add --unpickle"):
        read_topics(path, vocabulary)
    topics = read_topics(path, vocabulary, unpickle=True)

    np.testing.assert_allclose(topics.topic_word, hdp.topic_word_mean, rtol=1e-9)
    np.testing.assert_allclose(topics.doc_concentration, hdp.doc_concentration)
    even = read_topics(path, vocabulary, 0.8, unpickle=True)
    np.testing.assert_allclose(even.doc_concentration, [0.2] * 4)


def test_gensim_models_of_other_words_or_kinds(tmp_path, vocabulary):
    texts = [["worda", "wordb"], ["wordb", "wordaa"]]
    dictionary = Dictionary(texts)
    bags = [dictionary.doc2bow(text) for text in texts]
    LdaModel(bags, 2, dictionary, random_state=0).save(str(tmp_path / "lda"))
    HdpModel(bags, dictionary, random_state=0).save(str(tmp_path / "hdp"))
    (tmp_path / "prose").write_text("Once upon a time.")

    assert read_topics(tmp_path / "lda", vocabulary, unpickle=True).n_missing_words == 29
    with pytest.raises(RunError, match="it is a HdpModel, not a gensim LdaModel"):
        read_topics(tmp_path / "hdp", vocabulary, unpickle=True)
    with pytest.raises(RunError, match=r"prose: .* is not a gensim model"):
        read_topics(tmp_path / "prose", vocabulary, unpickle=True)
