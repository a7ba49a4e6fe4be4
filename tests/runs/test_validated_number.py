"""The number of topics of an HDP, as documents that are kept out of training choose it."""

import json
import shutil
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner

from run_contents import files_of
from sparsetopics import HDP, load
from sparsetopics.base.errors import OptionError, RunError
from sparsetopics.base.sealed_files import write_sealed
from sparsetopics.cli.main import main
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.inference.training_state import PathMemory, check_rung
from sparsetopics.inference.validated_number import ValidatedNumber
from sparsetopics.measures import knee
from sparsetopics.measures.completion import document_completion, unigram_probabilities
from sparsetopics.measures.knee import MOST_THEMES
from sparsetopics.measures.paired import HeldoutScores, paired_difference
from sparsetopics.model.memo import Memo
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.options.ladder import close_rungs
from sparsetopics.options.table import FEWEST_VALIDATED, LAST_LAPS, PATH_LAPS, READING_LAPS
from sparsetopics.runs.callbacks import RunHooks
from sparsetopics.runs.checkpoint_format import Rung
from sparsetopics.runs.plan import plan_run
from sparsetopics.runs.resume import resume_run
from sparsetopics.runs.run import load_run
from sparsetopics.runs.topic_path import RungRecorder, RungScorer
from sparsetopics.runs.topic_path_files import RungScore, Scores
from sparsetopics.runs.train import train_run
from worlds.bars import bar_topics, match, ten_bars

N_DOCS = 200
SHARE = 0.25
FIRST = 50  # topics: a third of the documents that are left


def bars_corpus(n_docs, n_tokens=60, seed=0):
    return ten_bars(np.random.default_rng(seed), n_docs, n_tokens).corpus()


