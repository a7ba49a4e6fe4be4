"""Every option of every command at values that are wrong or extreme: a finite result, or one line.

The options come from the commands themselves, so a new option is tested without a new line here,
unless it needs another beside it to have an effect.
"""

import json
import math
import shutil
import warnings
from itertools import takewhile

import click
import numpy as np
import pytest
from click.testing import CliRunner

from sparsetopics.base.errors import SparsetopicsWarning
from sparsetopics.cli.main import COMMANDS, main
from sparsetopics.cli.parameter_types import NEW_PATH, NameType, NumberType
from sparsetopics.options.ingest_table import INGEST_OPTION
from sparsetopics.options.registry import MODELS, models_with
from sparsetopics.options.table import OPTION
from worlds.collections_on_disk import write_jsonl

VALUES = ("0", "-1", "nan", "inf", "1e308", "1e-320", str(10**12), str(10**23), "")
WRONG_NAME = "no-such-name"
# What each command works with, in the folder of ``world``.
BASES = {
    "quickstart": "--out out",
    "ingest": "texts.jsonl --out out",
    "corpus info": "documents",
    "corpus validate": "documents",
    "corpus split": "documents --out-train out --out-heldout out-too",
    "corpus export": "documents --to lda-c --out out",
    "train": "documents --out out --topics 2 --laps 2",
    "path": "documents --quiet --rungs 2,1 --laps 2 --validation-share 0.3 --out out",
    "resume": "lda",
    "evaluate": "lda documents",
    "topics": "lda",
    "prevalence": "lda documents",
    "documents": "lda documents",
    "infer": "lda documents --out out",
    "denoise": "restorer photo.png --out out",
    "export": "lda --to csv --out out",
    "update": "lda documents --out out",
    "diff": "lda lda",
    "edit": "lda --rename 0=News --out out",
    "report": "lda --out out",
    "plot": "lda themes --out out.png",
    "repair": "lda",
    "warmup": "",
}
NEEDED = {  # by options that have no effect in the base of their command
    "ingest --phrase-threshold": "--phrases",
    "ingest --vocabulary-file": "counts.ldac",
    "ingest --patches": "photo.png",
    "ingest --stride": "photo.png --patches 2",
    "ingest --pca": "values.csv",
    "ingest --seed": "values.csv --pca 2",
    "edit --laps": "--corpus documents",
    "denoise --seed": "--add-noise",
    "evaluate --text-field": "--texts texts.jsonl",
    "train --variance": "--likelihood isotropic-gaussian",
    "train --restarts": "--local-update mean-field",
    "train --cold-every": "--moves none",
    "train --tree-tolerance": "--learner accelerated --topics 1",
    "train --forgetting-rate": "--learner stochastic",
    "train --delay": "--learner stochastic",
    "train --fixed-rate": "--learner stochastic",
}
ENDS = {"--from": ["--to", "1"], "--to": ["--from", "2"]}  # of a path without rungs
BY_DATA = {"ingest --min-df", "ingest --max-df"}  # refused as vocabulary: if no word is left


def options_of(takes):
    """The commands and options with a type of click, as ``train --alpha``."""
    found = []
    with click.Context(main) as ctx:
        for name in COMMANDS:
            command = main.get_command(ctx, name)
            members = getattr(command, "commands", None) or {"": command}
            for member, each in members.items():
                words = f"{name} {member}".rstrip()
                options = [param for param in each.params if isinstance(param, click.Option)]
                found += [(words, option) for option in options if takes(option)]
    return found


def ids(case):
    return typed(case) if isinstance(case, click.Option) else str(case)


