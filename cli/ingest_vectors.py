"""The options of ``sparsetopics ingest`` that are for vectors."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sparsetopics.base.errors import OptionError
from sparsetopics.cli.named_path import NAMED_PATH
from sparsetopics.cli.option_groups import option_group

if TYPE_CHECKING:
    from sparsetopics.corpora.projection import PcaOptions


@dataclass(frozen=True)
class VectorChoices:
    """What the user said of vectors; None where nothing was said."""

    columns: tuple[str, ...] | None
    values_field: str | None
    patches: int | None
    stride: int | None
    pca: int | None
    whiten: bool
    seed: int
    projection: Path | None

    def pca_options(self) -> PcaOptions | None:
        from sparsetopics.corpora.projection import PcaOptions

        if self.pca is None:
            if self.whiten:
                raise OptionError("--whiten", found="no --pca", wanted="both")
            return None
        return PcaOptions(self.pca, self.whiten, self.seed)


def _names(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    return None if value is None else tuple(name.strip() for name in value.split(","))


vector_options = option_group(
    "vectors",
    VectorChoices,
    [
        click.option(
            "--columns",
            callback=_names,
            metavar="A,B,...",
            help="Vectors: columns of a table that hold the values. Default: all numeric ones.",
        ),
        click.option(
            "--values-field",
            help="Vectors: array of an .npz that holds the values. Default: values, or the only "
            "matrix.",
        ),
        click.option(
            "--patches",
            type=int,
            metavar="SIDE",
            help="Images: cut into squares of so many pixels, less their mean: SIDE² - 1 columns, "
            "the cosine transform without its constant. Default: whole images.",
        ),
        click.option(
            "--stride", type=int, help="Images: pixels from patch to patch. Default: SIDE."
        ),
        click.option(
            "--pca", type=int, metavar="D", help="Vectors: project onto the D leading components."
        ),
        click.option(
            "--whiten", is_flag=True, help="With --pca: give each component unit variance."
        ),
        click.option(
            "--seed",
            type=click.IntRange(min=0),
            default=0,
            show_default=True,
            help="With --pca: seed of the sample that it is fitted on.",
        ),
        click.option(
            "--projection",
            type=NAMED_PATH,
            help="Vectors: project as this corpus was, and read the same columns or patches.",
        ),
    ],
)
