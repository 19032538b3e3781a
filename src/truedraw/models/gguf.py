"""A GGUF file as a checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from truedraw.errors import BadModelFile
from truedraw.models.checkpoint import Checkpoint, TextParts
from truedraw.models.fingerprint import fingerprint
from truedraw.models.gguf_config import gguf_config
from truedraw.models.gguf_file import GGUFFile, read_gguf
from truedraw.models.gguf_tokenizer import build_tokenizer, check_tokenizer, describe_tokenizer
from truedraw.models.gguf_tokens import ending_ids, token_fields, token_id
from truedraw.models.gguf_weights import GGUFWeights

if TYPE_CHECKING:
    from tokenizers import Tokenizer


def open_gguf(name: str, path: Path) -> Checkpoint:
    """Read the head, check that everything is there; raises BadModelFile or UnsupportedModel."""
    file = read_gguf(path)
    config, licence = gguf_config(file), file.metadata.get("general.license")
    return Checkpoint(
        name=name,
        path=path,
        kind="gguf",
        config=config,
        weights=GGUFWeights(file, config),
        text=_text(file, config.vocab_size),
        fingerprint=fingerprint([path]),
        size_bytes=path.stat().st_size,
        licence=licence if isinstance(licence, str) else None,
    )


class _TokenizerOnce:
    """Builds the tokenizer and lets go of the vocabulary it is built from; a second call reads the file again."""

    def __init__(self, file: GGUFFile) -> None:
        self._path = file.path
        self._file: GGUFFile | None = file

    def __call__(self) -> Tokenizer:
        file, self._file = self._file or read_gguf(self._path), None
        return build_tokenizer(file)


def _text(file: GGUFFile, vocab_size: int) -> TextParts:
    """Raises BadModelFile where it has more tokens than the model."""
    check_tokenizer(file)
    if (count := len(file.metadata["tokenizer.ggml.tokens"])) > vocab_size:
        raise BadModelFile(
            f"{file.path} lists {count} tokens, and its model knows {vocab_size}; fetch it again, or convert it anew"
        )
    metadata = file.metadata
    return TextParts(
        load_tokenizer=_TokenizerOnce(file),
        chat_template=metadata.get("tokenizer.chat_template"),
        tool_template=metadata.get("tokenizer.chat_template.tool_use"),
        bos_id=token_id(file, "bos"),
        eos_ids=tuple(ending_ids(token_fields(file))),
        pad_id=token_id(file, "padding"),
        description=describe_tokenizer(file),
    )