def typed(option):
    return max(option.opts, key=len)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Corpora and runs as small as they can be."""
    folder = tmp_path_factory.mktemp("world")
    kinds = (["apple", "pear", "plum"], ["bond", "share", "stock"])
    texts = [" ".join(kinds[n % 2][m % 3] for m in range(n, 2 * n + 6)) for n in range(12)]
    write_jsonl(folder / "texts.jsonl", texts)
    (folder / "story.txt").write_text(texts[0])
    (folder / "guide.toml").write_text('fruit = ["apple"]')
    (folder / "counts.ldac").write_text("2 0:1 1:2\n1 1:3\n")
    (folder / "counts.vocab").write_text("apple\npear\n")
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(24, 3)) + 9 * (np.arange(24) % 2)[:, np.newaxis]
    np.savetxt(folder / "values.csv", rows, "%.3f", ",", header="a,b,c", comments="")
    images = pytest.importorskip("PIL.Image", reason="needs Pillow")
    images.fromarray(rng.integers(0, 256, (8, 8), dtype=np.uint8)).save(folder / "photo.png")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for words in (
            "ingest texts.jsonl --out documents",
            "ingest values.csv --kind vectors --out vectors",
            "ingest photo.png --patches 2 --out patches",
            "train documents --model lda --topics 2 --laps 1 --keep-state --out lda",
            "train vectors --model mixture --topics 2 --laps 1 --out mixture",
            "train patches --model mixture --topics 2 --laps 1 --out restorer "
            "--likelihood zero-mean-gaussian",
        ):
            status, _, stderr = invoked([*words.split(), "--quiet"])
            assert status == 0, stderr
    return folder


@pytest.fixture
def here(world, monkeypatch):
    """The world as the current folder, without outputs of earlier calls."""
    monkeypatch.chdir(world)
    yield world
    for name in ("out", "out-too"):
        remove(world / name)


def remove(path):
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def invoked(words):
    """The status, and what a command printed to stdout and stderr."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SparsetopicsWarning)
        result = CliRunner().invoke(main, words)
    stopped = isinstance(result.exception, SystemExit | type(None))
    trace = "" if stopped else f"{result.exception!r}\n"
    return result.exit_code, result.stdout, trace + result.stderr


def refusal_fault(words, where, here):
    """What is wrong unless a command is refused: status 1, one line that begins with the name."""
    before = set(here.iterdir())
    status, stdout, stderr = invoked(words)
    is_refused = (status, stdout, stderr.count("\n")) == (1, "", 1)
    left = sorted(path.name for path in set(here.iterdir()) - before)
    if is_refused and stderr.startswith(f"Error: {where}") and not left:
        return []
    return [f"{' '.join(words)}: status {status}, {stdout[-200:]}{stderr[-300:]}, left {left}"]


def fault(words, where, here):
    """What is wrong unless a command ends with finite numbers or is refused."""
    before = set(here.iterdir())
    status, stdout, _ = invoked(words)
    if status:
        return refusal_fault(words, where, here)
    for path in set(here.iterdir()) - before:
        remove(path)
    numbers = list(numbers_in(json.loads(stdout)))
    return [] if all(map(math.isfinite, numbers)) else [f"{' '.join(words)}: {stdout}"]


def numbers_in(record):
    if isinstance(record, dict | list):
        for each in record.values() if isinstance(record, dict) else record:
            yield from numbers_in(each)
    elif isinstance(record, float):
        yield record


def bases(command, option):
    """Words of commands in which an option has an effect: for training, one for each model."""
    needed = NEEDED.get(f"{command} {typed(option)}", "").split()
    base = [*command.split(), *BASES[command].split()]
    if f"{command} {typed(option)}" in ("path --from", "path --to"):
        base = [word for word in base if word not in ("--rungs", "2,1")] + ENDS[typed(option)]
    if needed and not needed[0].startswith("-"):  # another source
        base[len(command.split())] = needed.pop(0)
    if command != "train":
        return [[*base, *needed]]
    calls = []
    row = OPTION.get(typed(option).removeprefix("--"))
    for model in models_with(row.name) if row else MODELS:
        own = list(base)
        if MODELS[model].of_items:
            own[1] = "vectors"
        calls.append([*own, "--model", model, "--quiet", *needed])
    return calls


def number_options():
    return options_of(lambda option: isinstance(option.type, NumberType))


