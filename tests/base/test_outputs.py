"""Every command that writes: what it refuses, and what it leaves then, which is nothing."""

import json
import os
import resource
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from rights import only_those_of_modes
from sparsetopics import HDP, LDA
from sparsetopics.base.errors import OutputError
from sparsetopics.base.staging import stranger_in
from sparsetopics.base.transactions import Workspace
from sparsetopics.cli.main import main
from sparsetopics.corpora.corpus import Corpus
from write_kills import contents
from write_scenarios import make_given, scenarios

FOLDERS = ("out", "h")
WRITERS = [each for each in scenarios(Path("GIVEN")) if "--overwrite" not in each.command]
NEW = [each for each in WRITERS if not each.outputs]
by_name = pytest.mark.parametrize("writer", NEW, ids=lambda each: each.name)


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    """What the commands read; everybody may read it."""
    folder = tmp_path_factory.mktemp("writers") / "given"
    make_given(folder, sound)
    return folder


def sound(command, folder):
    found = run(command, folder)
    assert found.exit_code == 0, found.output


def run(command, folder):
    before = Path.cwd()
    os.chdir(folder)
    try:
        return CliRunner().invoke(main, [str(word) for word in command])
    finally:
        os.chdir(before)


@pytest.fixture
def work(given, tmp_path):
    """A folder to work in, beside links to the files that are given: no command writes into one."""
    shutil.copytree(given, tmp_path / "given", copy_function=os.link)
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def command_of(writer, work, out=None):
    """The command of a scenario, its (first) output being ``out``."""
    words = [word.replace("GIVEN", str(work.parent / "given")) for word in writer.command]
    if out is not None:
        words[words.index(output_of(writer))] = str(out)
    return words


def output_of(writer):
    return next(word for word in writer.command if word == "out" or word.startswith("out."))


def inputs_of(writer, work):
    """Files and folders that a command reads."""
    return [Path(word) for word in command_of(writer, work) if "/given/" in word]


def refused(command, work, wanted):
    """One line, status 1, and nothing has changed."""
    before = contents(work.parent)
    found = run(command, work)
    assert found.exit_code == 1, found.output
    errors = [line for line in found.stderr.splitlines() if line.startswith("Error")]
    assert found.stderr.splitlines()[-1:] == errors, found.stderr
    assert wanted in errors[0]
    assert contents(work.parent) == before
    return errors[0]


@by_name
@pytest.mark.parametrize("options", [[], ["--overwrite"]])
def test_an_output_that_is_or_holds_or_lies_in_an_input(writer, options, work):
    for read in inputs_of(writer, work):
        refused([*command_of(writer, work, read), *options], work, "is the input")
        inside = read / "inner" / "out"
        refused([*command_of(writer, work, inside), *options], work, "lies inside the input")
        refused([*command_of(writer, work, read.parent), *options], work, "holds the input")


@by_name
def test_an_output_that_leads_to_an_input_by_a_link(writer, work):
    read = inputs_of(writer, work)[0]
    (work / "link").symlink_to(read)

    refused([*command_of(writer, work, "link"), "--overwrite"], work, "is the input")


@by_name
def test_a_folder_of_others_is_never_replaced(writer, work):
    """Nor is one of ours into which others have put something."""
    (work / "mine").mkdir()
    (work / "mine" / "thesis.txt").write_text("precious")

    refused([*command_of(writer, work, "mine"), "--overwrite"], work, "mine: expected a")
    refused(command_of(writer, work, "mine"), work, "mine: expected a")


@by_name
@pytest.mark.parametrize("out", [".", "", ".."])
def test_the_current_folder_is_no_output(writer, out, work):
    (work / "mine").write_text("precious")

    line = refused([*command_of(writer, work, out), "--overwrite"], work, "Error: ")
    assert "folder" in line or "lies inside the other output" in line


