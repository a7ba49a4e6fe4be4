"""``sparsetopics export``."""

from __future__ import annotations

import json
from pathlib import Path

import click


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--to", "target", type=click.Choice(["gensim"]), required=True, help="Format.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="File to write.")
@click.option("--overwrite", is_flag=True, help="Replace the files if they exist.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(run: Path, target: str, out: Path, overwrite: bool, as_json: bool) -> None:
    """Write the model of RUN in the format of another toolkit.

    gensim: a model for `LdaModel.load(OUT)`, with its side files OUT.state, OUT.id2word and
    OUT.expElogbeta.npy, and its dictionary for `Dictionary.load("OUT.dictionary")`. The weights of
    an HDP's topics become its uneven alpha. These are gensim's own formats and so Python pickles:
    load only those that you trust.

    \b
    Example:
        sparsetopics export run --to gensim --out run.gensim
    """
    from sparsetopics.gensim_export import check_gensim_output, to_gensim, write_gensim
    from sparsetopics.runs import load_run

    check_gensim_output(out, overwrite=overwrite)
    trained = load_run(run)
    exported = to_gensim(
        trained.model, trained.vocabulary, trained.n_training_documents, trained.n_laps
    )
    write_gensim(exported, out, overwrite=overwrite)
    click.echo(json.dumps({"path": str(out)}) if as_json else f"Wrote {out} for {target}.")