@pytest.mark.parametrize(("command", "option"), number_options(), ids=ids)
def test_a_number_is_refused_or_the_result_is_finite(command, option, here):
    """Models that have the option have every other value in turn."""
    interval = option.type.interval
    bounds = [] if interval.whole else [str(interval.low), str(interval.high)]
    faults = []
    for number, base in enumerate(bases(command, option)):
        values = VALUES if command != "train" else VALUES[number % 2 :: 2]
        for value in (*values, *bounds):
            words = [*base, typed(option), value, "--json"]
            found = fault(words, f"{typed(option)}: ", here)
            if found and f"{command} {typed(option)}" in BY_DATA:
                found = fault(words, "vocabulary: ", here)
            faults += found
    assert faults == []


def training_numbers():
    return [option for command, option in number_options() if command == "train"]


@pytest.mark.parametrize("option", training_numbers(), ids=ids)
def test_a_number_in_a_config_file_is_named_after_the_file(option, here):
    key, base = typed(option).removeprefix("--"), bases("train", option)[0]
    own = base.index("--topics")  # the file has these
    base = base[:own] + base[own + 4 :]
    faults = []
    for value in (*VALUES[:-1], '""'):
        settings = {"topics": "2", "laps": "2"} | {key: value}
        lines = [f"{name} = {each}\n" for name, each in settings.items()]
        (here / "options.toml").write_text("".join(lines))
        words = [*base, "--config", "options.toml", "--json"]
        faults += fault(words, f"options.toml, {key}: ", here)
    assert faults == []


def choices():
    return options_of(lambda option: isinstance(option.type, NameType))


@pytest.mark.parametrize(("command", "option"), choices(), ids=ids)
def test_a_wrong_name_is_refused(command, option, here):
    where = f"{typed(option)}: must be one of "
    faults = []
    for base in bases(command, option):
        for value in (WRONG_NAME, ""):
            faults += refusal_fault([*base, typed(option), value], where, here)
    assert faults == []


def texts():
    kinds = (click.Path, click.types.StringParamType)
    return options_of(lambda option: isinstance(option.type, kinds))


@pytest.mark.parametrize(("command", "option"), texts(), ids=ids)
def test_an_empty_name_is_refused(command, option, here):
    faults = []
    for base in bases(command, option):
        faults += refusal_fault([*base, typed(option), ""], f"{typed(option)}: ", here)
    assert faults == []


@pytest.mark.parametrize(
    ("command", "option"),
    [
        case
        for case in texts()
        if case[1].type is not NEW_PATH and case[1].name not in ("missing", "log_file")
    ],
    ids=ids,
)
def test_a_name_of_nothing_is_refused(command, option, here):
    faults = []
    for base in bases(command, option):
        faults += refusal_fault([*base, typed(option), WRONG_NAME], "", here)
    assert faults == []


ARGUMENTS = [
    (command, place)
    for command, base in BASES.items()
    for place, _ in enumerate(takewhile(lambda word: word[0] != "-", base.split()))
]


@pytest.mark.parametrize(("command", "place"), ARGUMENTS)
def test_an_argument_may_not_be_empty(command, place, here):
    words = BASES[command].split()
    words[place] = ""

    assert refusal_fault([*command.split(), *words], "", here) == []


