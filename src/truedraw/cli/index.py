"""truedraw index: build, add, info."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from truedraw.cli.bar import progress_bar
from truedraw.cli.colour import shown_safely
from truedraw.cli.written_over import identity
from truedraw.errors import BadParameter
from truedraw.models.catalogue import DEFAULT_MODEL

if TYPE_CHECKING:
    from truedraw.draft.index.header import Header
    from truedraw.draft.index.segments import Means, Tell
    from truedraw.draft.index.texts import Texts
    from truedraw.text import Tokenizer

app = typer.Typer(help="Known texts on disk, which the method suffix drafts from.", no_args_is_help=True)

EXAMPLES = """Examples:

truedraw index build own.tdx *.txt samples.jsonl

truedraw generate "Once upon" --speculative-config '{"method": "suffix", "suffix_decoding_index": "own.tdx"}'
"""

Index = Annotated[Path, typer.Argument(metavar="INDEX", help="The index, one file.", dir_okay=False)]
Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILES",
        help="Text files, and .jsonl files with texts or samples: what --output of generate and sweep wrote, for one.",
    ),
]
Model = Annotated[str, typer.Option("--model", "-m", help="Whose tokenizer; a name or path.", envvar="TRUEDRAW_MODEL")]
Cache = Annotated[
    Path | None, typer.Option(help="Folder for fetched models.", envvar="TRUEDRAW_CACHE", file_okay=False)
]
Format = Annotated[
    Literal["auto", "text", "jsonl"],
    typer.Option("--format", help="Of the files; auto: .jsonl and .ndjson are JSON lines, all else is text."),
]
Memory = Annotated[str, typer.Option("--memory", metavar="SIZE", help="To sort in, as 512M or 2G.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Make it anew where one is there already.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON value on stdout.", envvar="TRUEDRAW_JSON")]


@app.command(epilog=EXAMPLES)
def build(
    index: Index, files: Files, model: Model = DEFAULT_MODEL, cache: Cache = None, kind: Format = "auto",
    memory: Memory = "512M", overwrite: Overwrite = False, as_json: Json = False,
) -> None:  # fmt: skip
    """Make an index of texts. It is there whole at the end, or not at all."""
    from truedraw.draft.index.header import Header
    from truedraw.draft.index.writing import build as make

    check_own("INDEX", index, files)
    with progress_bar() as tell:
        name, tokenizer = tokenizer_of(model, cache, tell)
        texts, means = _parts((name, tokenizer), index, memory, tell)
        empty = Header(name, tokenizer.fingerprint)
        made = make(index, texts.of(files, _kind(kind)), empty, means, overwrite)
    print_facts(_facts(index, made), as_json, _readable)


@app.command()
def add(
    index: Index, files: Files, model: Model = DEFAULT_MODEL, cache: Cache = None, kind: Format = "auto",
    memory: Memory = "512M", as_json: Json = False,
) -> None:  # fmt: skip
    """Add texts to an index, with the tokenizer it was made with. Interrupted, it leaves the index as it was."""
    from truedraw.draft.index.writing import add as append

    check_own("INDEX", index, files)
    with progress_bar() as tell:
        name, tokenizer = tokenizer_of(model, cache, tell)
        texts, means = _parts((name, tokenizer), index, memory, tell)
        made = append(index, texts.of(files, _kind(kind)), tokenizer.fingerprint, means)
    print_facts(_facts(index, made), as_json, _readable)


@app.command()
def info(index: Index, as_json: Json = False) -> None:
    """What an index holds. Reads all of it and compares checksums."""
    from truedraw.draft.index.mapping import checked_header

    print_facts(_facts(index, checked_header(index)), as_json, _readable)


def check_own(name: str, made: Path, texts: Sequence[Path]) -> None:
    """Raises BadParameter where a file that is made is one of the texts, which would be lost."""
    if identity(made) in [identity(path) for path in texts]:
        raise BadParameter(name, f"{made} is also one of the texts; give a file of its own")


def tokenizer_of(model: str, cache: Path | None, tell: Tell) -> tuple[str, Tokenizer]:
    """(the model's name, its tokenizer); the model itself is not loaded."""
    from truedraw.models import open_checkpoint
    from truedraw.models.toy import TOY_MODEL, toy_text
    from truedraw.text import Tokenizer

    if model == TOY_MODEL:
        return TOY_MODEL, Tokenizer(toy_text().load_tokenizer())
    checkpoint = open_checkpoint(model, cache=cache, progress=tell)
    return checkpoint.name, Tokenizer.of(checkpoint)


def _parts(of: tuple[str, Tokenizer], index: Path, memory: str, tell: Tell) -> tuple[Texts, Means]:
    from truedraw.cli.sizes import bytes_of
    from truedraw.draft.index.segments import Means
    from truedraw.draft.index.texts import Texts

    name, tokenizer = of
    return Texts(tokenizer, tell, name), Means(bytes_of("--memory", memory), index.parent, tell=tell)


def _kind(given: str) -> str | None:
    return None if given == "auto" else given


def _facts(index: Path, header: Header) -> dict[str, Any]:
    from truedraw.draft.index.header import FIRST_WORD
    from truedraw.draft.index.layout import WORD_BYTES

    return {
        "index": str(index),
        "model": header.model,
        "tokenizer": header.fingerprint,
        "texts": header.num_texts,
        "tokens": header.num_tokens,
        "segments": [segment.num_suffixes for segment in header.segments],
        "size_bytes": index.stat().st_size,
        "unused_bytes": index.stat().st_size - (FIRST_WORD + header.num_live_words) * WORD_BYTES,
    }


def print_facts(facts: dict[str, Any], as_json: bool, readable: Callable[[Any], str]) -> None:
    """To stdout: one JSON object, or a line a fact."""
    if as_json:
        typer.echo(json.dumps(facts))
        return
    width = max(map(len, facts))
    for key, value in facts.items():
        typer.echo(shown_safely(f"{key.replace('_', ' '):<{width}}  {readable(value)}", sys.stdout))


def _readable(value: Any) -> str:
    if isinstance(value, list):
        return f"{len(value)}, of {', '.join(f'{tokens:,}' for tokens in value)} tokens"
    return f"{value:,}" if isinstance(value, int) else str(value)