@pytest.fixture(scope="module", autouse=True)
def few_topics_are_joined_for_reading():
    """So that tiny worlds have a smaller number to read."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(knee, "MOST_THEMES", 1)
        yield


@pytest.fixture(scope="module")
def documents(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpora") / "documents"
    folder.mkdir()
    bars_corpus(N_DOCS).write_part(folder, np.ones(N_DOCS, bool), folder)
    return folder


@pytest.fixture(scope="module")
def whole(documents):
    """A run that was trained without an interruption; tests leave it as it is."""
    out = documents.parent / "whole"
    train_run(plan_run(documents, out, {"validation-share": SHARE}))
    return out


@pytest.fixture
def made(documents, tmp_path):
    """A function that trains an HDP and returns its folder."""

    def make(name="run", hooks=RunHooks(), **options):  # noqa: B008
        out = tmp_path / name
        given = {"validation-share": SHARE}
        given |= {key.replace("_", "-"): value for key, value in options.items()}
        train_run(plan_run(documents, out, given), hooks)
        return out

    return make


def run(*arguments):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    return result.exit_code, result.stdout, result.stderr


# --- what training does ---------------------------------------------------------------------------
def test_training_goes_down_the_ladder_and_ends_with_all_documents(whole, documents):
    found = load_run(whole, TopicPosterior)
    numbers = [entry["n_topics"] for entry in found.trace]
    last = numbers[-LAST_LAPS:]
    assert numbers[:PATH_LAPS] == [FIRST] * PATH_LAPS
    assert sorted(numbers[:-LAST_LAPS], reverse=True) == numbers[:-LAST_LAPS]
    assert set(numbers[:-LAST_LAPS]) == set(close_rungs(FIRST, 1))
    assert set(last) == {found.model.n_topics}
    assert found.model.sizes.sum() == pytest.approx(Corpus.open(documents).n_tokens, rel=1e-9)

    scores = found.settings["number_of_topics"]
    tried = {*close_rungs(FIRST, 1), found.model.n_topics}
    assert [rung.n_topics for rung in scores.rungs] == sorted(tried, reverse=True)
    assert scores.n_documents == SHARE * N_DOCS
    assert scores.recommended == found.model.n_topics
    low, high = scores.as_good_around(found.model.n_topics)
    assert low <= found.model.n_topics <= high


def test_ten_bars_give_ten_topics():
    """A tenth of the documents is kept out by default."""
    found = HDP(random_state=0).fit(bars_corpus(700, 150))
    assert found.scores_ is not None
    assert found.n_components_ == 10, found.scores_
    assert match(found.model_.topic_word_mean, bar_topics(10, 30)).max() < 0.1
    low, high = found.as_good_
    assert low <= 10 <= high


def test_the_documents_kept_out_are_the_same_for_every_seed(monkeypatch):
    kept = []
    of_validation = RungScorer.of_validation

    def noting(documents, workers):
        kept.append([group.read_ids() for group in documents.row_groups])
        return of_validation(documents, workers)

    monkeypatch.setattr(RungScorer, "of_validation", noting)
    for seed in range(2):
        HDP(validation_share=SHARE, random_state=seed).fit(bars_corpus(60))
    assert kept[0] == kept[1]


def test_the_number_that_is_given_does_not_matter(made, whole):
    """Training begins with as many topics as the documents allow, and says so."""
    said = []
    given = made(hooks=RunHooks(say=said.append), topics=3)
    assert files_of(given) == files_of(whole)
    assert f"Training began with {FIRST}, not with the 3 of --topics." in said[-1]


@pytest.mark.parametrize("n_topics", [1, 3])
def test_few_topics_are_found_where_they_are_plain(n_topics):
    """Each document is about one of them, in words of its own."""
    rng = np.random.default_rng(n_topics)
    groups = np.repeat(np.eye(n_topics), 6, axis=1) / 6.0
    counts = np.array([rng.multinomial(12, groups[n % n_topics]) for n in range(300)])
    corpus = Corpus.from_csr(counts, [f"w{n}" for n in range(6 * n_topics)])

    found = HDP(random_state=0).fit(corpus)

    assert found.n_components_ == n_topics, found.scores_
    assert found.as_good_ == (n_topics, n_topics)


# --- polishing ------------------------------------------------------------------------------------
class Recorder:
    """A judge who accepts the first models only."""

    def __init__(self, n_accepted):
        self.left, self.numbers = n_accepted, []

    def choose(self):
        return 0

    def accepts(self, model):
        self.numbers.append(model.n_topics)
        self.left -= 1
        return self.left >= 0


class Stop(Exception):
    """Ends training as a kill would, as far as a test can."""


@pytest.mark.parametrize("n_accepted", [2, 100])
def test_polishing_goes_back_to_the_last_topics_that_were_accepted(
    documents, monkeypatch, n_accepted
):
    judge, ends = Recorder(n_accepted), []
    settle = ValidatedNumber.polished

    def polishing(course, counts):
        course.setting = course.setting._replace(judge=judge)
        found = settle(course, counts)
        ends.append((counts.shape[1], found.shape[1]))
        raise Stop

    monkeypatch.setattr(ValidatedNumber, "polished", polishing)
    with pytest.raises(Stop):
        HDP(validation_share=SHARE).fit(Corpus.open(documents))
    ((before, after),) = ends
    accepted = judge.numbers[:n_accepted]
    assert judge.numbers[0] == before
    assert after == accepted[-1]
    for more, fewer in zip(judge.numbers, judge.numbers[1:], strict=False):
        assert more - max(1, int(0.2 * more)) <= fewer < more
    if n_accepted < 100:
        assert len(judge.numbers) <= n_accepted + 1


@pytest.mark.parametrize(
    ("n_topics", "expected"), [(100, (80, 150)), (70, (70, 150)), (160, (80, 160))]
)
def test_the_range_of_an_earlier_release_holds_the_number_of_the_run(n_topics, expected):
    """Its polishing could end with another number than the recommended one."""
    rungs = tuple(RungScore(number, 1) for number in (150, 100, 80))
    scores = Scores(rungs, recommended=100, as_good_from=80, as_good_to=150)
    assert scores.as_good_around(n_topics) == expected


# --- the judge ------------------------------------------------------------------------------------
SIZES = np.array([5.0, 10.0, 15.0, 10.0])


def model_of(n_topics, gain, noise=0.0):
    """A stand-in for a model; half of the documents gain more by ``noise``, the others less."""
    offsets = gain + noise * np.array([1.0, -1.0, 1.0, -1.0])
    return SimpleNamespace(n_topics=n_topics, logs=(-2.0 + offsets) * SIZES)


def recorder_of(*models):
    """A recorder whose rungs have the scores of ``models``."""
    scorer = SimpleNamespace(
        scores=lambda model: HeldoutScores(model().logs, SIZES),
        score_without_topics=lambda: -4.0,
        described="documents",
    )
    rungs = [Rung(each.n_topics, 3, each.logs, SIZES, np.zeros(0, np.int64)) for each in models]
    options = SimpleNamespace(rungs=[each.n_topics for each in models], is_topic_path=False)
    return RungRecorder(options, scorer, rungs)


def test_models_are_compared_with_the_best_so_far():
    recorder = recorder_of(model_of(5, 0.0))
    assert recorder.choose() == 0
    assert recorder.accepts(model_of(5, -0.5))  # after two laps; at a wrong number, they do harm
    assert recorder.accepts(model_of(4, -0.502))
    assert not recorder.accepts(model_of(3, -0.503))
    assert recorder.accepts(model_of(3, -0.49))
    assert not recorder.accepts(model_of(2, -0.493))  # worse than the better one


@pytest.mark.parametrize(
    ("n_topics", "gain", "noise", "wins"),
    [
        (4, 0.001, 0.04, True),  # fewer topics need not win clearly,
        (5, 0.001, 0.04, True),
        (4, -0.001, 0.04, False),  # but must win
        (6, 0.001, 0.04, False),  # more topics must win by a standard error,
        (6, 0.04, 0.04, True),
        (6, 0.001, 0.2, True),  # unless the error is so large that nothing would
        (6, -0.001, 0.2, False),
    ],
)
def test_a_rival_must_predict_better(n_topics, gain, noise, wins):
    before, rival = model_of(5, 0.0), model_of(n_topics, gain, noise)
    recorder = recorder_of(before)
    assert recorder.accepts(before)
    scores = [HeldoutScores(each.logs, SIZES) for each in (rival, before)]
    mean, error = paired_difference(*scores)

    found = recorder.prefers(rival)

    assert (found > 0.0) == wins
    assert not wins or found == pytest.approx(mean / error)
    recorder.settled(n_topics)
    assert (recorder.rungs[-1].log_likelihoods == (rival if wins else before).logs).all()


@pytest.mark.parametrize("n_topics", [1, 4, 5, 7])
def test_the_settled_model_is_recommended_and_stands_for_its_number(n_topics):
    """Rungs are compared with it: the one of 5 topics loses more than may be lost."""
    rungs = [model_of(number, gain) for number, gain in ((6, -0.01), (5, -0.02), (3, -0.5))]
    recorder, own = recorder_of(*rungs), model_of(n_topics, 0.0)
    assert recorder.accepts(own)
    recorder.settled(n_topics)

    scores = recorder.scores

    numbers = [rung.n_topics for rung in scores.rungs]
    assert numbers == sorted({6, 5, 3, n_topics}, reverse=True)
    assert scores.recommended == n_topics
    assert (scores.as_good_from, scores.as_good_to) == (min(n_topics, 6), max(n_topics, 6))
    (found,) = [rung for rung in scores.rungs if rung.n_topics == n_topics]
    assert found.log_likelihood_per_token == pytest.approx(-2.0)
    assert found.difference_from_best == 0.0
    assert found.share_of_gain == 1.0
    assert scores.to_read <= n_topics


# --- rivals ---------------------------------------------------------------------------------------
class StandIn:
    """The state of training that ended with a table of counts."""

    def __init__(self, table):
        self.table, self.is_discarded = table, False

    def discard(self):
        self.is_discarded = True


class StandInCourse(SimpleNamespace):
    """A course without laps."""

    @property
    def current(self):
        return SimpleNamespace(components=self.state)

    def _model(self):
        return None


@pytest.mark.parametrize(
    ("begins", "wins_by", "expected"),
    [
        (4, [0.0], 4),
        (4, [1.9], 5),
        (4, [2.1, 0.0], 5),
        (4, [2.1, 2.1, 2.1], 7),  # three at most
        (65, [], 65),  # too many topics to be challenged
        (64, [2.1], 65),
    ],
)
def test_rivals_go_on_while_they_win_clearly(begins, wins_by, expected):
    made, left = [], list(wins_by)

    def rival(n_topics):
        made.append(n_topics)
        course.state = StandIn(np.ones((10, n_topics + 1)))

    judge = SimpleNamespace(prefers=lambda model: left.pop(0))
    course = StandInCourse(judge=judge, _grow_rival=rival)

    found = ValidatedNumber.challenged(course, np.ones((10, begins)))

    assert found.shape[1] == expected
    assert (len(made), left) == (len(wins_by), [])


@pytest.mark.parametrize(
    ("n_topics", "wins_by", "expected"),
    [(5, 1.0, 4), (5, 0.0, 5), (2, 1.0, 1), (1, None, 1), (65, None, 65)],
)
def test_the_largest_topic_goes_if_that_predicts_better(n_topics, wins_by, expected):
    tried = []

    def fit(counts):
        course.state = StandIn(counts + 0.5)
        tried.append(course.state)

    judge = SimpleNamespace(prefers=lambda model: wins_by)
    course = StandInCourse(judge=judge, _fit=fit)
    counts = np.arange(2.0 * n_topics).reshape(2, n_topics)

    found = ValidatedNumber.without_shared(course, counts)

    assert len(tried) == (wins_by is not None)
    for state in tried:
        np.testing.assert_array_equal(state.table, counts[:, :-1] + 0.5)
        assert state.is_discarded
    np.testing.assert_array_equal(found, tried[0].table if wins_by else counts)
    assert found.shape[1] == expected


def test_a_topic_of_shared_words_goes():
    """Of two topics a document, in words of their own, with words that all share between them."""
    rng, n_topics = np.random.default_rng(3), 12
    own = np.hstack(
        [np.repeat(np.eye(n_topics), 8, axis=1) * 0.7 / 8, np.full((n_topics, 6), 0.05)]
    )
    rows = []
    for _ in range(1600):
        pair, share = rng.choice(n_topics, 2, replace=False), rng.beta(0.5, 0.5)
        rows.append(rng.multinomial(14, share * own[pair[0]] + (1.0 - share) * own[pair[1]]))
    corpus = Corpus.from_csr(np.array(rows), [f"w{n}" for n in range(own.shape[1])])

    found = HDP(random_state=0).fit(corpus)

    assert found.n_components_ == n_topics, found.scores_


# --- cuts -----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("n_docs", "n_tokens", "n_splits"), [(10, 12, 20), (30, 12, 11), (100, 200, 5), (1000, 60, 2)]
)
def test_few_documents_are_cut_in_several_ways(n_docs, n_tokens, n_splits):
    corpus = bars_corpus(n_docs, n_tokens)
    model = HDP(3, max_iter=1).fit(corpus).model_
    unigram = unigram_probabilities(corpus.vocabulary.term_frequency)

    scorer = RungScorer.of_validation(corpus, workers=1)
    found = scorer.scores(lambda: model)

    _, expected = document_completion(
        corpus, model.topic_word_mean, model.mixing_weights, unigram, n_cuts=n_splits
    )
    assert scorer.n_splits == n_splits
    np.testing.assert_allclose(found.log_likelihoods, expected.log_likelihoods, rtol=1e-9)
    np.testing.assert_array_equal(found.sizes, expected.sizes)


# --- the same bytes -------------------------------------------------------------------------------
def test_workers_do_not_change_a_byte(made, whole):
    assert files_of(whole) == files_of(made("two", workers=2))


N_PATH = 39  # laps of the path


STEPS = ("polished", "challenged", "without_shared", "_begin_from")
STOPS = [PATH_LAPS, N_PATH, N_PATH + 7, *STEPS]


def copies_of(documents, folder, **options):
    """Train once in ``folder``, and copy what a kill would leave after each lap and before steps.

    A copy is named after the lap that its checkpoint has, or after the step.
    """
    folder.mkdir()
    out = folder / "run"
    given = {"validation-share": SHARE, "checkpoint-every": 1, **options}

    def on_lap(entry):
        if entry["lap"] > 1:
            shutil.copytree(out, folder / str(entry["lap"] - 1))

    def copied_before(step):
        original = getattr(ValidatedNumber, step)

        def made(*given):
            if not (folder / step).exists():
                shutil.copytree(out, folder / step)
            return original(*given)

        return made

    with pytest.MonkeyPatch.context() as patch:
        for step in STEPS:
            patch.setattr(ValidatedNumber, step, copied_before(step))
        train_run(plan_run(documents, out, given), RunHooks(on_lap=on_lap))
    return folder


@pytest.fixture(scope="module")
def stopped(documents):
    return copies_of(documents, documents.parent / "stopped")


@pytest.mark.parametrize("stop", STOPS)
def test_an_interrupted_run_ends_as_without_the_interruption(stopped, whole, stop):
    entries = []
    resume_run(stopped / str(stop), watch=lambda options: _Watch(entries))
    if stop not in STEPS:
        assert entries[0]["lap"] == stop + 1
    assert entries[-1]["lap"] == N_PATH + LAST_LAPS
    assert files_of(stopped / str(stop)) == files_of(whole)


@pytest.fixture(scope="module")
def read(documents):
    """A run for reading; tests leave it as it is."""
    out = documents.parent / "read"
    train_run(plan_run(documents, out, {"validation-share": SHARE, "for": "reading"}))
    return out


@pytest.fixture(scope="module")
def stopped_reading(documents):
    return copies_of(documents, documents.parent / "stopped-reading", **{"for": "reading"})


@pytest.mark.parametrize("lap", [*range(N_PATH + LAST_LAPS - 1, N_PATH + LAST_LAPS + READING_LAPS)])
def test_an_interrupted_run_for_reading_ends_as_without_the_interruption(
    stopped_reading, read, lap
):
    resume_run(stopped_reading / str(lap), workers=2)
    assert files_of(stopped_reading / str(lap)) == files_of(read)


class _Watch:
    def __init__(self, entries):
        self.hooks = RunHooks(on_lap=entries.append)

    def __enter__(self):
        return self.hooks

    def __exit__(self, *_):
        return None


def test_the_config_of_a_run_trains_it_again(made, documents, tmp_path):
    out, again = made(seed=3, eta=0.2, **{"for": "reading"}), tmp_path / "again"
    config = ("--config", out / "config.toml", "--quiet")
    assert run("train", documents, *config, "--out", again)[0] == 0
    assert files_of(out) == files_of(again)


def test_python_learns_the_same(whole, documents, tmp_path):
    found = HDP(validation_share=SHARE).fit(Corpus.open(documents))
    found.save(tmp_path / "saved")
    arrays = "model.safetensors"
    assert (whole / arrays).read_bytes() == (tmp_path / "saved" / arrays).read_bytes()
    for again in (load(whole), load(tmp_path / "saved")):
        assert again.scores_ == found.scores_
        assert again.as_good_ == found.as_good_


# --- for reading ----------------------------------------------------------------------------------
def test_training_for_reading_ends_with_the_number_to_read(whole, read, documents):
    """Until the last laps it is the training that ends with the number that predicts best."""
    best, found = load_run(whole, TopicPosterior), load_run(read, TopicPosterior)
    scores = found.settings["number_of_topics"]
    ends = [each.settings["number_of_topics"] for each in (best, found)]
    measures = dict.fromkeys(("coherence", "exclusivity", "diversity", "empty_topics"))
    # Those are of the final models.
    first, second = (
        [msgspec.structs.replace(rung, **measures) for rung in end.rungs] for end in ends
    )
    assert msgspec.structs.replace(ends[0], rungs=first) == msgspec.structs.replace(
        ends[1], rungs=second
    )
    assert scores.to_read < scores.recommended == best.model.n_topics
    numbers = [entry["n_topics"] for entry in found.trace]
    assert numbers[:-READING_LAPS] == [entry["n_topics"] for entry in best.trace]
    assert numbers[-READING_LAPS:] == [scores.to_read] * READING_LAPS
    assert found.model.n_topics == scores.to_read
    assert found.model.sizes.sum() == pytest.approx(Corpus.open(documents).n_tokens, rel=1e-9)


def test_ten_bars_are_read_as_ten_topics_at_most():
    found = HDP(random_state=0, purpose="reading").fit(bars_corpus(300, 80))
    assert found.n_components_ == found.scores_.to_read <= 10
    assert found.as_good_ == (found.scores_.as_good_from, found.scores_.as_good_to)


def test_as_many_topics_as_a_page_tells_apart_are_all_read(monkeypatch):
    monkeypatch.setattr(knee, "MOST_THEMES", MOST_THEMES)
    found = HDP(random_state=0, purpose="reading").fit(bars_corpus(500, 100))
    assert found.n_components_ == found.scores_.to_read == found.scores_.recommended


def test_numbers_that_predict_as_well_need_not_hold_the_number_to_read():
    rungs = tuple(RungScore(number, 1) for number in (150, 100, 80))
    scores = Scores(rungs, recommended=100, as_good_from=80, as_good_to=150, to_read=20)
    assert scores.as_good_around(20) == (80, 150)
    scores = msgspec.structs.replace(scores, to_read=100)
    assert scores.as_good_around(100) == (80, 150)


def test_the_command_names_both_numbers(read, documents, tmp_path):
    out, scores = tmp_path / "run", load_run(read).settings["number_of_topics"]
    words = ("train", documents, "--validation-share", SHARE, "--for", "reading")
    status, stdout, stderr = run(*words, "--out", out)
    assert status == 0, stderr
    start = f"{scores.to_read} topics to read (HDP), of {scores.recommended} that predict best"
    assert stdout.startswith(start)
    assert files_of(out) == files_of(read)
    status, stdout, stderr = run("report", out, "--out", tmp_path / "page.html")
    assert status == 0, stderr
    page = (tmp_path / "page.html").read_text()
    assert f"{scores.to_read} topics are enough to read; from {scores.as_good_from}" in page


def test_python_reads_the_same(read, documents, tmp_path):
    found = HDP(validation_share=SHARE, purpose="reading").fit(Corpus.open(documents))
    found.save(tmp_path / "saved")
    arrays = "model.safetensors"
    assert (read / arrays).read_bytes() == (tmp_path / "saved" / arrays).read_bytes()
    for again in (load(read), load(tmp_path / "saved")):
        assert again.n_components_ == found.n_components_ == again.scores_.to_read
        assert again.purpose == "reading"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("train documents --model lda", "--for: is for hdp"),
        ("train documents --model mixture", "--for: is for hdp"),
        ("train documents --moves merge", "--for: reading needs documents that are kept"),
        ("train documents --laps 9", "--for: reading needs documents that are kept"),
        ("train documents --validation-share 0", "--for: reading needs documents that are kept"),
        ("train documents", "--for: reading needs documents that are kept"),  # which are too few
        ("path documents", "no such option"),
    ],
)
def test_what_cannot_be_trained_for_reading_is_refused(documents, tmp_path, command, message):
    out, words = tmp_path / "out", command.replace("documents", str(documents)).split()
    status, stdout, stderr = run(*words, "--for", "reading", "--out", out)
    assert status != 0
    assert not stdout
    assert message.lower() in stderr.lower()
    assert not out.exists()


# --- when the criterion decides -------------------------------------------------------------------
def test_a_small_corpus_follows_the_criterion_and_says_so(documents, tmp_path):
    arguments = ("train", documents, "--topics", 12, "--out", tmp_path / "run")
    status, stdout, stderr = run(*arguments)
    assert status == 0
    assert f"The corpus has {N_DOCS} documents, fewer than {FEWEST_VALIDATED:,}" in stderr
    assert "predict as well" not in stdout
    assert "number_of_topics" not in json.loads((tmp_path / "run" / "model.json").read_text())
    assert HDP(max_iter=3).fit(Corpus.open(documents)).as_good_ is None


@pytest.mark.parametrize(
    ("recommended", "scores", "sentence"),
    [
        (5, (-3.0, -2.0, -1.0), "Fewer than 5 topics were not tried"),
        (9, (-2.0, -1.0, -3.0), "More than 9 topics were not tried"),
        (8, (-1.0, -2.0, -3.0), "More than 9 topics were not tried"),
        (8, (-2.0, -1.0, -3.0), ""),
    ],
)
def test_numbers_that_were_not_tried_are_named(recommended, scores, sentence):
    rungs = [RungScore(n, 1, score) for n, score in zip((9, 8, 5), scores, strict=True)]
    ends = {"as_good_from": recommended, "as_good_to": recommended}
    found = Scores(tuple(rungs), recommended=recommended, **ends).limits
    assert sentence in found
    assert bool(sentence) == bool(found)


def test_a_single_topic_is_an_answer():
    rungs = RungScore(2, 1, -2.0), RungScore(1, 1, -2.0)
    found = Scores(rungs, recommended=1, as_good_from=1, as_good_to=1).limits
    assert found == "Several topics predict no better than one."


@pytest.mark.parametrize(("error", "is_said"), [(0.019, False), (0.021, True)])
def test_scores_that_chance_decides_are_called_so(error, is_said):
    """Rungs that do not predict as well have large errors for another reason."""
    rungs = (RungScore(n, 1, -2.0, 0.1, -0.1, e) for n, e in ((9, 0.5), (8, error), (7, 0.0)))
    scores = Scores(tuple(rungs), n_documents=30, recommended=7, as_good_from=7, as_good_to=8)
    assert ("30 scored documents cannot tell these numbers apart" in scores.limits) == is_said
    assert ("differ by 0.02 nats" in scores.limits) == is_said


@pytest.mark.parametrize(
    "options",
    [{"moves": ("merge",)}, {"criterion": "bound"}, {"laps": 2}, {"validation_share": 0.0}],
)
def test_moves_and_laps_that_are_given_are_made(tmp_path, options):
    folder, out = tmp_path / "corpus", tmp_path / "run"
    folder.mkdir()
    bars_corpus(FEWEST_VALIDATED, 8).write_part(folder, np.ones(FEWEST_VALIDATED, bool), folder)
    given = {"topics": 3} | {key.replace("_", "-"): value for key, value in options.items()}

    def stop(entry):
        assert entry["n_topics"] == 3
        raise Stop

    with pytest.raises(Stop):
        train_run(plan_run(folder, out, given), RunHooks(on_lap=stop))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--moves merge", "--validation-share: needs the memoized learner"),
        ("--criterion bound", "--validation-share: needs the memoized learner"),
        ("--laps 9", "--validation-share: needs the memoized learner"),
        ("--learner full", "--validation-share: needs the memoized learner"),
        ("--start run", "--validation-share: needs the memoized learner"),
        ("--model lda", "--validation-share: is for hdp"),
        ("--validation-share 0.001", "--validation-share: 0.001 would keep 0 of 200 documents"),
        ("--validation-share 0.98", "--validation-share: leaves 4 documents to train on"),
    ],
)
def test_what_cannot_be_validated_is_refused_in_one_line(documents, tmp_path, options, message):
    out = tmp_path / "out"
    share = () if "--validation-share" in options else ("--validation-share", SHARE)
    words = ("train", documents, *options.split(), *share, "--out", out)
    status, stdout, stderr = run(*words)
    assert (status, stdout, stderr.count("\n")) == (1, "", 1), stderr
    assert stderr.startswith(f"Error: {message}"), stderr
    assert not out.exists()


def test_laps_cannot_be_added(made):
    out = made(keep_state=True)
    with pytest.raises(OptionError, match="cannot be changed: the laps of"):
        resume_run(out, laps=90)


def test_the_command_names_the_numbers_that_predict_as_well(documents, tmp_path):
    words = ("train", documents, "--validation-share", SHARE, "--quiet", "--json")
    status, stdout, _ = run(*words, "--out", tmp_path / "run")
    assert status == 0
    record = json.loads(stdout)
    assert record["as_good_from"] <= record["n_topics"] <= record["as_good_to"]
    status, stdout, stderr = run("report", tmp_path / "run", "--out", tmp_path / "page.html")
    assert status == 0, stderr
    page = (tmp_path / "page.html").read_text()
    assert "predict as well" in page


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"recommended": 31}, "31 topics are recommended, but there is no such rung"),
        ({"as_good_to": None}, "the recommendation is not complete"),
    ],
)
def test_a_run_whose_number_of_topics_contradicts_itself_is_refused(
    whole, tmp_path, change, problem
):
    out = shutil.copytree(whole, tmp_path / "run")
    settings = json.loads((out / "model.json").read_text())
    settings["number_of_topics"] |= change
    write_sealed(out / "model.json", settings)
    with pytest.raises(RunError, match=problem):
        load_run(out)


# --- what is remembered of rungs ------------------------------------------------------------------
def test_counts_of_rungs_come_back(tmp_path):
    counts = np.random.default_rng(0).poisson(0.5, (7, 4)) / 4.0
    memory = PathMemory().kept(counts[:, :2], Memo(tmp_path)).kept(counts, Memo(tmp_path, 0))
    memory.check(0, 7)
    np.testing.assert_array_equal(memory.counts(0, 7), counts[:, :2])
    np.testing.assert_array_equal(memory.counts(1, 7), counts)


@pytest.mark.parametrize(
    "damage",
    [
        {"n_topics": np.array([2])},
        {"n_topics": np.array([0])},
        {"starts": np.array([0, 2, 2], np.int32)},
        {"topics": np.array([0], np.int32)},
        {"counts": np.array([1.0, -1.0], np.float32)},
        {"counts": np.array([1.0, np.nan], np.float32)},
        {"counts": np.array([1.0, 2.0])},
    ],
)
def test_damaged_counts_are_refused(damage):
    sound = {
        "starts": np.array([0, 1, 2, 2], np.int32),
        "topics": np.array([0, 3], np.int32),
        "counts": np.array([1.0, 2.0], np.float32),
        "n_topics": np.array([4]),
    }
    check_rung(sound, 3)
    with pytest.raises((ValueError, IndexError)):
        check_rung(sound | damage, 3)
