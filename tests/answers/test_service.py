"""The web service of the how-to, asked by its client."""

import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import sparsetopics

fastapi = pytest.importorskip("fastapi")
testclient = pytest.importorskip("fastapi.testclient", reason="needs the client of starlette")

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "serve.md"
if not PAGE.exists():
    pytest.skip("needs docs/, which the source archive leaves out", allow_module_level=True)
(SERVICE,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
UNKNOWN = "zebra of nowhere"


@pytest.fixture
def client(run_folder, monkeypatch):
    """The service as it is printed, in the folder of the run."""
    folder = run_folder.parent / "served"
    folder.mkdir()
    (folder / "run").symlink_to(run_folder)
    monkeypatch.chdir(folder)
    module = type(sys)("service")
    monkeypatch.setitem(sys.modules, "service", module)
    exec(compile(SERVICE, "service.py", "exec"), vars(module))
    with testclient.TestClient(module.app) as client:
        yield client


@pytest.fixture
def texts(vocabulary):
    words = np.random.default_rng(0).choice(vocabulary.words, (24, 8))
    return [*map(" ".join, words)]


def ask(client, texts):
    answer = client.post("/topics", json={"texts": texts})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_it_has_twenty_lines():
    assert sum(bool(line.strip()) for line in SERVICE.splitlines()) <= 20


def test_texts_get_their_topics_and_an_unknown_one_gets_none(client, run_folder, texts):
    first, unknown, empty = ask(client, [texts[0], UNKNOWN, ""])

    assert unknown == empty == []
    model = sparsetopics.load(run_folder)
    names = model.topics()["name"].to_pylist()
    expected = model.infer([texts[0]], top=5).select(["topic", "id", "proportion"]).to_pylist()
    assert first == [{"name": names[each["topic"]], **each} for each in expected]
    assert ask(client, []) == []


def test_its_health_names_the_run(client, run_folder):
    assert client.get("/health").json() == {"run": run_folder.name}


def test_threads_get_what_one_client_gets(client, texts):
    expected = ask(client, [*texts, UNKNOWN])

    with ThreadPoolExecutor(8) as pool:
        found = [*pool.map(lambda text: ask(client, [text]), [*texts, UNKNOWN] * 4)]

    assert [topics for (topics,) in found] == expected * 4


def test_half_an_emoji_is_no_word(client, texts):
    body = f'{{"texts": ["\\ud83d {texts[0]}"]}}'
    answer = client.post("/topics", content=body, headers={"content-type": "application/json"})

    assert answer.status_code == 200
    assert answer.json() == ask(client, [texts[0]])


def test_other_requests_are_refused(client):
    assert client.post("/topics", json={"texts": ["a"] * 1_001}).status_code == 422
    assert client.post("/topics", json={"texts": [None]}).status_code == 422
