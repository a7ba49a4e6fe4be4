"""Ids of topics stay with their words while models learn on, and names with the ids."""

import json
import re
import shutil
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from run_contents import files_of
from sparsetopics import LDA, Corpus, TopicPath, load
from sparsetopics.answers.topic_names import labels_of, with_names
from sparsetopics.base.errors import RunError, SparsetopicsWarning
from sparsetopics.base.sealed_files import write_sealed
from sparsetopics.corpora.ingest import IngestOptions, ingest
from sparsetopics.measures.similar_topics import jensen_shannon_similarity
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.options.training import LocalOptions, TrainingOptions
from sparsetopics.runs import train as trained_runs
from sparsetopics.runs.checkpoints import RunKeeper
from sparsetopics.runs.plan import RunPlan, plan_topic_path
from sparsetopics.runs.resume import resume_run
from sparsetopics.runs.run import load_run, run_in_memory, save_run
from sparsetopics.runs.topic_identity import TopicIdentity, first_identities, heirs, inherited
from sparsetopics.runs.train import train_run
from worlds.collections_on_disk import write_jsonl

ID = re.compile(r"[bcdfghjkmnpqrstvwxyz]{8}")
OTHER = "bbbbbbbb"


def ids_of(topics):
    return [topic.id for topic in topics]


def lda(counts):
    """A model whose words are so likely as they were counted, or nearly."""
    counts = np.asarray(counts, np.float64)
    return TopicPosterior("lda", counts + 1e-9, np.full(len(counts), 0.1), 1e-9)


def carried(before, old, model):
    return inherited(before, heirs(old, model.topic_word_mean), model)


# --- which topic continues which ------------------------------------------------------------------
def greedy_heirs(old, new):
    """Pairs that share half, the most similar first, then by the old and by the new number."""
    shared = {(k, j): np.minimum(p, q).sum() for k, p in enumerate(old) for j, q in enumerate(new)}
    likeness = {(k, j): jensen_shannon_similarity(old[k], new[j]) for k, j in shared}
    pairs = [pair for pair in shared if shared[pair] >= 0.5]
    pairs.sort(key=lambda pair: (-likeness[pair], pair))
    parents, merged = {}, {}
    for k, j in pairs:
        if j not in parents and k not in parents.values():
            parents[j] = k
    for k, j in pairs:
        if k not in parents.values() and k not in merged:
            merged[k] = j
    others = [[k for k in merged if merged[k] == j] for j in range(len(new))]
    return [[*([parents[j]] if j in parents else []), *own] for j, own in enumerate(others)]


@st.composite
def topics_in_sixteenths(draw, n_words):
    """Their sums are exact, so that topics often share as much with one topic as with another."""
    words = st.lists(st.integers(0, n_words - 1), min_size=16, max_size=16)
    rows = draw(st.lists(words, min_size=1, max_size=9))
    return np.array([np.bincount(row, minlength=n_words) / 16 for row in rows])


@st.composite
def learned_topics(draw):
    """Topics before and after, of which most have something in common."""
    n_words = draw(st.integers(1, 8))
    old, new = draw(topics_in_sixteenths(n_words)), draw(topics_in_sixteenths(n_words))
    copied = draw(st.lists(st.integers(0, len(old) - 1), max_size=len(new)))
    new[: len(copied)] = old[copied]
    return old, new


@given(learned_topics())
def test_heirs_are_those_of_all_pairs(topics):
    assert heirs(*topics) == greedy_heirs(*topics)


@pytest.mark.parametrize(("n_topics", "n_words"), [(1, 3), (9, 4), (12, 30), (40, 500), (70, 60)])
@pytest.mark.parametrize("n_empty", [0, 13])
def test_another_order_of_topics_changes_no_id(n_topics, n_words, n_empty):
    rng = np.random.default_rng(n_topics)
    counts = 1000 * rng.dirichlet(np.full(n_words, 0.2), n_topics)
    model = lda(np.vstack((counts, np.zeros((n_empty, n_words)))))
    order = rng.permutation(model.n_topics)
    before = first_identities(model)

    after = carried(before, model.topic_word_mean, lda(model.topic_word_posterior[order] - 1e-9))

    used = order < n_topics  # of empty topics, none is any other
    assert [topic for topic, is_used in zip(after, used, strict=True) if is_used] == [
        before[topic] for topic in order[used]
    ]
    assert {topic.id for topic in after} == {topic.id for topic in before}
    assert not any(topic.former_ids for topic in after)


