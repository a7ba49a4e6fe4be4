"""The script of docs/how-to/nightly.md does a night once, however often it fails and is repeated.

``mail`` is a stand-in that notes how it is called, and so is ``sparsetopics``, except in one test.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from sparsetopics.cli.main import main
from worlds.streams import N_THEMES, around_event, draw_stream, own_word

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "nightly.md"
if not PAGE.exists():
    pytest.skip("needs docs/, which the source archive leaves out", allow_module_level=True)
BASH = shutil.which("bash")
if BASH is None or shutil.which("flock") is None:
    pytest.skip("needs bash and flock", allow_module_level=True)
STAND_IN = """#!/bin/bash
# Fails instead if the file `fails` holds its name; then it also leaves the work half done.
set -eu
name=$(basename "$0")
for word in "$@"; do
    case $word in ingest | update | diff) name=$word ;; esac
done
for word in "$@"; do
    if [ "$name" = ingest ] && [[ $word == */taken/bad* ]]; then exit 1; fi
done
if [ "$(cat fails)" = "$name" ]; then
    if [ "$name" = update ]; then mkdir -p "${@: -1}/state"; fi
    exit 1
fi
echo "$name" >> calls
case $name in
    ingest) basename "${@: -6:1}" >> corpus ;;
    update) mkdir -p "${@: -1}"; touch "${@: -1}/model.json" ;;
    diff) echo "${@: -5:2}"; exit "$(cat says)" ;;
    date) cat today ;;
    mail) cat >> mails ;;
