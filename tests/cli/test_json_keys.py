"""The keys of ``--json``: those that were promised, and exactly those that the docs list."""

import json
import re
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from sparsetopics.base.errors import SparsetopicsWarning
from sparsetopics.cli import warmup
from sparsetopics.cli.main import COMMANDS, main
from sparsetopics.evaluation import quickstart
from worlds.collections_on_disk import make_texts, write_jsonl
from worlds.vectors_on_disk import make_vectors

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "json.md"
PROMISED = {  # for good: scripts rely on them
    "quickstart": "run report n_topics log_likelihood_per_token",
    "ingest": "n_documents n_tokens n_pairs n_words n_shards n_skipped",
    "corpus info": "n_documents n_tokens n_pairs n_words n_shards n_skipped",
    "train": "run model n_topics elbo_per_token laps seconds",
    "resume": "run model n_topics elbo_per_token laps seconds",
    "evaluate": "run log_likelihood_per_token standard_error perplexity "
    "unigram_log_likelihood_per_token n_documents n_tokens n_skipped_documents n_unknown_tokens "
    "npmi diversity",
    "topics": "topic name weight words",
    "infer": "n_documents path",
    "export": "path",
    "report": "path",
    "denoise": "image psnr_noisy psnr",
}
QUICK = ("--laps", 2, "--quiet")


