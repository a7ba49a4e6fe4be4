"""How a model was made, in sentences for the methods section of a paper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from sparsetopics.answers.edit_records import Edits, read_edits
from sparsetopics.base.sealed_files import file_sha256
from sparsetopics.base.wording import decimals, listed, quantity
from sparsetopics.corpora.store.document_rows import DocumentManifest
from sparsetopics.corpora.text.account import REASONS
from sparsetopics.corpora.text.pruning import document_limits, prune, read_candidates
from sparsetopics.corpora.text.stop_words import list_named
from sparsetopics.corpora.text.vocabulary import Setting, Vocabulary
from sparsetopics.evaluation.report.report import shown_runs
from sparsetopics.evaluation.report.report_content import number
from sparsetopics.evaluation.report.run_facts import priors_of, run_facts, training_data
from sparsetopics.options.registry import MODELS
from sparsetopics.runs.run import AnyRun
from sparsetopics.runs.run_files import EDITS_FILE, SETTINGS_FILE
from sparsetopics.runs.topic_path_files import Scores

NAMES = {"LDA": "latent Dirichlet allocation", "HDP": "a hierarchical Dirichlet process"}
PAPERS = {  # of the inference, as in CITATION.cff
    "LDA": "Asuncion, Welling, Smyth and Teh (2009), On smoothing and inference for topic models",
    "HDP": "Hughes, Kim and Sudderth (2015), Reliable and scalable variational inference for the "
    "hierarchical Dirichlet process",
    "mixture": "Hughes and Sudderth (2013), Memoized online variational inference for Dirichlet "
    "process mixture models",
}
OF_TEXTS = {  # settings of a vocabulary, with their value or the length of a list
    "function": "Texts were split into words by the Python function {}.",
    "token_pattern": "Texts were split into matches of the regular expression `{}`.",
    "remove": "Before that, the texts were cleared of {}.",
    "lowercase": "All words were lower-cased.",
    "language": "The language of the texts was set to {}.",
    "lemmas": "Inflected forms were replaced by their lemmas (language {}).",
    "stop_words": "Stop words ({list}) were removed.",
    "ngrams": "Sequences of up to {} words were counted as further words.",
    "phrases": "Pairs of words that often occur together ({n:,}) were joined to one word each.",
}
OF_TRAINING = {  # labels of facts
    "each component": "Each component is {}.",
    "learner": "The learner was {}.",
    "topics of a document": "The topics of each document were found {}.",
    "seed": "The random seed was {}.",
}


def methods_text(path: Path, corpus: Path | None = None) -> str:
    """Return paragraphs about the run or topic path at ``path``: data, training, and identity.

    Of a path, they are about the recommended run. ``corpus`` is the one that the run was trained
    on, or the whole that it is a part of; it tells what ``ingest`` left out. Raises RunError, and
    VocabularyError for a corpus of other words.
    """
    runs, folder = shown_runs([path], None, None)
    run = next(runs)
    scores = folder.scores if folder else run.settings.get("number_of_topics")
    paragraphs = (_of_data(run, corpus), _of_training(run, scores), _of_identity(run))
    return "\n\n".join(" ".join(sentences) for sentences in paragraphs)


# --- the data -------------------------------------------------------------------------------------
def _of_data(run: AnyRun, corpus: Path | None) -> Iterator[str]:
    words, columns = run.vocabulary, quantity(run.model.n_columns, "column")
    size = columns if words is None else f"a vocabulary of {quantity(len(words), 'word')}"
    yield f"The model was trained on {training_data(run.settings['corpus'])} with {size}."
    if words is None:
        return
    yield from _of_texts(words.tokenizer)
    if corpus is not None:
        run.documents_at(corpus)  # refuses other words
        yield from _left_out(corpus, words, run.settings["corpus"].get("n_documents"))


def _of_texts(settings: Mapping[str, Setting] | None) -> Iterator[str]:
    """Say what a word is; ``settings`` are those of a vocabulary."""
    if settings is None:
        yield "The documents were given as counts of words."
        return
    given = {name: value for name, value in settings.items() if value}
    if given.pop("from_lists", False):
        given.pop("lowercase", None)  # which is for texts
        yield "The documents were given as lists of words."
    elif not given.keys() & {"function", "token_pattern"}:
        yield "Texts were split into runs of letters, of three or more in most scripts."
    for name in [name for name in OF_TEXTS if name in given]:
        value = given[name]
        several = [*map(str, value if isinstance(value, list | tuple) else [value])]
        words = list_named(several) if name == "stop_words" else ""
        yield OF_TEXTS[name].format(listed(several), n=len(several), list=words)


def _left_out(corpus: Path, words: Vocabulary, n_trained: int | None) -> Iterator[str]:
    """Say what became of documents and words when the corpus was made, as far as it is kept."""
    manifest = DocumentManifest.load(corpus)
    if manifest.sizes.n_docs != n_trained:
        whole = quantity(manifest.sizes.n_docs, "document")
        yield f"The documents are part of a corpus of {whole}."
    if manifest.n_skipped:
        yield f"Documents without any of these words ({manifest.n_skipped:,}) were left out."
    if manifest.n_unknown_tokens:
        yield f"Tokens outside the given vocabulary ({manifest.n_unknown_tokens:,}) were left out."
    if manifest.candidates is None:
        return
    totals, cuts = read_candidates(corpus, manifest.candidates)
    counted = words.tokenizer is None
    least, most = document_limits(totals.n_with_words, cuts, counted=counted)
    if cuts.stop_words:
        yield OF_TEXTS["stop_words"].format(list=list_named(cuts.stop_words))
    first = f" and are among the {cuts.max_words:,} most frequent" if cuts.max_words else ""
    yield f"Words were kept if they occur in {least:,} to {most:,} documents{first}."
    kept, by_rule = prune(totals, cuts, counted=counted)
    n_read = int(kept.term_frequency.sum()) + sum(by_rule.values())
    if left_out := [f"{n:,} {REASONS[rule]}" for rule, n in by_rule.items() if n]:
        yield f"Of the {n_read:,} tokens in this corpus, {listed(left_out)} were left out."


# --- training -------------------------------------------------------------------------------------
def _of_training(run: AnyRun, scores: Scores | None) -> Iterator[str]:
    kind, settings, facts = MODELS[run.model.name], run.settings, run_facts(run)
    name = NAMES.get(kind.title, f"a {kind.words or kind.title}")
    yield f"The model is {name} with {quantity(run.model.n_topics, kind.noun)}."
    if scores and scores.recommended:
        yield from _of_number(scores)
    elif kind.learns_number:
        moves = f" by {facts['moves']}" if facts.get("moves") else ""
        yield f"The number was learned{moves}."
    else:
        yield "The number was set in advance."
    for label, sentence in OF_TRAINING.items():
        if facts.get(label) is not None:
            yield sentence.format(facts[label])
    runs = [found.n_runs for found in settings.get("found_in_runs", ()) if found]
    last = f", the last for the consensus of {runs[0]} runs with different seeds" if runs else ""
    yield f"Training took {quantity(run.n_laps, 'pass', 'passes')} over the data{last}."
    known = {label: value for label, value in priors_of(run).items() if value is not None}
    priors = [label.replace(",", f" = {value}", 1) for label, value in known.items()]
    yield f"The model has {listed(priors)}."
    if lists := [each.name for each in settings.get("guide", ())]:
        yield f"Training began with {quantity(len(lists), 'list')} of words: {listed(lists)}."
    if origin := settings.get("origin"):
        yield f"The run is an update of an earlier one with the SHA-256 {origin.run}."
    yield from _of_edits(run, kind.noun)


def _of_number(scores: Scores) -> Iterator[str]:
    """Say how well documents that were kept out of training are predicted by how many topics."""
    rung = next(each for each in scores.rungs if each.n_topics == scores.recommended)
    exact = rung.log_likelihood_per_token, rung.standard_error
    score, error = (number(each, decimals(rung.standard_error or 0.0)) for each in exact)
    kept_out = f"{quantity(scores.n_documents, 'document')} that were kept out of training"
    yield f"The number was chosen by the log-likelihood of {kept_out}."
    yield f"The chosen model reached {score} nats per token, with a standard error of {error}."
    sizes = [each.n_topics for each in scores.as_good]
    if len(sizes) > 1:
        yield f"From {sizes[-1]:,} to {sizes[0]:,} topics predicted these documents as well."


def _of_edits(run: AnyRun, noun: str) -> Iterator[str]:
    """Say what people did to the topics."""
    record = run.path / EDITS_FILE
    edits = read_edits(record) if record.exists() else Edits()
    named = sum(topic.name is not None and topic.named_by is None for topic in run.topics)
    done = {
        "joined": sum(map(len, edits.merge)), "dropped": len(edits.drop),
        "split": len(edits.split), "named": named,
    }  # fmt: skip
    said = [f"{n:,} {verb}" for verb, n in done.items() if n]
    said += [f"all joined to {edits.themes:,}"] if edits.themes else []
    if said:
        yield f"The {noun}s were then edited by hand: {listed(said)}."


def _of_identity(run: AnyRun) -> Iterator[str]:
    yield f"The software was sparsetopics {run.settings['versions']['sparsetopics']}."
    if data := run.settings["corpus"].get("fingerprint"):
        yield f"The fingerprint of the training data is {data.removeprefix('rows:')}."
    digest = file_sha256(run.path / SETTINGS_FILE)
    yield f"The SHA-256 of {SETTINGS_FILE} in the folder of the run is {digest}."
    paper = PAPERS.get(MODELS[run.model.name].title, PAPERS["mixture"])
    yield f"Please cite the software, and for its inference {paper}."