@by_name
def test_what_is_there_stays_without_overwrite(writer, work):
    if writer.name == "update":
        pytest.skip("it leaves what it made before as it is, with status 0")
    for before in writer.before or [command_of(writer, work)]:
        sound(before, work)

    refused(command_of(writer, work), work, "the output already exists")


@by_name
def test_two_at_once_are_refused(writer, work):
    """The message names the output, not the folder that it is in."""
    output = work / output_of(writer)
    with Workspace.beside(output).held():
        line = refused(command_of(writer, work), work, f"another process ({os.getpid()}) ")
    assert line.startswith(f"Error: {os.path.realpath(output)}: another process")
    assert "Wait until it is done" in line


@by_name
def test_no_space(writer, work):
    """No file may become longer than a few bytes."""
    with longest_file(64):
        refused(command_of(writer, work), work, "File too large")


@contextmanager
def longest_file(n_bytes):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@by_name
def test_a_folder_that_cannot_be_written(writer, work):
    sound(command_of(writer, work), work)  # which imports all that only root may read
    shutil.rmtree(work)
    work.mkdir(mode=0o555)
    with only_those_of_modes():
        refused(command_of(writer, work), work, "Permission denied")


@pytest.mark.parametrize("half", FOLDERS)
def test_a_folder_that_cannot_be_moved_is_not_replaced(half, work):
    """Nor is the other folder, of which a part would be done."""
    halves = ["--out-train", "out", "--out-heldout", "h", "--overwrite"]
    split = ["corpus", "split", str(work.parent / "given" / "corpus"), *halves]
    sound(split, work)
    (work / half).chmod(0o555)

    with only_those_of_modes():
        refused([*split, "--seed", "5"], work, f"{half}: cannot write here (Permission denied)")

    (work / half).chmod(0o755)


def test_an_estimator_replaces_nothing_but_runs(tmp_path):
    corpus = Corpus.from_texts(["the owl", "a cat", "the cat"])
    model = LDA(2, max_iter=2).fit(corpus)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("precious")

    with pytest.raises(OutputError, match="found a folder that is not a run folder"):
        model.save(tmp_path / "mine", overwrite=True)
    model.save(tmp_path / "run")
    with pytest.raises(OutputError, match="the output already exists"):
        model.save(tmp_path / "run")
    HDP(2, max_iter=2).fit(corpus).save(tmp_path / "run", overwrite=True)

    assert (tmp_path / "mine" / "thesis.txt").read_text() == "precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine", "run"]


def test_killed_at_any_change_of_a_file_the_next_command_repairs(given, tmp_path):
    """A sample; ``benchmarks/faults.py`` kills every command at every place."""
    shutil.copytree(given, tmp_path / "given")
    program = [sys.executable, str(Path(__file__).parents[1] / "write_kills.py"), str(tmp_path)]
    sample = (
        "corpus split --overwrite",
        "ingest --append",
        "ingest --append: new words",
        "update --overwrite",
        "export: mallet --overwrite",
        "train",
    )
    beside = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])

    found = subprocess.run(
        [*program, *(f"--scenario={name}" for name in sample), "--every", "23"],
        env=os.environ | {"PYTHONPATH": beside},
        capture_output=True,
        text=True,
        check=False,
    )

    assert found.returncode == 0, found.stdout + found.stderr
    assert found.stdout.count(" 0 problems") == len(sample)


@pytest.fixture
def interrupted(given, tmp_path):
    """A run that has its laps, and can be resumed."""

    def stop(*_):
        raise KeyboardInterrupt

    words = "--out run --model lda --laps 2 --topics 3 --checkpoint-every 1 --quiet"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sparsetopics.runs.train.save_run", stop)
        found = run(["train", str(given / "train"), *words.split()], tmp_path)
    assert "Lap 2 is kept" in found.stderr
    return tmp_path / "run"


LINKS = ("plan.json.part", "checkpoint.npz.part", "trace.jsonl", "lock", "memo", "globals", "new")