@pytest.mark.parametrize(("kept", "stays"), [(100, True), (51, True), (49, False), (0, False)])
def test_a_topic_that_loses_most_of_its_words_gets_a_new_id(kept, stays):
    before = lda([[100, 0, 0], [0, 0, 70]])
    first = first_identities(before)
    named = (TopicIdentity(first[0].id, "Cats", ("cat", "purr")), first[1])

    after = carried(named, before.topic_word_mean, lda([[0, 0, 70], [kept, 100 - kept, 0]]))

    assert after[0] == named[1]
    assert (after[1] == named[0]) == stays
    if not stays:
        assert after[1] == TopicIdentity(after[1].id)
        assert ID.fullmatch(after[1].id)
        assert after[1].id not in ids_of(named)


def test_topics_that_are_merged_are_listed_with_the_heavier_part():
    before = lda([[60, 40, 0, 0, 0], [40, 60, 0, 0, 0], [0, 0, 9, 0, 0], [0, 0, 0, 9, 1]])
    first = list(first_identities(before))
    first[1] = TopicIdentity(first[1].id, "Cats", ("cat",), None, (OTHER,), "Pets")

    after = carried(first, before.topic_word_mean, lda([[0, 0, 9, 0, 0], [140, 110, 0, 0, 0]]))

    assert after[0] == first[2]
    # It has the name that the lighter part was given, rather than none.
    assert after[1] == TopicIdentity(first[0].id, "Cats", ("cat",), None, (first[1].id, OTHER))
    (again, _) = inherited(after, [[1, 0], []], before)
    assert again.former_ids == (first[1].id, OTHER, first[2].id)


def test_a_topic_without_heir_leaves_no_trace():
    before = lda([[9, 0, 0], [0, 9, 0]])
    first = first_identities(before)

    (only,) = carried(first, before.topic_word_mean, lda([[9, 0, 0]]))

    assert only == first[0]


def test_a_divided_topic_is_its_larger_part():
    before = lda([[40, 60, 0]])
    (first,) = first_identities(before)

    small, large = carried([first], before.topic_word_mean, lda([[40, 0, 1], [0, 60, 1]]))

    assert large == first
    assert small.id != first.id


def test_no_new_id_was_ever_that_of_another_topic():
    """A model that learned on in a circle: its digest is that of the first model again."""
    first, other = lda([[9, 0], [0, 9]]), lda([[5, 4], [4, 5]])
    before = (TopicIdentity(OTHER, former_ids=tuple(ids_of(first_identities(first)))),)

    after = carried(before, lda([[0.2, 9]]).topic_word_mean, first)

    assert len(set(ids_of(after)) | set(before[0].former_ids)) == 4
    assert after[1].id == OTHER
    assert len({*ids_of(first_identities(first)), *ids_of(first_identities(other))}) == 4


# --- ids of a first model -------------------------------------------------------------------------
def test_ids_of_old_runs_never_change():
    """They follow from the arrays. Names that people keep in files would be lost if they did not
    stay from version to version."""
    posterior = np.arange(12.0).reshape(3, 4) + 1
    model = TopicPosterior("lda", posterior, np.full(3, 0.5), 0.25)

    assert ids_of(first_identities(model)) == ["srnkdsxf", "pdfnkpct", "mdpbkvsd"]


@pytest.mark.parametrize("folder", ["run_folder", "hdp_folder", "document_mixture_folder"])
def test_an_old_run_has_the_ids_that_it_would_be_saved_with(request, folder):
    path = request.getfixturevalue(folder)
    saved, content = load_run(path).topics, json.loads((path / "model.json").read_text())
    assert [TopicIdentity(**each) for each in content.pop("topics")] == list(saved)

    write_sealed(path / "model.json", content)

    assert load_run(path).topics == load_run(path).topics == saved
    assert len(set(ids_of(saved))) == len(saved) == load_run(path).model.n_topics
    assert all(map(ID.fullmatch, ids_of(saved)))
    assert not any(topic.name or topic.words or topic.former_ids for topic in saved)


