"""What a run or a topic path holds, but for the times that no two trainings share."""

import json


def files_of(run):
    """Bytes by name; of ``trace.jsonl`` and ``model.json`` the entries, without times and without
    the digests that follow from them."""
    contents = {file.name: file.read_bytes() for file in run.iterdir() if file.is_file()}
    lines = contents.pop("trace.jsonl").decode().splitlines()
    settings = json.loads(contents.pop("model.json"))
    listed = [entry for entry in settings["files"] if entry["file"] != "trace.jsonl"]
    return contents | {
        "trace": [{**json.loads(line), "seconds": None} for line in lines],
        "settings": settings | {"files": listed, "sha256": None},
    }


def path_files_of(path):
    """The entries of ``path.json``, without digests that follow from times, and ``tree.json``."""
    scores = json.loads((path / "path.json").read_text())
    return scores | {"files": None, "sha256": None}, (path / "tree.json").read_bytes()


def make_placeholder_runs(path, sizes):
    """Something to take digests of for the rungs of a topic path whose runs are not read."""
    for size in sizes:
        (path / str(size)).mkdir(exist_ok=True)
        if not (path / str(size) / "model.json").exists():
            (path / str(size) / "model.json").write_text(f'{{"n_topics": {size}}}\n')