@pytest.mark.parametrize("command", ["resume run", "train GIVEN/train --out run --overwrite"])
@pytest.mark.parametrize("name", [*(f"state/{name}" for name in LINKS), "state", "strange"])
def test_links_in_a_run_folder_lead_nowhere(command, name, interrupted, given, tmp_path):
    precious = tmp_path / "precious"
    link = interrupted / name
    if link.is_dir():
        link.rename(precious)
    elif name.endswith(("memo", "globals", "new")):
        precious.mkdir()
    else:
        precious.write_text("precious")
    link.unlink(missing_ok=True)
    link.symlink_to(precious)
    before = files_of(tmp_path)

    found = run(command.replace("GIVEN", str(given)).split(), tmp_path)

    assert found.exit_code == 1
    assert f"{name}: expected only files and folders, but found a link or device" in found.stderr
    assert found.stderr.count("\n") == 1
    assert files_of(tmp_path) == before


def files_of(folder):
    paths = sorted(folder.rglob("*"))
    return {path: path.read_bytes() if path.is_file() else b"" for path in paths}


def test_the_path_that_the_user_gives_may_be_a_link(interrupted, tmp_path):
    (tmp_path / "link").symlink_to(interrupted)

    sound(["resume", "link", "--quiet"], tmp_path)

    assert (tmp_path / "link").is_symlink()
    assert (interrupted / "model.json").is_file()