def test_other_models_have_other_ids(run_folder, hdp_folder):
    assert not set(ids_of(load_run(run_folder).topics)) & set(ids_of(load_run(hdp_folder).topics))


def test_many_equal_topics_have_different_ids():
    ids = ids_of(first_identities(lda(np.zeros((3000, 2)))))

    assert len(set(ids)) == 3000
    assert all(map(ID.fullmatch, ids))


def test_a_saved_run_keeps_ids_and_names(run_folder, tmp_path):
    run = load_run(run_folder)
    topics = list(with_names(run, {1: "Cats & <b>"}).topics)
    topics[2] = TopicIdentity(OTHER, "Dogs", ("a", "b"), "my_namer:name", ("cccccccc",))
    (tmp_path / "copy").mkdir()

    facts = {"corpus": {"n_documents": 60}, "topics": tuple(topics)}
    save_run(tmp_path / "copy", run_in_memory("run", run.model, run.vocabulary, facts, []))

    assert load_run(tmp_path / "copy").topics == tuple(topics)


# --- what strangers write -------------------------------------------------------------------------
GOOD = [{"id": letter * 8} for letter in "bcdf"]


def changed(place, **entries):
    return [{**own, **entries} if n == place else own for n, own in enumerate(GOOD)]


@pytest.mark.parametrize(
    ("topics", "problem"),
    [
        (GOOD[:3], "topics: expected 4 different ids"),
        ([*GOOD, {"id": "g" * 8}], "topics: expected 4 different ids"),
        ([*GOOD, GOOD[0]], "topics: expected 4 different ids"),
        ([], "topics: expected 4 different ids"),
        (changed(3, id=OTHER), "topics: expected 4 different ids"),
        (changed(1, id="12345678"), "topics"),
        (changed(1, id="bbbbbbb"), "topics"),
        (changed(1, id="bbbbbbbbb"), "topics"),
        (changed(1, id="bbbbbbbb\n"), "topics"),
        (changed(1, id="bbbbbbba"), "topics"),
        (changed(1, id="BBBBBBBB"), "topics"),
        (changed(1, id=None), "topics"),
        (changed(1, id=7), "topics"),
        ([{}, *GOOD[1:]], "topics"),
        (["bbbbbbbb"] * 4, "topics"),
        (None, "topics"),
        ({"0": "bbbbbbbb"}, "topics"),
        (changed(2, name=""), "a name must not be empty"),
        (changed(2, name=" \t"), "a name must not be empty"),
        (changed(2, name="x" * 201), "a name has at most 200 characters, but this has 201"),
        (changed(2, name="\x1b[31mred"), "a name must be printable"),
        (changed(2, name="two\nlines"), "a name must be printable"),
        (changed(2, name="\u202eleft"), "a name must be printable"),
        (changed(2, name=3), "topics"),
        (changed(2, name="Cats", words="cat"), "topics"),
        (changed(2, name="Cats", words=[3]), "topics"),
        (changed(0, former_ids=["../../etc"]), "topics"),
        (changed(0, former_ids="bbbbbbbb"), "topics"),
    ],
)
def test_wrong_topics_are_refused_in_one_line(run_folder, edit_settings, topics, problem):
    edit_settings(topics=topics)

    with pytest.raises(RunError) as caught:
        load_run(run_folder)

    message = str(caught.value)
    assert message.startswith(f"{run_folder / 'model.json'}, topics"), message
    assert problem in message
    assert message.isprintable()


def test_the_longest_name_is_read(run_folder, edit_settings):
    own = [{"id": topic.id} for topic in load_run(run_folder).topics]
    own[2]["name"] = "x" * 200
    edit_settings(topics=own)

    assert load_run(run_folder).topics[2].name == "x" * 200


# --- training that learns on ----------------------------------------------------------------------
def options(laps=4, n_topics=4):
    return TrainingOptions(n_topics, laps, "memoized", LocalOptions(), model="lda")


