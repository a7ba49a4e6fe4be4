"""Digests of run and corpus folders made right again, as a stranger would who edits one."""

import hashlib
import json
from pathlib import Path

from sparsetopics.base.sealed_files import write_sealed

SEALED = ("model.json", "manifest.json", "state/plan.json")
ERRORS = (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError)


def reseal(folder):
    """Sizes and digests as the files of ``folder`` have them; damaged JSON stays as it is."""
    for name in SEALED:
        path = Path(folder) / name
        if path.is_file():
            reseal_file(path)


def reseal_file(path):
    """One file of JSON, with what it says of the files beside it."""
    try:
        content = json.loads(path.read_bytes())
        for entry in entries_of(content):
            renew(entry, path.parent)
        write_sealed(path, content, indent=1)
    except ERRORS:
        return


def entries_of(content):
    """What the JSON says of files, as far as it has the right shape."""
    for key in ("files", "shards"):
        if isinstance(content.get(key), list):
            for entry in content[key]:
                yield entry
                if isinstance(entry, dict):  # the files beside a shard
                    yield from (entry[stem] for stem in ("texts", "fields") if stem in entry)
    for key in ("vocabulary", "projection"):
        if isinstance(content.get(key), dict):
            yield content[key]


def renew(entry, folder):
    try:
        data = (folder / entry["file"]).read_bytes()
        entry |= {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    except ERRORS:
        return


def edit_json(path, **changes):
    """Change entries of sealed JSON."""
    content = json.loads(Path(path).read_text())
    write_sealed(Path(path), content | changes, indent=1)
