"""A GGUF file as a checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from truedraw.models.checkpoint import Checkpoint, TextParts
from truedraw.models.fingerprint import fingerprint
from truedraw.models.gguf_config import gguf_config
from truedraw.models.gguf_file import GGUFFile, read_gguf
from truedraw.models.gguf_tokenizer import build_tokenizer, check_tokenizer, describe_tokenizer, token_id
from truedraw.models.gguf_weights import GGUFWeights

if TYPE_CHECKING:
    from tokenizers import Tokenizer

ENDINGS = ("<|endoftext|>", "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>", "<|end|>")
"""Control tokens that end a text whatever the metadata say, as llama.cpp has it."""
CONTROL = 3  # the token type of control tokens


def open_gguf(name: str, path: Path) -> Checkpoint:
    """Read the head, check that everything is there; raises BadModelFile or UnsupportedModel."""
    file = read_gguf(path)
    config = gguf_config(file)
    return Checkpoint(
        name=name,
        path=path,
        kind="gguf",
        config=config,
        weights=GGUFWeights(file, config),
        text=_text(file),
        fingerprint=fingerprint([path]),
        size_bytes=path.stat().st_size,
        licence=file.metadata.get("general.license"),
    )


class _TokenizerOnce:
    """Builds the tokenizer and lets go of the vocabulary it is built from; a second call reads the file again."""

    def __init__(self, file: GGUFFile) -> None:
        self._path = file.path
        self._file: GGUFFile | None = file

    def __call__(self) -> Tokenizer:
        file, self._file = self._file or read_gguf(self._path), None
        return build_tokenizer(file)


def _text(file: GGUFFile) -> TextParts:
    check_tokenizer(file)
    metadata = file.metadata
    return TextParts(
        load_tokenizer=_TokenizerOnce(file),
        chat_template=metadata.get("tokenizer.chat_template"),
        bos_id=token_id(file, "bos"),
        eos_ids=_eos_ids(file),
        pad_id=token_id(file, "padding"),
        description=describe_tokenizer(file),
    )


def _eos_ids(file: GGUFFile) -> tuple[int, ...]:
    named = [i for i in (token_id(file, kind) for kind in ("eos", "eot", "eom")) if i is not None]
    tokens = file.metadata.get("tokenizer.ggml.tokens", [])
    types = file.metadata.get("tokenizer.ggml.token_type", [])
    known = [
        i for i, (token, kind) in enumerate(zip(tokens, types, strict=False)) if kind == CONTROL and token in ENDINGS
    ]
    return tuple(dict.fromkeys(named + known))