@pytest.fixture(scope="module")
def corpora(tmp_path_factory):
    """The documents of a day, and the same with those of the day after."""
    folder = tmp_path_factory.mktemp("corpora")
    rng = np.random.default_rng(0)
    words = [f"word{first}{second}" for first in "abcdef" for second in "abcde"]
    shares = rng.dirichlet(np.full(len(words), 0.1), 5)
    texts = [
        " ".join(rng.choice(words, 40, p=rng.dirichlet(np.full(5, 0.2)) @ shares))
        for _ in range(200)
    ]
    ingest([write_jsonl(folder / "all.jsonl", texts)], folder / "all", IngestOptions())
    source = write_jsonl(folder / "day.jsonl", texts[:150])
    ingest([source], folder / "day", IngestOptions(vocabulary=folder / "all"))
    return folder


@pytest.fixture(scope="module")
def named_run(corpora, tmp_path_factory):
    """A run of the first day, in which two topics have names."""
    folder = tmp_path_factory.mktemp("named")
    train_run(RunPlan(corpora / "day", folder / "first", options(8), n_batches=5))
    run = load_run(folder / "first")
    topics = with_names(run, {0: "Cats", 2: "Dogs"}).topics
    (folder / "run").mkdir()
    save_run(
        folder / "run",
        run_in_memory("run", run.model, run.vocabulary, {**run.settings, "topics": topics}, []),
    )
    return folder / "run"


@pytest.fixture
def plan_of(corpora, named_run, tmp_path):
    """Training that starts from the named run, lap by lap."""

    def make(name="run", laps=4, **others):
        usual = {"n_batches": 5, "checkpoint_every": 1, "start_run": named_run}
        return RunPlan(corpora / "all", tmp_path / name, options(laps), **usual | others)

    return make


def similarity(run, other):
    return np.minimum(run.model.topic_word_mean[:, None], other.model.topic_word_mean).sum(axis=2)


def check_same_topics(run, before):
    """Every topic has the identity of the one that it shares most with; a few have moved."""
    shared = similarity(run, before)
    parents = shared.argmax(axis=1)
    assert sorted(parents) == list(range(len(before.topics)))
    assert shared.max(axis=1).min() > 0.7
    assert list(run.topics) == [before.topics[parent] for parent in parents]
    assert sorted(topic.name for topic in run.topics if topic.name) == ["Cats", "Dogs"]


def test_training_from_a_run_keeps_ids_and_names(plan_of, named_run):
    train_run(plan_of())

    check_same_topics(load_run(plan_of().out), load_run(named_run))


def test_training_from_an_old_run_keeps_the_ids_that_it_shows(plan_of, named_run, tmp_path):
    shutil.copytree(named_run, tmp_path / "old")
    content = json.loads((tmp_path / "old" / "model.json").read_text())
    del content["topics"]
    write_sealed(tmp_path / "old" / "model.json", content)

    train_run(plan_of(start_run=tmp_path / "old"))

    ids = ids_of(load_run(tmp_path / "run").topics)
    assert sorted(ids) == sorted(ids_of(load_run(tmp_path / "old").topics))


@pytest.mark.parametrize("way", [{"workers": 2}, {"resident_pairs": 0}])
def test_workers_and_streamed_batches_change_no_id(plan_of, tmp_path, way):
    train_run(plan_of("whole"))

    train_run(plan_of(**way))

    assert load_run(tmp_path / "run").topics == load_run(tmp_path / "whole").topics


def test_night_after_night_ids_stay(plan_of, named_run, tmp_path):
    before = named_run
    for night in range(4):
        plan = replace(plan_of(f"night{night}", laps=2, start_run=before), seed=night)
        train_run(plan)
        check_same_topics(load_run(plan.out), load_run(before))
        before = plan.out

    assert set(ids_of(load_run(before).topics)) == set(ids_of(load_run(named_run).topics))


class Stopped(Exception):
    """Training is over for now."""


@pytest.fixture
def stopping(monkeypatch):
    """Run a function that is stopped after it has kept its next lap."""
    keep = RunKeeper.keep

    def stopping_keep(self, progress, memo):
        keep(self, progress, memo)
        raise Stopped

    def stop(function, *arguments, **others):
        with monkeypatch.context() as patch:
            patch.setattr(RunKeeper, "keep", stopping_keep)
            with pytest.raises(Stopped):
                function(*arguments, **others)

    return stop


def test_training_from_a_run_is_resumed_twice_with_its_ids(plan_of, stopping, tmp_path):
    train_run(plan_of("whole"))

    stopping(train_run, plan_of())
    stopping(resume_run, tmp_path / "run")
    resume_run(tmp_path / "run")

    assert files_of(tmp_path / "run") == files_of(tmp_path / "whole")