def told(*arguments):
    """What a command prints with ``--json``."""
    words = [str(argument) for argument in (*arguments, "--json")]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, (words, result.output)

    def refuse(constant):
        raise AssertionError(f"{constant} is no JSON")

    return json.loads(result.stdout, parse_constant=refuse)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Sources, and what the commands say of them: names of cases with the documents printed."""
    folder = tmp_path_factory.mktemp("world")
    write_jsonl(folder / "news.jsonl", make_texts(80))
    write_jsonl(folder / "more.jsonl", make_texts(20, 3), "more")
    np.savez(folder / "vectors.npz", values=make_vectors(60, 3), labels=np.array(["a", "b"] * 30))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(quickstart, "TRAINING", replace(quickstart.TRAINING, laps=1))
        patch.setattr(warmup, "STEPS", {"tokens": warmup.STEPS["tokens"]})
        said = {"quickstart": told("quickstart"), "warmup": told("warmup")}
        said |= of_corpora()
        said |= of_topics()
        said |= of_mixtures()
    return said


def of_corpora():
    parts = {
        kind: ("--out-train", f"{kind}-train", "--out-heldout", f"{kind}-heldout")
        for kind in ("documents", "vectors")
    }
    return {
        "ingest": told("ingest", "news.jsonl", "--out", "documents"),
        "ingest --append": told("ingest", "more.jsonl", "--append", "documents"),
        "ingest of vectors": told("ingest", "vectors.npz", "--out", "vectors"),
        "corpus info": told("corpus", "info", "documents"),
        "corpus info of vectors": told("corpus", "info", "vectors"),
        "corpus validate": told("corpus", "validate", "documents"),
        "repair": told("repair", "documents"),
        "corpus split": told("corpus", "split", "documents", *parts["documents"]),
        "corpus split of vectors": told("corpus", "split", "vectors", *parts["vectors"]),
        "corpus export": told("corpus", "export", "documents", "--to", "lda-c", "--out", "a.ldac"),
    }


def of_topics():
    train = ("train", "documents-train", "--topics", 3, *QUICK)
    by_and_over = ("prevalence", "lda", "documents", "--by", "label", "--over", "label:2")
    novelty = ("infer", "lda", "documents-heldout", "--novelty", "documents-train")
    return {
        "train": told(*train, "--model", "lda", "--keep-state", "--out", "lda"),
        "train of hdp": told(*train, "--model", "hdp", "--out", "hdp"),
        "train with lists": with_lists(train),
        "path": told("path", "documents-train", "--rungs", "4,2", *QUICK, "--out", "path"),
        "resume": told("resume", "lda", "--laps", 3, "--quiet"),
        "topics": told("topics", "lda"),
        "topics --find": told("topics", "lda", "--find", make_texts(1)[0].split()[0]),
        "infer": told("infer", "hdp", "documents-heldout", "--out", "hdp.parquet"),
        "infer --novelty": told(*novelty, "--over", "label:2", "--out", "novelty.csv"),
        "infer of texts": told("infer", "hdp", "--text", " ".join(make_texts(1))),
        "infer --tokens": told("infer", "hdp", "--text", " ".join(make_texts(1)), "--tokens"),
        "prevalence": told("prevalence", "lda", "documents", "--by", "label"),
        "prevalence over": told("prevalence", "lda", "documents", "--over", "label:2"),
        "prevalence of both": told(*by_and_over),
        "prevalence --differences": told(*by_and_over, "--differences"),
        "prevalence --formula": told("prevalence", "lda", "documents", "--formula", "~ label"),
        "prevalence of coefficients": told(
            *("prevalence", "lda", "documents", "--formula", "~ label", "--differences")
        ),
        "prevalence --correlations": told("prevalence", "lda", "documents", "--correlations"),
        "prevalence --out": told(*by_and_over, "--out", "prevalence.csv"),
        "documents": told("documents", "lda", "documents"),
        "evaluate": told("evaluate", "lda", "documents-heldout"),
        "evaluate of two runs": told("evaluate", "lda", "hdp", "documents-heldout"),
        "export": told("export", "lda", "--to", "csv", "--out", "lda.csv"),
        "report --methods": told("report", "lda", "--methods"),
        "export of a map": told(
            *("export", "lda", "--to", "datamapplot", "--corpus", "documents", "--out", "m.parquet")
        ),
        "report": told("report", "lda", "--out", "lda.html"),
        "plot": told("plot", "lda", "themes", "--out", "lda.pdf"),
        "update": told("update", "lda", "documents-train", *QUICK[2:], "--out", "updated"),
        "update again": told("update", "lda", "documents-train", "--out", "updated"),
        "diff": told("diff", "lda", "updated", "--corpus", "documents-train"),
        "edit": told("edit", "lda", "--rename", f"{first_topic('lda')}=News", "--out", "named"),
    }


def with_lists(train):
    words = [word for word, _ in told("topics", "lda")[0]["words"][:3]]
    Path("guide.toml").write_text(f"first = {words}", encoding="utf-8")
    arguments = ("--model", "lda", "--laps", 10, "--guide", "guide.toml", "--out", "guided")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SparsetopicsWarning)  # drawn words belong to no theme
        return told(*train, *arguments)


def first_topic(run):
    return told("topics", run)[0]["id"]


def of_mixtures():
    mixture = ("--model", "mixture", "--topics", 3, *QUICK)
    np.savez("plain.npz", values=make_vectors(20, 3))
    told("ingest", "plain.npz", "--out", "unlabelled")
    return {
        "train of vectors": told("train", "vectors-train", *mixture, "--out", "clusters"),
        "train of a mixture": told(
            *("train", "documents-train", *mixture, "--likelihood", "multinomial"),
            *("--out", "kinds"),
        ),
        "topics of a mixture": told("topics", "kinds"),
        "documents of a mixture": told("documents", "kinds", "documents"),
        "infer of vectors": told("infer", "clusters", "vectors-heldout", "--out", "v.parquet"),
        "infer of a mixture": told("infer", "kinds", "documents-heldout", "--out", "k.parquet"),
        "evaluate of vectors": told("evaluate", "clusters", "vectors-heldout"),
        "evaluate without labels": told("evaluate", "clusters", "unlabelled"),
        "evaluate of a mixture": told("evaluate", "kinds", "documents-heldout"),
    }


@pytest.fixture(scope="module")
def denoised(tmp_path_factory):
    images = pytest.importorskip("PIL.Image", reason="needs Pillow")
    rng = np.random.default_rng(0)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("images"))
        images.fromarray(rng.integers(0, 256, (24, 24), dtype=np.uint8)).save("one.png")
        told("ingest", "one.png", "--patches", 4, "--stride", 2, "--out", "patches")
        likelihood = ("--model", "mixture", "--likelihood", "zero-mean-gaussian", "--topics", 2)
        told("train", "patches", *likelihood, *QUICK, "--out", "run")
        return told("denoise", "run", "one.png", "--out", "restored")


def records_of(document):
    return document if isinstance(document, list) else [document]


def listed():
    """First cell of each row of the page's table with the keys in its last."""
    if not PAGE.exists():
        pytest.skip("needs docs/, which the source archive leaves out")
    rows = re.findall(r"^\| (.+?) \|.*\| (.+?) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    keys = {head: set(re.findall(r"`(\w+)`", cell)) for head, cell in rows}
    assert len(keys) == len(rows)
    return keys


def expected():
    """The keys of every case, put together from the page."""
    keys = listed()
    corpora = keys["`ingest` of documents, `corpus info`"]
    vectors = keys["`ingest` of vectors, `corpus info`"]
    files = keys["… of `ingest`"]
    made = corpora | files | keys["… of `ingest` of documents"]
    paths = keys["`path`, `resume` of a topic path"]
    path, trained = keys["`corpus export`, `export`, `report`"], keys["`train`, `resume`"]
    topics, mixtures = keys["`evaluate` of topics"], keys["`evaluate` of mixtures"]
    of_vectors = mixtures | keys["… of vectors"]
    labels = keys["… where items have labels"]
    groups = keys["`prevalence`"]
    both = keys["… with `--by`"] | keys["… with `--over`"] | keys["… of the other group"]
    return {
        "quickstart": keys["`quickstart`"],
        "warmup": keys["`warmup`"],
        "ingest": made,
        "ingest --append": made | {"n_added"},
        "ingest of vectors": vectors | files,
        "corpus info": corpora,
        "corpus info of vectors": vectors,
        "corpus validate": keys["`corpus validate`"],
        "corpus split": keys["`corpus split` of documents"],
        "corpus split of vectors": keys["`corpus split` of vectors"],
        "corpus export": path,
        "path": paths,
        "train": trained,
        "train of hdp": trained,
        "train with lists": trained,
        "resume": trained,
        "repair": keys["`repair`"],
        "topics": keys["`topics`"],
        "topics --find": keys["`topics`"] | keys["… with `--find`"],
        "infer": keys["`infer` on documents"],
        "infer --novelty": keys["`infer --novelty`"],
        "infer of texts": keys["`infer` that prints topics of texts"],
        "infer --tokens": keys["… with `--tokens`"],
        "prevalence": groups | {"group"},
        "prevalence over": groups | {"from", "to"},
        "prevalence of both": groups | {"group", "from", "to"},
        "prevalence --differences": keys["… with `--differences`"] | both,
        "prevalence --formula": keys["… with `--formula`"] | {"at_label"},
        "prevalence of coefficients": keys["… with `--differences`"] | {"term"},
        "prevalence --correlations": keys["… with `--correlations`"],
        "prevalence --out": keys["`prevalence --out`"],
        "documents": keys["`documents`"],
        "evaluate": topics,
        "evaluate of two runs": topics | keys["… of several runs"],
        "export": path,
        "report --methods": keys["`report --methods`"],
        "export of a map": path | keys["… of `export --to datamapplot`"],
        "report": path,
        "plot": keys["`plot`"],
        "update": keys["`update`"] | keys["… of a new run"],
        "update again": keys["`update`"],
        "diff": keys["`diff`"],
        "edit": keys["`edit`"],
        "train of vectors": trained,
        "train of a mixture": trained,
        "topics of a mixture": keys["`topics`"],
        "documents of a mixture": keys["`documents`"] ^ keys["… of documents, of a mixture"],
        "infer of vectors": keys["`infer` on vectors"],
        "infer of a mixture": keys["`infer` on documents"],
        "evaluate of vectors": of_vectors | labels,
        "evaluate without labels": of_vectors,
        "evaluate of a mixture": mixtures | keys["… of documents"] | labels,
    }


def test_the_keys_are_exactly_those_of_the_page(world):
    wanted = expected()
    assert set(world) == set(wanted)
    for case, document in world.items():
        for record in records_of(document):
            assert set(record) == wanted[case], case


def test_the_account_of_ingest_is_as_the_page_says(world):
    assert set(world["ingest"]["account"]) == listed()["… `account`"]


def test_documents_of_infer_are_as_the_page_says(world):
    (document,) = world["infer of texts"]["documents"]

    assert set(document) == listed()["… `documents`"]
    for topic in document["topics"]:
        assert set(topic) == listed()["… `topics`"]


def test_changes_of_diff_are_as_the_page_says(world):
    assert world["diff"]["changes"]
    for change in world["diff"]["changes"]:
        assert set(change) == listed()["… `changes`"]


def test_lists_of_words_are_as_the_page_says(world):
    (found,) = world["train with lists"]["lists"]

    assert set(found) == listed()["… `lists`"]
    for word in found["words"]:
        assert set(word) == listed()["… `words`"]


def test_the_course_of_novelty_is_as_the_page_says(world):
    assert len(world["infer --novelty"]["course"]) == 2
    for period in world["infer --novelty"]["course"]:
        assert set(period) == listed()["… `course`"]


def test_words_of_infer_are_as_the_page_says(world):
    assert world["infer --tokens"]["tokens"]
    for row in world["infer --tokens"]["tokens"]:
        assert set(row) == listed()["… `tokens`"]


def test_denoise_tells_of_each_image(denoised):
    assert [set(record) for record in denoised] == [listed()["`denoise`"]]
    assert denoised[0]["psnr"] is None


@pytest.mark.parametrize("command", PROMISED)
def test_what_was_promised_is_there(world, command, request):
    said = request.getfixturevalue("denoised") if command == "denoise" else world[command]
    for record in records_of(said):
        assert set(PROMISED[command].split()) <= set(record)


def test_no_command_is_forgotten(world):
    assert {case.split()[0] for case in world} | {"denoise"} == set(COMMANDS)
