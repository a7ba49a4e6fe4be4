"""``sparsetopics denoise``."""

from __future__ import annotations

from pathlib import Path

import click

from sparsetopics.base.wording import quantity
from sparsetopics.cli import shared_options as shared
from sparsetopics.cli.parameter_types import NAMED_PATH, NEW_PATH
from sparsetopics.cli.printing import say, show
from sparsetopics.options.table import NOISE


@click.command()
@click.argument("run", type=NAMED_PATH)
@click.argument("images", metavar="IMAGE...", nargs=-1, required=True)
@click.option("--out", type=NEW_PATH, required=True, help="Folder to write.")
@shared.overwrite_option("Replace the folder if it exists.")
@shared.number_option(
    "--sigma", NOISE, 25.0, "Standard deviation of the noise, where white is 255."
)
@click.option(
    "--clean",
    type=NAMED_PATH,
    help="Folder with clean images of the same names; the PSNR is computed against them.",
)
@click.option("--add-noise", is_flag=True, help="The images are clean: add noise, then remove it.")
@shared.seed_option("With --add-noise: seed of the noise.")
@shared.threads_option
@shared.json_option()
def command(
    run: Path,
    images: tuple[str, ...],
    out: Path,
    overwrite: bool,
    sigma: float,
    clean: Path | None,
    add_noise: bool,
    seed: int,
    workers: int,
) -> None:
    """Remove noise from grey images with RUN, a mixture of image patches (EPLL).

    Train RUN with --likelihood zero-mean-gaussian on images ingested with --patches and without
    --pca. An IMAGE is a file, or a folder, a .zip archive, a URL or a pattern with several. Each is
    written to OUT as a PNG file of the same name, with a picture of before and after. Colour images
    are converted to grey. If clean images are known, the PSNR is printed in dB.

    \b
    Example:
        sparsetopics ingest photos --patches 8 --stride 4 --out patches
        sparsetopics train patches --model dp-mixture --likelihood zero-mean-gaussian --out run
        sparsetopics denoise run noisy.png --sigma 25 --out restored
        sparsetopics denoise run noisy/ --clean photos --out compared
    """
    shared.check_needs({"seed": "add_noise"})
    from sparsetopics.base.outputs import output_folder
    from sparsetopics.base.own_folders import DENOISED
    from sparsetopics.corpora.sources.source_files import local_paths
    from sparsetopics.evaluation.denoising.restoration import restore_images
    from sparsetopics.runs.run import load_run

    inputs = [run, *local_paths(images), clean]
    output = output_folder(out, DENOISED, overwrite=overwrite, inputs=inputs)
    found = restore_images(
        load_run(run), images, output,
        sigma=sigma, clean=clean, with_noise=add_noise, seed=seed, workers=workers, say=say,
    )  # fmt: skip
    lines = []
    known = [(each.psnr_noisy, each.psnr) for each in found if each.psnr is not None]
    if known:
        lines.append("noisy dB  denoised dB  image")
        lines += [f"{each.psnr_noisy:>8.2f}{each.psnr:>13.2f}  {each.image}" for each in found]
        noisy, restored = (sum(values) / len(known) for values in zip(*known, strict=True))
        lines.append(f"{noisy:>8.2f}{restored:>13.2f}  mean of {len(known)}")
    lines.append(f"Wrote {quantity(len(found), 'image')} to {out}.")
    show([each._asdict() for each in found], lines)