# --- options that exclude each other --------------------------------------------------------------
EXCLUSIONS = """
gamma: train documents --out out --model lda --gamma 1
moves: train documents --out out --model lda --moves merge
criterion: train documents --out out --model lda --criterion bound
criterion: train documents --out out --moves none --criterion bound
criterion: train documents --out out --learner full --criterion bound
moves: train documents --out out --learner full --moves merge
round: train documents --out out --learner full --round 2
cold-every: train documents --out out --learner full --cold-every 2
cold-every: train documents --out out --cold-every 2
learn-hyperparameters: train documents --out out --learner stochastic --learn-hyperparameters
restarts: train documents --out out --restarts 2
likelihood: train documents --out out --likelihood multinomial
tree-tolerance: train documents --out out --tree-tolerance 0.1
gradient: train documents --out out --gradient plain
step-size: train documents --out out --step-size 0.1
momentum: train documents --out out --momentum 0.9
forgetting-rate: train documents --out out --forgetting-rate 0.5
delay: train documents --out out --learner full --delay 64
fixed-rate: train documents --out out --fixed-rate 0.1
fixed-rate: train documents --out out --learner stochastic --fixed-rate 0.1 --delay 64
variance: train documents --out out --variance 1
sparsity: train documents --out out --topics 2 --model lda --sparsity 3
workers: train documents --out out --workers 2 --executor serial
scheduler: train documents --out out --scheduler tcp://localhost:1
learner: train documents --out out --learner accelerated
moves: train documents --out out --model mixture --likelihood multinomial --moves merge
criterion: train vectors --out out --model mixture --criterion bound
start: train vectors --out out --model mixture --start lda
minimum-mass: train vectors --out out --model mixture --minimum-mass 0
eta: train vectors --out out --model mixture --eta 0.5
resident-pairs: train vectors --out out --model mixture --resident-pairs 0
local-update: train vectors --out out --model mixture --local-update collapsed
tree-tolerance: train vectors --out out --model mixture --tree-tolerance 0.1
start: train vectors --out out --model dp-mixture --learner accelerated --start random
topics: train vectors --out out --model dp-mixture --learner accelerated --topics 2
moves: train vectors --out out --model dp-mixture --learner accelerated --moves merge
round: train vectors --out out --model dp-mixture --learner accelerated --round 2
executor: train vectors --out out --model dp-mixture --learner accelerated --executor dask
gradient: train vectors --out out --model dp-mixture --learner accelerated --gradient plain
learner: train vectors --out out --model dp-mixture --learner gradient
tree-tolerance: train vectors --out out --model dp-mixture --tree-tolerance 0.1
criterion: train vectors --out out --model dp-mixture --criterion collapsed
variance: train vectors --out out --model dp-mixture --variance 1
overwrite: evaluate lda documents --overwrite
text-field: evaluate lda documents --text-field body
text-field: evaluate lda documents --texts story.txt --text-field body
unpickle: evaluate lda documents --unpickle
workers: evaluate lda documents --workers 2 --executor serial
scheduler: evaluate lda documents --scheduler tcp://localhost:1
alpha: evaluate mixture vectors --alpha 1
seed: evaluate mixture vectors --seed 1
texts: evaluate mixture vectors --texts texts.jsonl
coherence-corpus: evaluate mixture vectors --coherence-corpus documents
unpickle: evaluate mixture vectors --unpickle
workers: infer lda documents --out out --workers 2 --executor serial
overwrite: infer lda --text one --overwrite
over: infer lda documents --out out --over date:day
overwrite: prevalence lda documents --overwrite
words: prevalence lda documents --differences --words 3
words: prevalence lda documents --formula ~label --words 3
overwrite: diff lda lda --overwrite
workers: diff lda lda --workers 2
overwrite: report lda --methods --overwrite
workers: report lda --methods --workers 2
workers: resume lda --workers 2 --executor serial
scheduler: resume lda --scheduler tcp://localhost:1 --executor threads
seed: denoise restorer photo.png --out out --seed 1
clean: denoise restorer photo.png --out out --clean patches --add-noise
corpus: export lda --out out --to csv --corpus documents
corpus: export lda --out out --to pyldavis
corpus: export lda --out out --to datamapplot
to: export mixture --out out --to mallet
append: ingest texts.jsonl --out out --append documents
overwrite: ingest texts.jsonl --append documents --overwrite
min-df: ingest texts.jsonl --append documents --min-df 2
vocabulary: ingest texts.jsonl --append documents --vocabulary documents
append: ingest texts.jsonl --append documents --ngrams 2
stop-words: ingest texts.jsonl --out out --vocabulary documents --stop-words english
phrases: ingest texts.jsonl --out out --vocabulary documents --phrases
ngrams: ingest texts.jsonl --out out --phrases --ngrams 2
phrase-threshold: ingest texts.jsonl --out out --phrase-threshold 0.5
tokenizer: ingest texts.jsonl --out out --tokenizer str:split --token-pattern a
stop-words: ingest texts.jsonl --out out --stop-words none --stop-words english
vocabulary-file: ingest texts.jsonl --out out --vocabulary-file counts.vocab
workers: ingest texts.jsonl --out out --workers 2 --executor serial
scheduler: ingest texts.jsonl --out out --scheduler tcp://localhost:1
id-field: ingest texts.jsonl --out out --format text --id-field key
text-field: ingest story.txt --out out --text-field body
label-field: ingest story.txt --out out --label-field kind
vocabulary-file: ingest story.txt --out out --vocabulary-file counts.vocab
text-field: ingest counts.ldac --out out --text-field body
encoding-errors: ingest counts.ldac --out out --encoding-errors replace
ngrams: ingest counts.ldac --out out --ngrams 2
phrases: ingest counts.ldac --out out --phrases
token-pattern: ingest counts.ldac --out out --token-pattern a
lowercase: ingest counts.ldac --out out --no-lowercase
text-field: ingest values.csv --kind vectors --out out --text-field body
pca: ingest values.csv --kind documents --out out --pca 2
append: ingest values.csv --kind vectors --append vectors
whiten: ingest values.csv --kind vectors --out out --whiten
seed: ingest values.csv --kind vectors --out out --seed 3
projection: ingest values.csv --out out --pca 2 --projection vectors
stride: ingest values.csv --kind vectors --out out --stride 2
patches: ingest values.csv --out out --patches 2
values-field: ingest values.csv --out out --values-field a
stride: ingest photo.png --out out --stride 2
columns: ingest photo.png --out out --columns a
id-field: ingest photo.png --out out --id-field key
"""


