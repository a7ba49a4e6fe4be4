"""The gallery shows what its commands make today."""

import importlib.util
import re
from pathlib import Path

import matplotlib
import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "docs" / "gallery.py"
if not SCRIPT.is_file():
    pytest.skip("needs docs/, which the source archive leaves out", allow_module_level=True)
MOST_BYTES = {".png": 300_000, ".svg": 100_000}
PICTURE = re.compile(r"!\[[^\]]+\]\((?:docs/)?(gallery/[\w.-]+)\)")


@pytest.fixture(scope="module")
def gallery():
    spec = importlib.util.spec_from_file_location("gallery", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def made(gallery, tmp_path_factory):
    """A folder with all that the commands of the gallery write."""
    folder = tmp_path_factory.mktemp("gallery")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        gallery.run_commands()
    return folder


def test_every_picture_is_small_described_and_shown(gallery):
    shown = set()
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        shown |= set(PICTURE.findall(page.read_text(encoding="utf-8")))
    pictures = list(gallery.PICTURES.iterdir())
    assert shown == {f"gallery/{path.name}" for path in pictures}
    for path in pictures:
        assert path.stat().st_size < MOST_BYTES[path.suffix], path


def test_pages_have_the_parts_that_pictures_show(gallery, made):
    pictures = {path.stem for path in gallery.PICTURES.glob("*.png")}
    assert pictures == set(gallery.PARTS)
    for page, selector in gallery.PARTS.values():
        text = (made / page).read_text(encoding="utf-8")
        if selector:
            assert f'id="{selector[1:].split()[0]}"' in text


def test_figures_have_the_same_bytes_again(gallery, made):
    new = {path.name: path.read_text(encoding="utf-8") for path in made.glob("*.svg")}
    old = {path.name: path.read_text("utf-8") for path in gallery.PICTURES.glob("*.svg")}
    assert set(new) == set(old)
    if any(f"Matplotlib v{matplotlib.__version__}" not in text for text in old.values()):
        pytest.skip("the figures of docs/gallery were drawn by another version of matplotlib")
    assert new == old, "run: python docs/gallery.py"
