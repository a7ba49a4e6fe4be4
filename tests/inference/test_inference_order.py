"""What a model says of a document depends on that document alone: not on when, where in a
collection, or in batches of which size it is asked."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from scipy.sparse import csr_array

from sparsetopics import HDP, LDA, GaussianMixture, MultinomialMixture
from sparsetopics.cli.main import main
from sparsetopics.corpora.store import document_rows, vector_rows
from sparsetopics.model.likelihoods.scorers import steady
from worlds.clumped_mixtures import draw_clumps
from worlds.collections_on_disk import make_texts

N_ITEMS = 90
TOPICS = {
    f"{model} {update}": (
        "train", "documents", "--model", model, "--local-update", update, "--topics", 4,
    )
    for model in ("lda", "hdp")
    for update in ("mean-field", "collapsed")
}  # fmt: skip
MIXTURES = {
    "multinomial": ("train", "documents", "--model", "dp-mixture", "--topics", 4),
    "gaussian": ("train", "vectors", "--model", "dp-mixture", "--topics", 4),
    "diagonal-gaussian": ("train", "vectors", "--model", "mixture", "--topics", 4),
    "zero-mean-gaussian": ("train", "vectors", "--model", "mixture", "--topics", 4),
    "isotropic-gaussian": ("train", "vectors", "--model", "mixture", "--topics", 4),
}


def run(*arguments):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output


def draw_counts():
    """Documents by words, one of them empty."""
    rng = np.random.default_rng(4)
    topics = rng.dirichlet(np.full(40, 0.1), 4)
    rows = [rng.multinomial(rng.integers(0, 40), topics[n % 4]) for n in range(N_ITEMS)]
    rows[9][:] = 0
    return csr_array(np.array(rows))


def write_documents(path, order, texts):
    path.write_text("".join(json.dumps({"id": str(n), "text": texts[n]}) + "\n" for n in order))


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """The same documents and vectors twice: as they are, and in another order and other groups."""
    folder = tmp_path_factory.mktemp("world")
    texts, values = make_texts(N_ITEMS), draw_clumps(0, N_ITEMS, 3).values
    order = np.random.default_rng(5).permutation(N_ITEMS)
    write_documents(folder / "documents.jsonl", range(N_ITEMS), texts)
    write_documents(folder / "shuffled.jsonl", order, texts)
    names = np.array([str(n) for n in range(N_ITEMS)])
    np.savez(folder / "vectors.npz", values=values, ids=names)
    np.savez(folder / "shuffled.npz", values=values[order], ids=names[order])
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        given = ("--vocabulary", "documents")
        run("ingest", "documents.jsonl", "--min-df", 1, "--max-df", "1.0", "--out", "documents")
        run("ingest", "vectors.npz", "--id-field", "ids", "--out", "vectors")
        patch.setattr(document_rows, "DOCS_PER_ROW_GROUP", 7)
        patch.setattr(vector_rows, "MOST_ROWS", 7)
        run("ingest", "shuffled.jsonl", *given, "--out", "documents-shuffled")
        run("ingest", "shuffled.npz", "--id-field", "ids", "--out", "vectors-shuffled")
        for name, arguments in (TOPICS | MIXTURES).items():
            likelihood = ("--likelihood", name) if name in MIXTURES else ()
            run(*arguments, *likelihood, "--laps", 3, "--quiet", "--out", name.replace(" ", "-"))
    return folder


def inferred(world, tmp_path, name, kind, workers=1):
    """Rows of ``infer`` by name."""
    out = tmp_path / "rows.parquet"
    where = (world / name.replace(" ", "-"), world / kind, "--out", out, "--overwrite")
    run("infer", *where, "--workers", workers)
    names, rows = pq.read_table(out).columns
    return dict(zip(names.to_pylist(), np.array(rows.to_pylist(), np.float32), strict=True))


def assert_same_rows(found, wanted):
    assert set(found) == set(wanted)
    rows = np.array([found[name] for name in wanted])
    np.testing.assert_array_equal(rows, list(wanted.values()))


@pytest.mark.parametrize("name", [*TOPICS, *MIXTURES])
def test_infer_gives_the_same_row_wherever_a_document_stands(world, tmp_path, name):
    kind = "vectors" if name.endswith("gaussian") else "documents"
    once = inferred(world, tmp_path, name, kind)

    assert_same_rows(inferred(world, tmp_path, name, kind, workers=2), once)
    assert_same_rows(inferred(world, tmp_path, name, f"{kind}-shuffled"), once)
    assert len(once) == N_ITEMS
    assert np.ptp(list(once.values()), axis=0).max() > 0.1  # or all rows would be alike


@pytest.mark.parametrize("model", [LDA, HDP])
@pytest.mark.parametrize("update", ["mean-field", "collapsed"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_transform_gives_the_same_row_wherever_a_document_stands(model, update, n_jobs):
    counts = draw_counts()
    fitted = model(n_components=4, local_update=update, max_iter=3, random_state=0, n_jobs=n_jobs)
    fitted.fit(counts)
    whole = fitted.transform(counts)
    order = np.random.default_rng(6).permutation(len(whole))

    np.testing.assert_array_equal(fitted.transform(counts), whole)
    np.testing.assert_array_equal(fitted.transform(counts[order]), whole[order])
    parts = [fitted.transform(counts[low : low + 7]) for low in range(0, len(whole), 7)]
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    np.testing.assert_array_equal(fitted.transform(counts[[5]]), whole[5:6])


@pytest.mark.parametrize(
    "likelihood", ["gaussian", "diagonal-gaussian", "zero-mean-gaussian", "isotropic-gaussian"]
)
@pytest.mark.parametrize("n_columns", [3, 19])
def test_mixtures_give_the_same_row_wherever_an_item_stands(likelihood, n_columns):
    rng = np.random.default_rng(7)
    values = rng.standard_normal((N_ITEMS, n_columns)) + 3 * rng.integers(0, 2, (N_ITEMS, 1))
    values = values.astype(np.float32)
    model = GaussianMixture(4, likelihood=likelihood, max_iter=3, random_state=0).fit(values)
    assert_rows_alone(model, values)
    scorer = model.model_.likelihood.prepare(
        model.model_.likelihood.components_of(model.model_.posterior)
    )
    found = steady(scorer)(values)
    np.testing.assert_allclose(found, scorer(values), rtol=1e-4, atol=1e-3)


def test_mixtures_of_documents_give_the_same_row_wherever_a_document_stands():
    counts = draw_counts()
    assert_rows_alone(MultinomialMixture(4, max_iter=3, random_state=0).fit(counts), counts)


def assert_rows_alone(model, rows):
    whole = model.predict_proba(rows)
    order = np.random.default_rng(6).permutation(N_ITEMS)

    np.testing.assert_array_equal(model.predict_proba(rows), whole)
    for size in (1, 7, 64):
        parts = [
            model.predict_proba(rows[order[low : low + size]]) for low in range(0, N_ITEMS, size)
        ]
        np.testing.assert_array_equal(np.concatenate(parts), whole[order])