@pytest.mark.parametrize("case", EXCLUSIONS.strip().splitlines())
def test_options_that_exclude_each_other_are_refused(case, here):
    name, _, words = case.partition(": ")

    assert refusal_fault(words.split(), f"--{name}: ", here) == []


def usual_value(option):
    """What an option takes, as words of a command."""
    takes = option.type
    if option.is_flag:
        return []
    if isinstance(takes, NameType):
        return [takes.choices[0]]
    if takes is click.UNPROCESSED:
        return ["guide.toml"]
    return ["1" if isinstance(takes, NumberType) else "documents"]


OTHER_KINDS = {  # words with data of the other kind
    "documents": "ingest values.csv --kind vectors --out out",
    "vectors": "ingest texts.jsonl --kind documents --out out",
}


@pytest.mark.parametrize("kind", OTHER_KINDS)
def test_an_option_of_ingest_is_refused_for_data_of_the_other_kind(kind, here):
    own = {row.key for row in INGEST_OPTION.values() if row.only_for == (kind,)}
    faults = []
    for command, option in options_of(lambda option: option.name in own):
        if command == "ingest":
            words = [*OTHER_KINDS[kind].split(), typed(option), *usual_value(option)]
            faults += refusal_fault(words, f"{typed(option)}: ", here)
    assert faults == []


@pytest.mark.parametrize(
    ("name", "model"),
    [(row.name, model) for row in OPTION.values() for model in MODELS if not row.is_for(model)],
)
def test_an_option_is_refused_by_models_that_ignore_it(name, model, here):
    options = options_of(lambda option: f"--{name}" in option.opts)
    (option,) = [option for command, option in options if command == "train"]
    words = f"train documents --out out --model {model} --{name}".split()

    assert refusal_fault([*words, *usual_value(option)], f"--{name}: ", here) == []


@pytest.mark.parametrize("command", BASES)
def test_wrong_usage_is_one_line_and_status_two(command, here):
    without_the_last = BASES[command].split()[:-1] if BASES[command] else ["one-too-many"]
    for words in (["--no-such-option"], without_the_last):
        status, stdout, stderr = invoked([*command.split(), *words])

        assert (status, stdout, stderr.count("\n")) == (2, "", 1), stderr
        assert stderr.endswith("--help` lists what there is.\n"), stderr