@pytest.mark.parametrize("is_pipe", [True, False])
def test_only_regular_files_are_asked_whether_a_folder_is_ours(given, tmp_path, is_pipe):
    out = tmp_path / "out"
    out.mkdir()
    if is_pipe:
        os.mkfifo(out / "manifest.json")
    else:
        (out / "manifest.json").symlink_to(given / "corpus" / "manifest.json")
    command = ["ingest", given / "texts.jsonl", "--out", out, "--overwrite"]
    code = "from sparsetopics.cli.main import main; main()"

    # In a process of its own, because a pipe without a writer would keep this one waiting.
    done = subprocess.run(
        [sys.executable, "-c", code, *command, "--log-file", out / "log"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert (done.returncode, done.stdout) == (1, "")
    assert "but found a folder that is not a corpus folder." in done.stderr
    assert (out / "log").exists()  # as in any folder that is not ours


def test_a_workspace_that_is_a_link_is_refused(given, tmp_path):
    (tmp_path / "precious").mkdir()
    (tmp_path / ".out.sparsetopics").symlink_to(tmp_path / "precious")

    found = run(["ingest", str(given / "texts.jsonl"), "--out", "out", "--quiet"], tmp_path)

    assert found.exit_code == 1
    assert ".out.sparsetopics: outputs are made here, but sparsetopics did not" in found.stderr
    assert list((tmp_path / "precious").iterdir()) == []


def test_a_journal_of_others_moves_nothing_elsewhere(given, tmp_path):
    """A stranger's archive may bring a workspace, whose names must be those of its output."""
    workspace = tmp_path / "inner" / ".out.sparsetopics"
    (workspace / "new").mkdir(parents=True)
    (workspace / "lock").touch()
    (workspace / "new" / "precious").write_text("evil")
    (tmp_path / "inner" / "precious").write_text("precious")
    names = ["precious", "../precious", "new/precious", "..", "out-precious"]
    write_journal(workspace, (".", names))
    sound(["repair", "inner/out"], tmp_path)
    (workspace / "new").mkdir(parents=True)
    (workspace / "new" / "inner").write_text("evil")
    write_journal(workspace, (".", names), ("..", ["inner"]))
    found = run(["repair", "inner/out"], tmp_path)

    assert found.exit_code == 1
    assert "the other half of an interrupted command" in found.stderr

    assert (tmp_path / "inner" / "precious").read_text() == "precious"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"identity": 1}', '{"identity": "a"}'])
def test_a_damaged_journal_is_refused_in_one_line(text, given, tmp_path):
    workspace = tmp_path / ".out.sparsetopics"
    workspace.mkdir()
    (workspace / "lock").touch()
    (workspace / "journal.json").write_text(text)

    for command in (["repair", "out"], ["topics", "out"], ["corpus", "info", "out"]):
        found = run(command, tmp_path)

        assert found.exit_code == 1
        assert "journal.json: the record of an interrupted command is damaged" in found.stderr
        assert found.stderr.count("\n") == 1


def test_repair_says_what_it_did(interrupted, given, tmp_path):
    def said(*words):
        found = run(["repair", *words], tmp_path)
        return found.exit_code, found.stdout + found.stderr

    assert said("nothing") == (
        1,
        "Error: nothing: no output is here, nor anything that a command left.\n",
    )
    assert said(str(given / "corpus"))[1].endswith("corpus: nothing to repair.\n")
    kept = "run: interrupted work is kept; continue it with `sparsetopics resume run`.\n"
    assert said("run") == (0, kept)
    stray = tmp_path / ".out.sparsetopics"
    (stray / "new").mkdir(parents=True)
    (stray / "lock").touch()
    assert said("out") == (0, "out: removed what an interrupted command left.\n")
    assert not stray.exists()


def test_repair_leaves_folders_of_others_alone(tmp_path):
    """A project may have a folder of the name of one of ours."""
    for name in ("state", ".append"):
        (tmp_path / "project" / name).mkdir(parents=True)
        (tmp_path / "project" / name / "memo").write_text("precious")
    before = files_of(tmp_path)

    sound(["repair", "project"], tmp_path)
    found = run(["resume", "project"], tmp_path)

    assert "found no model.json" in found.stderr
    assert files_of(tmp_path) == before


@pytest.mark.parametrize("most", [0, 8, 64])
def test_resume_on_a_full_disk_says_what_was_kept(most, interrupted, tmp_path):
    with longest_file(most):
        found = run(["resume", "run", "--laps", "4", "--quiet"], tmp_path)

    assert found.exit_code == 1
    assert "run: cannot write here (File too large)" in found.stderr
    assert found.stderr.endswith("is kept; continue with `sparsetopics resume run`.\n")
    assert found.stderr.count("\n") == 1
    sound(["resume", "run", "--laps", "4", "--quiet"], tmp_path)


@pytest.mark.parametrize("folder", ["corpus", "patches", "run", "patch-run"])
def test_links_in_a_folder_of_ours_are_not_read(folder, given, tmp_path):
    command = {"run": ["topics", "run"], "patch-run": ["report", "patch-run", "--out", "page.html"]}
    words = command.get(folder, ["corpus", "validate", folder])
    shutil.copytree(given / folder, tmp_path / folder)
    for path in sorted((tmp_path / folder).iterdir()):
        if path.name == "config.toml":  # which only --config reads, where the user names it
            continue
        path.rename(tmp_path / "elsewhere")
        path.symlink_to(tmp_path / "elsewhere")

        found = run(words, tmp_path)

        assert found.exit_code == 1, path
        assert f"{path.name}: this is not a regular file" in found.output
        assert "Traceback" not in found.output
        path.unlink()
        (tmp_path / "elsewhere").rename(path)


@by_name
def test_a_name_that_is_not_utf_8_is_refused(writer, work):
    refused(command_of(writer, work, os.fsdecode(b"out\xff")), work, "the path is not UTF-8")


def test_topics_of_a_half_replaced_export_are_not_scored(given, tmp_path):
    """Its other files may be those of the former export."""
    export = ["export", str(given / "run"), "--to", "mallet", "--out"]
    sound([*export, "out"], tmp_path)
    sound([*export, "again"], tmp_path)
    workspace = Workspace.beside(tmp_path / "out")
    workspace.new.mkdir(parents=True)
    (tmp_path / "again").rename(workspace.new / "out")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Workspace, "_move", lambda workspace: None)  # killed
        workspace.commit(["out"])
    (workspace.folder / "lock").touch()

    found = run(["evaluate", "out", str(given / "heldout")], tmp_path)

    assert found.exit_code == 1
    assert "complete it with `sparsetopics repair out`" in found.stderr
    sound(["repair", "out"], tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["again.keys", "out", "out.keys"]


def write_journal(workspace, *places):
    entries = [{"workspace": w, "names": names, "replaced": names} for w, names in places]
    record = {"identity": "a", "places": entries, "job": ""}
    (workspace / "journal.json").write_text(json.dumps(record))


@pytest.mark.parametrize("command", ["repair run", "resume run"])
def test_a_journal_in_a_run_of_others_moves_nothing_out_of_it(command, interrupted, tmp_path):
    for folder in (interrupted / "new", interrupted / "state" / "new"):
        folder.mkdir(exist_ok=True)
        (folder / "thesis.txt").write_text("evil")
    (interrupted / "part-of.json").write_text('{"identity": "a", "workspace": "state"}')
    write_journal(interrupted / "state", (".", ["thesis.txt"]), ("..", ["thesis.txt"]))
    (tmp_path / "thesis.txt").write_text("precious")

    run(command.split(), tmp_path)

    assert (tmp_path / "thesis.txt").read_text() == "precious"
    assert not (interrupted / "thesis.txt").exists()


def test_what_appears_after_a_commit_is_not_replaced(given, tmp_path):
    """A process was killed after the journal, and the user has made a folder since."""
    workspace = Workspace.beside(tmp_path / "out")
    shutil.copytree(given / "corpus", workspace.new / "out")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Workspace, "_move", lambda workspace: None)
        workspace.commit(["out"])
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("precious")

    for command in (["repair", "out"], ["ingest", str(given / "texts.jsonl"), "--out", "out"]):
        found = run(command, tmp_path)
        assert "out: a file or folder appeared here" in found.stderr
        assert found.exit_code == 1

    (tmp_path / "out").rename(tmp_path / "mine")
    sound(["repair", "out"], tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["mine", "out"]


def test_a_workspace_of_others_is_left_alone(given, tmp_path):
    (tmp_path / ".out.sparsetopics" / "new").mkdir(parents=True)
    (tmp_path / ".out.sparsetopics" / "new" / "thesis.txt").write_text("precious")

    found = run(["ingest", str(given / "texts.jsonl"), "--out", "out", "--quiet"], tmp_path)

    assert "sparsetopics did not make this" in found.stderr
    assert (tmp_path / ".out.sparsetopics" / "new" / "thesis.txt").exists()


@pytest.mark.parametrize("files", [("model.json", "config.toml"), ("state/plan.json",)])
def test_train_replaces_no_files_of_other_programs(files, given, tmp_path):
    """Keras has a ``model.json`` too."""
    for name in files:
        (tmp_path / "site" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "site" / name).write_text('{"keras": 1}')
    before = files_of(tmp_path)
    words = ["--out", "site", "--laps", "2", "--topics", "3", "--quiet", "--overwrite"]

    found = run(["train", str(given / "train"), *words], tmp_path)

    assert (
        "site: expected a new path, or a run folder to replace, but found a folder that is not"
        in found.stderr
    )
    assert files_of(tmp_path) == before


def test_a_run_is_not_replaced_while_a_process_trains_it(given, tmp_path):
    model = LDA(2, max_iter=2).fit(Corpus.from_texts(["the owl", "a cat", "the cat"]))
    shutil.copytree(given / "run", tmp_path / "run")

    with (
        Workspace.inside(tmp_path / "run", "state").held("trains there"),
        pytest.raises(OutputError, match=r"/run: another process .* writes there"),
    ):
        model.save(tmp_path / "run", overwrite=True)


def test_append_finds_damage_before_it_adds_anything(given, tmp_path):
    """The remark about missing labels reads documents of the corpus."""
    work = tmp_path / "work"
    shutil.copytree(given / "corpus", work / "corpus")
    shard = work / "corpus" / "shard-00000.parquet"
    data = bytearray(shard.read_bytes())
    data[len(data) // 2] ^= 1
    shard.write_bytes(data)
    shutil.copy(given / "nights.lines", work)

    append = ["ingest", str(work / "nights.lines"), "--append", "corpus"]
    refused(append, work, "shard-00000.parquet: expected SHA-256")


def test_append_replaces_no_files_of_others(given, tmp_path):
    shutil.copytree(given / "corpus", tmp_path / "corpus")
    (tmp_path / "corpus" / "shard-00001.parquet").write_text("precious")

    found = run(["ingest", str(given / "more.jsonl"), "--append", "corpus"], tmp_path)

    assert "00001.parquet: a file that is not part of the corpus has the name" in found.stderr
    assert (tmp_path / "corpus" / "shard-00001.parquet").read_text() == "precious"


@pytest.mark.parametrize("out", ["run/state/new", "run/state/memo/out", "corpus/.append"])
def test_outputs_do_not_lie_where_commands_clear(out, interrupted, given, tmp_path):
    shutil.copytree(given / "corpus", tmp_path / "corpus")

    found = run(["ingest", str(given / "texts.jsonl"), "--out", out, "--quiet"], tmp_path)

    assert "which commands clear" in found.stderr


def test_files_of_others_in_workspaces_are_not_replaced(given, tmp_path):
    shutil.copytree(given / "corpus", tmp_path / "corpus")
    (tmp_path / "corpus" / ".append").mkdir()
    (tmp_path / "corpus" / ".append" / "thesis.txt").write_text("precious")
    words = ["--out", "corpus", "--overwrite", "--quiet"]

    found = run(["ingest", str(given / "texts.jsonl"), *words], tmp_path)

    assert "found .append, which is not part of a corpus folder" in found.stderr
    assert (tmp_path / "corpus" / ".append" / "thesis.txt").exists()


@pytest.mark.parametrize("command", ["repair /", "topics /", "corpus info /", "resume /"])
def test_the_root_is_one_line(command, tmp_path):
    found = run(command.split(), tmp_path)

    assert "Traceback" not in found.output
    assert found.exception is None or isinstance(found.exception, SystemExit)


def test_a_current_folder_that_is_gone_is_one_line(tmp_path):
    before = Path.cwd()
    (tmp_path / "gone").mkdir()
    os.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    try:
        found = CliRunner().invoke(main, ["topics", "run"])
    finally:
        os.chdir(before)

    assert found.exit_code == 1
    assert "Change to a folder that exists." in found.stderr


def test_a_division_whose_halves_are_moved_apart_is_refused(given, tmp_path):
    """A process was killed after the journal, and the user then renamed the folder of a half."""
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    halves = ["--out-train", "a/train", "--out-heldout", "b/held"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Workspace, "_move", lambda workspace: None)
        patch.setattr(Workspace, "remove", lambda workspace: None)
        run(["corpus", "split", str(given / "corpus"), *halves], tmp_path)
    (tmp_path / "b").rename(tmp_path / "c")

    for command in (["corpus", "info", "a/train"], ["repair", "a/train"]):
        found = run(command, tmp_path)
        assert found.exit_code == 1
        assert "the other half of an interrupted command" in found.stderr

    (tmp_path / "c").rename(tmp_path / "b")
    sound(["repair", "a/train"], tmp_path)
    for half in ("a/train", "b/held"):
        sound(["corpus", "validate", half], tmp_path)
    assert os.listdir(tmp_path / "a") == ["train"]
    assert os.listdir(tmp_path / "b") == ["held"]


def test_a_file_that_another_process_renames_is_no_stranger(tmp_path, monkeypatch):
    """A process that trains writes a checkpoint and renames it while another looks."""
    (tmp_path / "checkpoint").touch()
    (tmp_path / "link").symlink_to("checkpoint")
    names = ["checkpoint.part", "checkpoint"]
    monkeypatch.setattr(os, "walk", lambda folder: [(str(folder), [], names)])

    assert stranger_in(tmp_path) == ""
    names.append("link")
    assert stranger_in(tmp_path) == str(tmp_path / "link")
