"""truedraw train: heads that draft for a model."""

from __future__ import annotations

import typer

from truedraw.cli import train_compare, train_draft, train_eval, train_show

app = typer.Typer(help="Train a draft for a model, on text that it wrote; measure and show one.", no_args_is_help=True)
for verb, module in ((train_draft.draft, train_draft), (train_compare.compare, train_compare)):
    app.command(verb.__name__, epilog=module.EPILOG)(verb)
app.command("eval", epilog=train_eval.EPILOG)(train_eval.evaluate)
app.command("show", epilog=train_show.EPILOG)(train_show.show)
