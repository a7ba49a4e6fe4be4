"""What a run folder holds, but for the times that no two trainings share."""

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