def test_without_the_first_run_topics_get_new_ids_and_a_warning(
    plan_of, stopping, named_run, tmp_path
):
    shutil.copytree(named_run, tmp_path / "start")
    stopping(train_run, plan_of(start_run=tmp_path / "start"))
    shutil.rmtree(tmp_path / "start")

    with pytest.warns(SparsetopicsWarning, match="Topics get new ids, since those of --start"):
        resume_run(tmp_path / "run")

    run = load_run(tmp_path / "run")
    assert run.topics == first_identities(run.model)


def test_more_laps_of_a_finished_run_keep_its_ids(plan_of, named_run, tmp_path):
    """Those that it had when it was finished: here names that came later. The run that it began
    with is not needed any more."""
    shutil.copytree(named_run, tmp_path / "start")
    train_run(plan_of(start_run=tmp_path / "start", keep_state=True))
    shutil.rmtree(tmp_path / "start")
    before = load_run(tmp_path / "run")

    resume_run(tmp_path / "run", laps=6)

    after = load_run(tmp_path / "run")
    assert after.n_laps == 6
    check_same_topics(after, before)


def test_more_laps_that_are_interrupted_keep_the_ids_too(plan_of, stopping, tmp_path):
    for name in ("run", "whole"):
        train_run(plan_of(name, start_run=None, keep_state=True))
    before = load_run(tmp_path / "run")
    resume_run(tmp_path / "whole", laps=7)

    stopping(resume_run, tmp_path / "run", laps=7)
    stopping(resume_run, tmp_path / "run")
    resume_run(tmp_path / "run")

    after = load_run(tmp_path / "run")
    assert after.n_laps == 7
    assert set(ids_of(after.topics)) == set(ids_of(before.topics))
    for name in ("run", "whole"):
        shutil.rmtree(tmp_path / name / "state")
    assert files_of(tmp_path / "run") == files_of(tmp_path / "whole")


def test_training_over_a_run_does_not_take_its_ids(plan_of, stopping, tmp_path):
    train_run(plan_of("whole", laps=5, start_run=None))
    train_run(plan_of(start_run=None, keep_state=True))
    stopping(train_run, plan_of(laps=5, start_run=None, overwrite=True))

    resume_run(tmp_path / "run")

    run = load_run(tmp_path / "run")
    assert run.topics == first_identities(run.model)
    assert files_of(tmp_path / "run") == files_of(tmp_path / "whole")


def test_training_that_is_killed_while_it_writes_keeps_ids(plan_of, monkeypatch, tmp_path):
    train_run(plan_of("whole"))

    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(trained_runs, "save_run", interrupt)
        with pytest.raises(KeyboardInterrupt):
            train_run(plan_of())
    resume_run(tmp_path / "run")

    assert files_of(tmp_path / "run") == files_of(tmp_path / "whole")


# --- topic paths and estimators -------------------------------------------------------------------
def test_every_rung_of_a_topic_path_has_ids(corpora, tmp_path):
    train_run(plan_topic_path(corpora / "all", tmp_path / "path", {"rungs": (6, 4, 2)}))

    for rung in (6, 4, 2):
        run = load_run(tmp_path / "path" / str(rung))
        content = json.loads((tmp_path / "path" / str(rung) / "model.json").read_text())
        assert [each["id"] for each in content["topics"]] == ids_of(run.topics)
        assert len(set(ids_of(run.topics))) == rung


@pytest.mark.parametrize("kind", [LDA, TopicPath])
def test_an_estimator_saves_the_ids_that_it_shows(corpora, tmp_path, kind):
    corpus = Corpus.open(corpora / "all")
    model = kind(4, max_iter=3) if kind is LDA else kind(rungs=(5, 3), validation_share=0.2)
    model.fit(corpus)

    model.save(tmp_path / "saved")

    number = model.n_components_
    run = load_run(tmp_path / "saved" if kind is LDA else tmp_path / "saved" / str(number))
    table = model.topics()
    labels = list(zip(table["id"].to_pylist(), table["name"].to_pylist(), strict=True))
    assert labels == labels_of(run)
    assert load(run.path).topics() == table
