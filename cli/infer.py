"""``sparsetopics infer``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparsetopics.base.errors import SourceError
from sparsetopics.base.wording import quantity
from sparsetopics.cli import shared_options as shared
from sparsetopics.cli.parameter_types import NAMED_PATH, NEW_PATH, NumberType, TextType
from sparsetopics.cli.printing import say, show
from sparsetopics.options.option import counts_from, refuse
from sparsetopics.options.workplace import Workplace

if TYPE_CHECKING:
    import pyarrow as pa

    from sparsetopics.base.sealed_files import Json
    from sparsetopics.corpora.corpus import AnyCorpus, Corpus
    from sparsetopics.runs.run import AnyRun

Rows = list[dict[str, Any]]  # of a table of Arrow, whose cells have types of their own
STANDARD_INPUT = Path("-")
PRINTED_TOPICS = 5  # of a text, unless --top is given
N_WORDS = 6  # of a topic, so that a line fits a terminal


@click.command(cls=shared.TableCommand)
@click.argument("run", type=NAMED_PATH)
@click.argument("corpus", type=NAMED_PATH, required=False)
@click.option(
    "--text",
    "texts",
    multiple=True,
    metavar="TEXT",
    help="A text to use instead of CORPUS. Can be repeated.",
)
@click.option(
    "--out",
    type=NEW_PATH,
    help="File to write; its extension is .parquet, .csv, .jsonl or .arrow. Required unless CORPUS "
    "is - or --text is given: without it, the topics of texts are printed.",
)
@click.option(
    "--top",
    type=NumberType(counts_from(1)),
    help="Keep only this many topics of each document, the largest ones that it has, and write a "
    "row for each of them. Default: all topics in OUT, in one row per document; 5 if printed.",
)
@click.option(
    "--tokens",
    is_flag=True,
    help="Give the topic of each word of each document instead of the topics of documents.",
)
@click.option(
    "--novelty",
    "training",
    type=NAMED_PATH,
    metavar="TRAINING",
    help="Give how badly RUN explains each document of CORPUS, beside those of TRAINING, the "
    "documents that it was trained with.",
)
@click.option(
    "--over",
    type=TextType(),
    metavar="FIELD:UNIT",
    help="With --novelty: also print its course, such as date:day.",
)
@shared.themes_option
@click.option(
    "--tokenizer",
    metavar="MODULE:NAME",
    help="Python function that cuts texts into words. Required for texts if the corpus of RUN was "
    "ingested with one.",
)
@shared.spreadsheet_option(".csv", "ids and words")
@shared.overwrite_option("Replace the file if it exists.")
@shared.workplace_options
@shared.json_option()
@click.pass_context
def command(
    ctx: click.Context,
    run: Path,
    corpus: Path | None,
    texts: tuple[str, ...],
    out: Path | None,
    top: int | None,
    tokens: bool,
    training: Path | None,
    over: str | None,
    n_themes: int | None,
    tokenizer: str | None,
    spreadsheet_safe: bool,
    overwrite: bool,
    where: Workplace,
) -> None:
    """Write the share of each topic of RUN in each document of CORPUS, or print those of a text.

    OUT gets one row per document, in the order of the corpus, with two columns: doc_id, and
    proportions, a list with one number per topic that sums to one. CSV has no lists, so there
    proportions_0, proportions_1 and so on are columns. For a mixture, the second column is
    responsibilities, with one number per component; for vectors, the first column is item_id.
    Repeated calls give the same numbers.

    With --top, OUT has the columns doc_id, topic, id and name of the topic (not for vectors),
    and proportion or responsibility. Each
    document has a row for each of its largest topics, the largest first. Except for the largest,
    topics with less than a hundredth of a token of the document are left out.

    With --tokens, each document has a row for each of its different words, in the order of the
    vocabulary: doc_id, word, count, topic and share. The topic is the most probable one of the word
    in this document, and the share is its probability: the proportion of the topic in the document
    times the probability of the word in the topic, scaled to sum to one over topics. A mixture has
    one component for a whole document, so it is refused.

    With --novelty, OUT has the columns doc_id, n_tokens and novelty: how many standard deviations
    the log probability of a token is below the mean of training documents of about as many tokens.
    Topics do not fit documents with 2.5 or more. With --over, it also has the start of the period,
    and the mean of each period and the number of such documents are printed.

    If CORPUS is -, every line of the standard input is a document. Documents given by - or --text
    are numbered from 0. Their words are cut as those of the training documents were. Words outside
    the vocabulary are left out and counted. A document without any known word has a row without
    numbers, except with --tokens.

    \b
    Example:
        sparsetopics infer run corpus --out proportions.parquet
        sparsetopics infer run corpus --top 5 --out topics.csv
        sparsetopics infer run --text "Firefighters saved most homes"
        sparsetopics infer run --text "Firefighters saved most homes" --tokens
        sparsetopics infer run june --novelty train --over date:day --out novelty.csv
    """
    from sparsetopics.answers.proportions import share_tables
    from sparsetopics.answers.table_files import table_output, write_output
    from sparsetopics.answers.themes import opened
    from sparsetopics.corpora.corpus import open_corpus
    from sparsetopics.execution.executors import open_crew
    from sparsetopics.runs.run import SWAPPED, refuse_run

    folder = _folder(ctx, corpus, texts, tokenizer)
    if out is None and folder is not None:
        raise click.UsageError("Name the file to write with --out.", ctx)
    if training is not None and (folder is None or top or tokens or n_themes):
        refuse("novelty", "is for a corpus, without --top, --tokens and --themes")
    shared.check_needs({"over": "training", "overwrite": "out"})
    inputs = [run, folder, training]
    output = table_output(out, inputs, overwrite=overwrite, spreadsheet_safe=spreadsheet_safe)
    if folder is not None:
        refuse_run(folder, SWAPPED)
    with open_crew(where) as crew:
        trained = opened(run, n_themes=n_themes)
        found: AnyCorpus
        if folder is None:
            found, record = _documents(trained, texts, tokenizer)
        else:
            found = open_corpus(where.seen_from_there(folder))
            known = trained.reading(found, str(folder))  # refuses others
            found = known if training is None else found
        if training is not None:
            assert output is not None, "a corpus needs --out"
            table, record, lines = _novelty(trained, found, training, over, crew.threads)
            write_output(output, table.schema, [table], spreadsheet_safe=spreadsheet_safe)
            line = f"Wrote a row for each of {quantity(len(table), 'document')} to {out}."
            show(record | {"path": str(out)}, [*lines, line])
            return
        if output is None and not tokens:
            top = top or PRINTED_TOPICS
        schema, tables = share_tables(trained, found, top, tokens, crew)
        if output is not None:
            write_output(output, schema, tables, spreadsheet_safe=spreadsheet_safe)
            record, lines = _written(trained, found, output.path, top, tokens=tokens)
        else:
            rows = [row for table in tables for row in table.to_pylist()]
            if tokens:
                record["tokens"], lines = rows, _token_lines(rows)
            else:
                record["documents"], lines = _topics_of_texts(trained, rows)
    show(record, lines)


def _folder(
    ctx: click.Context, corpus: Path | None, texts: Sequence[str], tokenizer: str | None
) -> Path | None:
    """The folder of a corpus, or None for texts; raises for what does not go together."""
    if corpus is None and not texts:
        raise click.UsageError("Give a corpus, - for the standard input, or --text.", ctx)
    if corpus is not None and texts:
        source = "the standard input" if corpus == STANDARD_INPUT else f"the corpus {corpus}"
        refuse("text", f"cannot be combined with {source}", "Give one of them.")
    if corpus is None or corpus == STANDARD_INPUT:
        return None
    if tokenizer is not None:
        refuse("tokenizer", f"is for texts, but {corpus} is a corpus")
    return corpus


def _documents(
    run: AnyRun, texts: Sequence[str], tokenizer: str | None
) -> tuple[Corpus, dict[str, Json]]:
    """Texts, or the lines of the standard input, as a corpus, and its sizes; says what is not
    known."""
    from sparsetopics.corpora.corpus import Corpus
    from sparsetopics.corpora.memory_corpus import every_text

    if any(text.encode(errors="replace").decode() != text for text in texts):
        refuse("text", "must be UTF-8")
    corpus = Corpus(**vars(every_text(texts or _lines_of_input(), run.words, tokenizer)))
    if n_unknown := corpus.n_unknown_tokens:
        words = quantity(n_unknown + corpus.n_tokens, "word")
        say(f"Left out: {n_unknown:,} of {words} (not in the vocabulary of {run.path}).")
    if corpus.n_skipped:
        n_all = quantity(corpus.n_docs, "document")
        say(f"Without a known word: {corpus.n_skipped:,} of {n_all}.")
    return corpus, {
        "n_documents": corpus.n_docs - corpus.n_skipped,
        "n_tokens": corpus.n_tokens,
        "n_skipped": corpus.n_skipped,
        "n_unknown_tokens": n_unknown,
    }


def _lines_of_input() -> Iterator[str]:
    number = 0
    for number, line in enumerate(sys.stdin.buffer, 1):
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            where, problem = f"standard input, line {number}", "expected UTF-8 text"
            raise SourceError(where, problem, "Convert it with iconv.") from error
    if not number:
        raise SourceError("standard input", "is empty")


def _written(
    run: AnyRun, corpus: AnyCorpus, out: Path, top: int | None, *, tokens: bool
) -> tuple[dict[str, Json], list[str]]:
    """What was written, as a record and as a line."""
    n_documents = corpus.sizes.n_docs
    n_rows = min(top or run.model.n_topics, run.model.n_topics)
    rows = "a row" if top is None or n_rows == 1 else f"up to {n_rows:,} rows"
    rows = "a row for each word" if tokens else f"{rows} for each"
    line = f"Wrote {rows} of {quantity(n_documents, corpus.noun[:-1])} to {out}."
    return {f"n_{corpus.noun}": n_documents, "path": str(out)}, [line]


def _novelty(
    run: AnyRun, corpus: AnyCorpus, training: Path, over: str | None, threads: int
) -> tuple[pa.Table, dict[str, Json], list[str]]:
    """The novelty of documents, and its course over periods as a record and as lines."""
    from sparsetopics.answers.novelty import LEAST_NOVELTY, course_of, novelty_table, usual_scores
    from sparsetopics.answers.quick_topics import QuickTopics
    from sparsetopics.corpora.corpus import Corpus
    from sparsetopics.model.topic_posterior import TopicPosterior
    from sparsetopics.runs.run import knowing

    topics = run.of(TopicPosterior)
    if topics is None or not isinstance(corpus, Corpus):
        refuse("novelty", f"needs topics of LDA or an HDP, but {run.path} is a mixture")
    if corpus.n_words > topics.model.n_words:  # words that the topics do not know tell, too
        topics = knowing(topics, corpus, "the corpus")
    known = topics.documents_at(training)
    n_known = min(known.n_docs, topics.settings["corpus"]["n_documents"])
    quick = QuickTopics.of(topics.model, threads)
    table = novelty_table(quick, corpus, usual_scores(quick, known, n_known), over)
    course = [] if over is None else course_of(table).to_pylist()
    lines = [f"{'from':<12}documents  novelty  novel"] if course else []
    lines += [
        f"{row['from']!s:<12}{row['n_documents']:>9,}  {row['mean_novelty']:>7.2f}  "
        f"{row['n_novel']:>5,}"
        for row in course
    ]
    n_novel = int((table["novelty"].to_numpy() >= LEAST_NOVELTY).sum())
    return table, {"n_documents": len(table), "n_novel": n_novel, "course": course}, lines


def _topics_of_texts(run: AnyRun, rows: Rows) -> tuple[Json, list[str]]:
    """The topics of texts as records and as lines."""
    from sparsetopics.answers.topic_names import topic_rows

    words = [[word for word, _ in row.words] for row in topic_rows(run, N_WORDS)]
    found: dict[Json, list[Json]] = {}
    lines = ["document  topic  id         share  name: words"]
    for doc_id, topic, topic_id, name, share in map(dict.values, rows):
        own = found.setdefault(doc_id, [])
        if topic is None:
            lines.append(f"{doc_id:>8}      -  -              -")
            continue
        place, best = f"{doc_id:>8}  {topic:>5}  {topic_id}  {share:>6.2%}", words[topic]
        lines.append(f"{place}  {name}: {' '.join(best)}")
        own.append({"topic": topic, "id": topic_id, "name": name, "share": share, "words": best})
    return [{"doc_id": doc_id, "topics": topics} for doc_id, topics in found.items()], lines


def _token_lines(rows: Rows) -> list[str]:
    """The topics of the words of texts."""
    lines = ["document  topic  id         share  count  word"]
    for doc_id, word, count, topic, topic_id, share in map(dict.values, rows):
        lines.append(f"{doc_id:>8}  {topic:>5}  {topic_id}  {share:>6.2%}  {count:>5}  {word}")
    return lines
