"""``sparsetopics denoise``: from images to a mixture of patches to restored images."""

import json
import shutil
from itertools import product

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.fft import idctn

import reference_denoising
from sparsetopics.base.sealed_files import write_sealed
from sparsetopics.cli.main import main
from sparsetopics.evaluation.denoising.denoising import BETAS, denoise
from sparsetopics.evaluation.denoising.restoration import patch_prior
from sparsetopics.runs.run import load_run

Image = pytest.importorskip("PIL.Image", reason="Pillow reads images")


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def textured(seed, side=48):
    """Bars of several directions and widths, smooth between them, as bytes."""
    rng = np.random.default_rng(seed)
    down, right = np.mgrid[0:side, 0:side]
    image = np.zeros((side, side))
    for _ in range(4):
        angle, width = rng.uniform(0, np.pi), rng.uniform(5, 14)
        image += np.tanh(2 * np.sin((np.cos(angle) * right + np.sin(angle) * down) / width))
    image = (image - image.min()) / (image.max() - image.min())
    return np.rint(255 * image).astype(np.uint8)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Images to learn from and others to restore, and a run."""
    folder = tmp_path_factory.mktemp("denoise")
    for name, seeds in (("train", range(6)), ("test", range(10, 12))):
        (folder / name).mkdir()
        for seed in seeds:
            Image.fromarray(textured(seed)).save(folder / name / f"{seed}.png")
    patches = ("--patches", 4, "--stride", 2, "--out", folder / "patches")
    assert run("ingest", folder / "train", *patches).exit_code == 0
    options = ("--model", "mixture", "--topics", 4, "--likelihood", "zero-mean-gaussian")
    trained = run("train", folder / "patches", *options, "--out", folder / "run", "--quiet")
    assert trained.exit_code == 0, trained.output
    return folder


def refused(world, *arguments):
    """The one line that says why; nothing is written."""
    found = run("denoise", *arguments, "--out", world / "refused")
    assert found.exit_code == 1
    assert not (world / "refused").exists()
    (line,) = [line for line in found.output.splitlines() if line.startswith("Error")]
    return line


def test_noise_that_is_added_is_mostly_removed(world, tmp_path):
    images = sorted((world / "test").iterdir())

    found = run("denoise", world / "run", *images, "--add-noise", "--json", "--out", tmp_path / "o")

    records = json.loads(found.stdout)
    assert [record["image"] for record in records] == [str(image) for image in images]
    for record in records:
        assert record["psnr_noisy"] == pytest.approx(20.17, abs=0.3)
        assert record["psnr"] > record["psnr_noisy"] + 4
    written = {path.name for path in (tmp_path / "o").iterdir()}
    assert written == {f"{n}{end}.png" for n in (10, 11) for end in ("", "-before-after")}
    assert np.asarray(Image.open(tmp_path / "o" / "10.png")).shape == (48, 48)


def test_a_noisy_image_is_restored_and_compared_with_the_clean_one(world, tmp_path):
    noisy = textured(10) + 25 * np.random.default_rng(0).standard_normal((48, 48))
    Image.fromarray(np.clip(noisy, 0, 255).astype(np.uint8)).save(tmp_path / "10.png")
    out = ("--out", tmp_path / "o")

    found = run("denoise", world / "run", tmp_path / "10.png", "--clean", world / "test", *out)
    alone = run("denoise", world / "run", tmp_path / "10.png", "--json", *out, "--overwrite")

    assert found.exit_code == 0
    assert "noisy dB  denoised dB  image" in found.output
    assert json.loads(alone.stdout)[0]["psnr"] is None


def test_the_same_seed_and_any_number_of_workers_give_the_same_bytes(world, tmp_path):
    image = world / "test" / "10.png"
    for workers, name in ((1, "a"), (2, "b")):
        out = ("--out", tmp_path / name, "--workers", workers)
        assert run("denoise", world / "run", image, "--add-noise", *out).exit_code == 0

    assert (tmp_path / "a" / "10.png").read_bytes() == (tmp_path / "b" / "10.png").read_bytes()


def test_what_cannot_be_denoised_is_refused(world, tmp_path):
    image, other = world / "test" / "10.png", tmp_path / "10.png"
    Image.fromarray(textured(3)).save(other)
    tiny = tmp_path / "tiny.png"
    Image.fromarray(textured(0, side=3)).save(tiny)
    text = tmp_path / "text.png"
    text.write_text("no image")
    trained = world / "run"

    assert "--sigma: must be from 1e-06 to 1e+06, but is 0.0." in refused(
        world, trained, image, "--sigma", 0
    )
    told = refused(world, trained, image, other)
    assert f"{image} and {other} would be written to the same file. Rename one" in told
    assert "--clean: cannot be combined with --add-noise" in refused(
        world, trained, image, "--add-noise", "--clean", world / "test"
    )
    assert "must be at least 4 x 4 pixels, one patch" in refused(world, trained, tiny)
    assert "text.png" in refused(world, trained, text)
    assert "No such file" in refused(world, trained, image, "--clean", tmp_path / "none")
    assert "expected a run folder" in refused(world, world / "test", image)


def test_the_prior_of_a_run_restores_as_a_plain_twin_in_pixels(world):
    trained = load_run(world / "run")
    noisy = textured(10)[:12, :11] / 255 + np.random.default_rng(1).normal(0, 0.1, (12, 11))
    frequencies = sorted(product(range(4), repeat=2), key=lambda f: (f[0] ** 2 + f[1] ** 2, f))
    units = np.zeros((15, 4, 4))
    units[np.arange(15), *np.transpose(frequencies[1:])] = 1.0
    patches = idctn(units, axes=(1, 2), norm="ortho").reshape(15, 16)  # one a coordinate
    covariances = patches.T @ trained.model.normals.covariances @ patches

    found = denoise(noisy, 0.1, patch_prior(trained))

    weights = trained.model.weights
    twin = reference_denoising.denoise(noisy, 0.1, weights, covariances, BETAS)
    np.testing.assert_allclose(found, twin, atol=1e-7)
    assert np.abs(found - noisy).max() > 0.1


def trained_on(folder, sources, *options, likelihood="zero-mean-gaussian"):
    """A run of two components on the corpus that the options make."""
    assert run("ingest", *sources, "--out", folder / "c", *options).exit_code == 0
    options = ("--model", "mixture", "--topics", 2, "--likelihood", likelihood, "--laps", 2)
    assert run("train", folder / "c", *options, "--quiet", "--out", folder / "r").exit_code == 0
    return folder / "r"


@pytest.mark.parametrize(
    ("source", "options"),
    [
        ("v.npy", ("--pca", 3)),
        ("v.npy", ()),  # as many columns as patches of 4 x 4 have
        ("train", ("--patches", 4, "--pca", 15)),
        ("small", ("--pca", 3)),
    ],
)
def test_a_mixture_of_something_else_is_refused(world, tmp_path, source, options):
    np.save(world / "v.npy", np.random.default_rng(0).standard_normal((50, 15)))
    (world / "small").mkdir(exist_ok=True)
    for seed in range(6):  # which are whole items, and quickly compared
        Image.fromarray(textured(seed, side=8)).save(world / "small" / f"{seed}.png")
    other = trained_on(tmp_path, [world / source], *options)

    line = refused(world, other, world / "test" / "10.png")

    assert "expected a zero-mean-gaussian mixture of image patches" in line


def test_a_run_of_topics_is_refused(world, hdp_folder):
    line = refused(world, hdp_folder, world / "test" / "10.png")

    expected = "expected a zero-mean-gaussian mixture of image patches"
    assert f"{expected}, but found a run of --model hdp. Ingest with --patches" in line


def test_patches_under_another_likelihood_are_refused(world, tmp_path):
    other = trained_on(tmp_path, [world / "train"], "--patches", 4, likelihood="gaussian")

    line = refused(world, other, world / "test" / "10.png")

    assert "found a gaussian mixture of 15 columns" in line


@pytest.mark.parametrize("made", [None, {"basis": "dct"}, {"basis": "dct", "patches": "4"}])
def test_a_run_that_does_not_say_what_its_columns_are_is_refused(world, tmp_path, made):
    shutil.copytree(world / "run", tmp_path / "run")
    settings = json.loads((tmp_path / "run" / "model.json").read_text())
    settings["corpus"]["made"] = made
    write_sealed(tmp_path / "run" / "model.json", settings)

    line = refused(world, tmp_path / "run", world / "test" / "10.png")

    wanted = (
        "corpus.made: expected a JSON object, but found None"
        if made is None
        else "found a zero-mean-gaussian mixture of 15 columns"
    )
    assert wanted in line


def test_folders_archives_and_patterns_of_images_are_restored(world, tmp_path):
    photos = tmp_path / "photos"
    shutil.copytree(world / "test", photos / "sub")
    shutil.copy(world / "train" / "0.png", photos / "0.PNG")
    (photos / "notes.md").write_text("#")
    shutil.make_archive(str(tmp_path / "packed"), "zip", photos)
    expected = {"0.png", "sub/10.png", "sub/11.png"}
    expected |= {name.replace(".png", "-before-after.png") for name in expected}

    for number, source in enumerate((photos, tmp_path / "packed.zip")):
        out = tmp_path / f"o{number}"
        found = run("denoise", world / "run", source, "--add-noise", "--json", "--out", out)
        assert found.exit_code == 0, found.output
        assert "Left out 1 file: 1 .md (notes.md)." in found.stderr
        assert len(json.loads(found.stdout)) == 3
        assert {str(p.relative_to(out)) for p in out.rglob("*.png")} == expected

    again = ("denoise", world / "run", tmp_path / "photos" / "sub" / "1*.png", "--out", out)
    assert run(*again, "--overwrite", "--clean", photos / "sub").exit_code == 0
    assert {path.name for path in out.iterdir()} == {
        f"1{n}{end}.png" for n in (0, 1) for end in ("", "-before-after")
    }


def test_clean_images_are_found_in_the_same_subfolders(world, tmp_path):
    shutil.copytree(world / "test", tmp_path / "noisy" / "sub")
    shutil.copytree(world / "test", tmp_path / "clean" / "sub")
    out = ("--clean", tmp_path / "clean", "--json", "--out", tmp_path / "o")

    found = run("denoise", world / "run", tmp_path / "noisy", *out)

    assert all(record["psnr"] > 20 for record in json.loads(found.stdout))


def test_folders_that_cannot_be_denoised_are_refused(world, tmp_path):
    twice = tmp_path / "twice"
    shutil.copytree(world / "test", twice)
    shutil.copy(twice / "10.png", twice / "11-before-after.png")
    (tmp_path / "empty").mkdir()
    (tmp_path / "a.tar").write_bytes(b"")

    assert "would be written to the same file" in refused(world, world / "run", twice)
    assert "holds no files" in refused(world, world / "run", tmp_path / "empty")
    assert "files packed as .tar are not read" in refused(world, world / "run", tmp_path / "a.tar")
    found = run("denoise", world / "run", twice, "--out", twice / "o")
    assert f"the output lies inside the input '{twice}'" in found.output