esac
"""


@pytest.fixture
def night(tmp_path, monkeypatch):
    """Run the script in a folder with a run of the day before; return its status."""
    monkeypatch.chdir(tmp_path)
    (script,) = re.findall(r"```bash\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    waiting = script.replace("flock --wait 60", "flock --wait 0.1")
    Path("nightly.sh").write_text(waiting, encoding="utf-8")
    Path("bin").mkdir()
    for name in ("sparsetopics", "mail", "date"):
        Path("bin", name).write_text(STAND_IN, encoding="utf-8")
        Path("bin", name).chmod(0o755)
    for name in ("new", "taken", "done", "runs/2026-06-01"):
        Path(name).mkdir(parents=True)
    Path("runs/2026-06-01/model.json").touch()
    Path("new/a.jsonl").touch()

    def run(today="2026-06-02", *, fails="", says=3, path=os.environ["PATH"]):
        for name, content in {"today": today, "fails": fails, "says": says}.items():
            Path(name).write_text(f"{content}\n")
        places = {"PATH": f"{tmp_path}/bin:{path}", "TOPICS_HOME": str(tmp_path)}
        environment = os.environ | places | {"TOPICS_HOOK": ""}
        return subprocess.run([BASH, "nightly.sh"], env=environment, check=False).returncode

    return run


def lines(name):
    return Path(name).read_text().splitlines() if Path(name).exists() else []


def compared(first, second):
    return [f"{Path.cwd()}/runs/{first} {Path.cwd()}/runs/{second}"]


def test_a_night_tells_what_has_changed(night):
    assert night() == 0

    assert [call for call in lines("calls") if call != "date"] == [
        *("ingest", "update", "diff", "mail"),
    ]
    assert lines("mails") == compared("2026-06-01", "2026-06-02")
    assert os.listdir("done") == ["a.jsonl"]
    assert not os.listdir("taken")


def test_a_night_in_which_nothing_changes_tells_nothing(night):
    assert night(says=0) == 0

    assert lines("told") == ["2026-06-02"]
    assert not lines("mails")


def test_a_night_without_documents_makes_no_run(night):
    Path("new/a.jsonl").unlink()

    assert night() == 0
    assert lines("calls") == ["date"]


@pytest.mark.parametrize("fails", ["", "update", "diff", "mail"])
def test_a_bad_file_holds_up_no_other_and_is_not_forgotten(night, fails):
    for name in ("bad.jsonl", "z.csv"):
        Path("new", name).touch()

    if fails:
        assert night(fails=fails) == 1
    assert night() == 1
    assert night() == 1

    assert os.listdir("refused") == ["bad.jsonl"]
    assert sorted(os.listdir("done")) == ["a.jsonl", "z.csv"]
    assert {*lines("corpus")} == {"a.jsonl", "z.csv"}
    assert lines("mails") == compared("2026-06-01", "2026-06-02")

    assert night("2026-06-03") == 1
    Path("refused/bad.jsonl").rename("new/mended.jsonl")
    assert night("2026-06-03") == 0
    assert sorted(os.listdir("done")) == ["a.jsonl", "mended.jsonl", "z.csv"]


def test_if_no_file_can_be_read_all_are_tried_again(night):
    Path("new/a.jsonl").rename("new/bad.jsonl")

    assert night() == 1
    assert os.listdir("taken") == ["bad.jsonl"]
    assert not Path("runs/2026-06-02").exists()

    Path("new/b.jsonl").touch()
    assert night("2026-06-03") == 1
    assert (os.listdir("refused"), os.listdir("done")) == (["bad.jsonl"], ["b.jsonl"])


def test_a_night_that_can_tell_nobody_does_not_begin(night):
    Path("bin/mail").unlink()
    for name in ("bash", "basename", "cat", "flock", "mkdir", "mv"):
        Path("bin", name).symlink_to(shutil.which(name))

    assert night(path="") == 1
    assert os.listdir("new") == ["a.jsonl"]


@pytest.mark.parametrize("next_day", ["2026-06-02", "2026-06-03"])
@pytest.mark.parametrize("fails", ["ingest", "update", "diff", "mail"])
def test_a_night_that_failed_is_made_up_for(night, fails, next_day):
    assert night(fails=fails) == 1
    Path("new/b.jsonl").touch()

    assert night(next_day) == 0
    assert night(next_day) == 0

    assert lines("mails") == compared("2026-06-01", next_day)
    assert lines("told") == [next_day]
    has_run = fails in ("diff", "mail") and next_day == "2026-06-02"  # b waits for the next night
    assert sorted(os.listdir("done")) == (["a.jsonl"] if has_run else ["a.jsonl", "b.jsonl"])
    assert os.listdir("new") == (["b.jsonl"] if has_run else [])


def test_two_nights_at_once_are_refused(night):
    with subprocess.Popen(["flock", "lock", "sleep", "60"]) as holder:
        while subprocess.run(["flock", "-n", "lock", "true"], check=False).returncode == 0:
            pass
        assert night() == 1
        holder.kill()


def test_the_first_run_has_to_be_trained(night):
    shutil.rmtree("runs/2026-06-01")

    assert night() == 1


def test_a_real_night_tells_of_a_theme_that_has_arrived(night):
    stream = around_event(draw_stream("arrives", 0, n_first=300, n_nights=22), 0, 1)
    for number, name in enumerate(("archive.jsonl", "new/a.jsonl")):
        texts = [
            json.dumps({"id": f"{number}-{n}", "text": " ".join(words)})
            for n, words in enumerate(stream.nights[number])
        ]
        Path(name).write_text("\n".join(texts))
    shutil.rmtree("runs/2026-06-01")
    quick = ("--model", "lda", "--topics", "10", "--laps", "8", "--quiet")
    for words in (
        ("ingest", "archive.jsonl", "--out", "corpus", "--quiet"),
        ("train", "corpus", *quick, "--out", "runs/2026-06-01"),
    ):
        assert CliRunner().invoke(main, words).exit_code == 0
    command = f'#!/bin/bash\nexec {sys.executable} -m sparsetopics.cli "$@"\n'
    Path("bin/sparsetopics").write_text(command)

    assert night() == 0
    assert night() == 0

    told = lines("mails")
    (unfitted,) = (line for line in told if line.startswith("No topic fits: "))
    assert own_word(N_THEMES, 0)[:7] in unfitted
    assert lines("told") == ["2026-06-02"]
    assert sorted(os.listdir("runs")) == ["2026-06-01", "2026-06-02"]
    assert lines("calls").count("mail") == 1
    assert "From 2026-06-01 to 2026-06-02" in Path("changes.html").read_text(encoding="utf-8")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_the_units_are_valid(night, tmp_path):
    units = re.findall(r"```ini\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    script = tmp_path / "nightly.sh"
    script.chmod(0o755)
    names = ("topics.service", "topics.timer")
    for name, text in zip(names, units, strict=True):
        Path(name).write_text(text.replace("/usr/local/bin/nightly.sh", str(script)))

    verify = ["systemd-analyze", "verify", *names]
    done = subprocess.run(verify, check=False, capture_output=True, text=True)

    assert (done.returncode, done.stderr) == (0, "")
