"""What ``export`` and ``corpus export`` do: check the request, read the input, write the output."""

from __future__ import annotations

from pathlib import Path

from sparsetopics.answers import exports
from sparsetopics.answers.themes import ONE_OF_PATH, opened
from sparsetopics.base.outputs import Inputs, Output, output_file, written
from sparsetopics.base.sealed_files import absence
from sparsetopics.corpora.corpus import AnyCorpus, Corpus
from sparsetopics.options.option import check_extension, refuse
from sparsetopics.runs.run import AnyRun, Run, check_folder, refuse_run
from sparsetopics.runs.run_files import SETTINGS_FILE
from sparsetopics.runs.topic_path_files import TopicPathFolder, is_topic_path, load_topic_path


def export_run(
    path: Path,
    target: str,
    out: Path,
    *,
    documents: Path | None = None,
    spreadsheet_safe: bool = False,
    names: Path | None = None,
    n_themes: int | None = None,
    overwrite: bool = False,
) -> exports.Facts:
    """Write the run or topic path at ``path`` as ``target``.

    The target is a key of ``RUN_TARGETS`` or, for a topic path, of ``PATH_TARGETS``. ``documents``
    is the training corpus, for formats that also show documents. With ``spreadsheet_safe``, which
    is for CSV, words that begin like a formula get an apostrophe in front. ``names``, a file or
    another run, are for formats with names. Returns what the writer says of the file. Raises
    OutputError, RunError, VocabularyError, or OptionError for a combination that is not supported.
    """
    _output(out, target, overwrite, [path, documents])
    kind = _target_for(path, target)
    _check(target, kind, documents, spreadsheet_safe, names is not None)
    is_path = kind is exports.PATH_TARGETS.get(target)
    if is_path and n_themes is not None:
        refuse("themes", f"is for one run, but {path} is a topic path", ONE_OF_PATH)
    model = load_topic_path(path) if is_path else opened(path, names, n_themes)
    corpus = None
    if documents is not None and isinstance(model, Run):
        corpus = model.documents_at(documents)
    return export_model(
        model, target, out, documents=corpus, spreadsheet_safe=spreadsheet_safe, overwrite=overwrite
    )


def export_model(
    model: AnyRun | TopicPathFolder,
    target: str,
    out: Path,
    *,
    documents: AnyCorpus | None = None,
    spreadsheet_safe: bool = False,
    has_names: bool = False,
    overwrite: bool = False,
) -> exports.Facts:
    """Write a run or a topic path that is in memory, as ``export_run`` writes one on disk.

    Raises OptionError for a mixture of vectors if the format is for words.
    """
    output = _output(out, target, overwrite)
    targets = exports.PATH_TARGETS if isinstance(model, TopicPathFolder) else exports.RUN_TARGETS
    kind = targets[target]
    _check(target, kind, documents, spreadsheet_safe, has_names)
    if not (isinstance(model, TopicPathFolder) or model.vocabulary or "vectors" in kind.takes):
        problem = f"{target} is for words, but {model.path} is a mixture of vectors"
        hint = "Export it as csv or parquet, which hold means and covariances."
        refuse("to", problem, hint)
    given = {"documents": documents, "spreadsheet_safe": spreadsheet_safe}
    own = {name: value for name, value in given.items() if name in kind.takes}
    with written(output) as aside:
        return exports.writer(kind.where)(aside, model, **own)


def export_corpus(path: Path, target: str, out: Path, *, overwrite: bool = False) -> None:
    """Write the documents of the corpus at ``path`` as ``target``, a key of ``CORPUS_TARGETS``.

    Documents and words keep their order. Raises OutputError, OptionError or CorpusFormatError.
    """
    output = _output(out, target, overwrite, [path])
    refuse_run(path)
    corpus = Corpus.open(path)
    with written(output) as aside:
        exports.writer(exports.CORPUS_TARGETS[target])(aside, corpus)


def _output(out: Path, target: str, overwrite: bool, inputs: Inputs = ()) -> Output:
    """Where to write; refuses an extension that means another format."""
    output = output_file(out, overwrite=overwrite, inputs=inputs)
    targets, suffix = exports.RUN_TARGETS | exports.PATH_TARGETS, out.suffix.lower()
    own = targets[target].extension if target in targets else ""
    known = {*exports.OTHER_EXTENSIONS, *(kind.extension for kind in targets.values())}
    if suffix and suffix in known:  # others say nothing about the format
        if not own:
            refuse("out", f"must not end in {suffix} with --to {target}, but is {out.name}")
        check_extension("out", out, (own,))
    return output


def _target_for(path: Path, target: str) -> exports.RunTarget:
    """Return the format for what is at ``path``; refuse a format of the other table."""
    if target in exports.PATH_TARGETS and is_topic_path(path):
        return exports.PATH_TARGETS[target]
    if target in exports.RUN_TARGETS:
        check_folder(path)  # its error names a run of a topic path
        return exports.RUN_TARGETS[target]
    if not absence(path / SETTINGS_FILE):
        problem = f"{target} is for topic paths, but {path} is a single run"
        refuse("to", problem, "Train a topic path with `sparsetopics path`.")
    return exports.PATH_TARGETS[target]


def _check(
    target: str,
    kind: exports.RunTarget,
    documents: Path | AnyCorpus | None,
    spreadsheet_safe: bool,
    has_names: bool,
) -> None:
    """Raise OptionError for options that the format does not take, and if it needs a corpus and
    gets none."""
    if "documents" in kind.takes and documents is None:
        problem = f"{target} needs the corpus of the documents to show"
        refuse("corpus", problem, "Name it with --corpus.")
    if documents is not None and "documents" not in kind.takes:
        problem = f"{target} takes no corpus, but {documents} is given"
        refuse("corpus", problem, f"Only {_takers('documents')} take one.")
    if has_names and kind is exports.PATH_TARGETS.get(target):
        refuse("names", "a topic path takes no names", "Export one of its runs, which does.")
    if has_names and "names" not in kind.takes:
        refuse("names", f"is for a run and the formats {_takers('names')}, not for --to {target}")
    if spreadsheet_safe and "spreadsheet_safe" not in kind.takes:
        refuse("spreadsheet-safe", f"is for {_takers('spreadsheet_safe')}, not for --to {target}")


def _takers(option: str) -> str:
    """The names of those formats of a run that take ``option``."""
    return ", ".join(name for name, kind in exports.RUN_TARGETS.items() if option in kind.takes)
