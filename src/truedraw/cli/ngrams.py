"""truedraw ngrams: build, info."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truedraw.cli.bar import progress_bar
from truedraw.cli.index import Cache, Files, Format, Json, Model, Overwrite, check_own, print_facts, tokenizer_of
from truedraw.errors import BadFile, BadParameter
from truedraw.models.catalogue import DEFAULT_MODEL
from truedraw.whole_files import check_folder

if TYPE_CHECKING:
    from truedraw.draft.ngram_lm_counts import NgramCounts
    from truedraw.draft.ngram_lm_file import Origin

app = typer.Typer(help="Counts of n-grams on disk, which the method ngram-lm draws drafts from.", no_args_is_help=True)

COUNTING = "counting"
EXAMPLES = """Examples:

truedraw ngrams build own.tdn samples.jsonl

truedraw generate "Once upon" --speculative-config '{"method": "ngram-lm", "ngram_lm_path": "own.tdn"}'
"""

Counts = Annotated[Path, typer.Argument(metavar="COUNTS", help="The counts, one file.", dir_okay=False)]
Order = Annotated[int, typer.Option("--order", help="Tokens of the longest n-grams.", min=1, max=5)]
Least = Annotated[
    int,
    typer.Option("--least", help="Leave out what is longer than two tokens and occurs fewer times than this.", min=1),
]


@app.command(epilog=EXAMPLES)
def build(  # noqa: PLR0913, PLR0917 - one parameter a flag
    counts: Counts, files: Files, model: Model = DEFAULT_MODEL, cache: Cache = None, kind: Format = "auto",
    order: Order = 5, least: Least = 1, overwrite: Overwrite = False, as_json: Json = False,
) -> None:  # fmt: skip
    """Count the n-grams of texts; those that the model wrote itself are the best. It is there whole, or not at all."""
    from truedraw.draft.index.texts import Texts
    from truedraw.draft.ngram_lm_counts import count_ngrams, without_rare
    from truedraw.draft.ngram_lm_file import Origin, write_counts

    refuse(counts, files, overwrite)
    with progress_bar() as tell:
        name, tokenizer = tokenizer_of(model, cache, tell)
        texts = joined(Texts(tokenizer, tell, name).of(files, None if kind == "auto" else kind))
        tell(COUNTING, 0, None)
        found = without_rare(count_ngrams(texts, order), least)
    if not found.num_tokens:
        raise BadFile("there is no text in these files; give files with at least one token")
    origin = Origin(name, tokenizer.fingerprint, tokenizer.vocab_size)
    write_counts(counts, found, origin, anew=not overwrite)
    print_facts(facts(counts, found, origin), as_json, readable)


@app.command()
def info(counts: Counts, as_json: Json = False) -> None:
    """What a file of counts holds. Reads all of it and compares its checksum."""
    from truedraw.draft.ngram_lm_file import read_counts

    print_facts(facts(counts, *read_counts(counts)), as_json, readable)


def refuse(counts: Path, files: Sequence[Path], overwrite: bool) -> None:
    """Raises BadParameter, BadFile where something would be lost, and where nothing could be written."""
    from truedraw.draft.ngram_lm_file import check_ours

    if counts.exists() and not overwrite:
        raise BadParameter("COUNTS", f"{counts} is there already; give another file, or --overwrite")
    check_own("COUNTS", counts, files)
    check_folder(counts, str(counts))
    check_ours(counts)


def joined(arrays: Any) -> list[Any]:
    """The texts, each in one array, of arrays with an END behind every text."""
    import numpy as np

    from truedraw.draft.index.layout import END

    words = np.concatenate([np.empty(0, np.int32), *arrays])
    ends = np.flatnonzero(words == END)
    return [text[text != END] for text in np.split(words, ends + 1)[:-1]]


def facts(path: Path, counts: NgramCounts, origin: Origin) -> dict[str, Any]:
    """For people and for JSON."""
    return {
        "counts": str(path),
        "model": origin.model,
        "tokenizer": origin.tokenizer,
        "texts": counts.num_texts,
        "tokens": counts.num_tokens,
        "order": counts.order,
        "ngrams": list(counts.levels),
        "size_bytes": path.stat().st_size,
    }


def readable(value: Any) -> str:
    """For people."""
    if isinstance(value, list):
        return ", ".join(f"{number:,} of {n}" for n, number in enumerate(value, start=1))
    return f"{value:,}" if isinstance(value, int) else str(value)
