"""A GGUF's tables of tokens: their types, the ids that have names, and which of them end a text."""

from __future__ import annotations

from typing import Any

from truedraw.errors import BadModelFile
from truedraw.models.fields import Fields
from truedraw.models.gguf_file import GGUFFile

PREFIX = "tokenizer.ggml."
NORMAL, UNKNOWN, CONTROL, USER_DEFINED = 1, 2, 3, 4  # token types of the GGUF specification
NONE = (-1, 0xFFFFFFFF)  # an id of no token, as some converters write it
PIECES = {"bos": 1, "eos": 2, "unknown": 0}  # of SentencePiece, where the file does not say
ENDS = ("eos", "eot", "eom")
ENDINGS = (
    *("<|endoftext|>", "<|end_of_text|>", "<end_of_utterance>", "<｜end▁of▁sentence｜>", "</s>", "<eos>", "[EOS]"),
    *("<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end|>", "<end_of_turn>", "<turn|>", "<EOT>", "_<EOT>", "[EOT]"),
    *("<|return|>", "<|call|>", "<|calls|>", "<|flush|>", "<|tool_response>", "[e~["),
)
"""Control tokens and user-defined ones that end a text whatever the metadata say, as in llama.cpp, which also has those
of infilling, and words of these names."""


def token_fields(file: GGUFFile) -> Fields:
    """What its metadata say of tokens."""
    return Fields(file.path, file.metadata, PREFIX)


def table(fields: Fields, key: str, kind: type) -> list[Any]:
    """Of entries of one kind; raises BadModelFile where there is none."""
    found = fields.get(key)
    if not isinstance(found, list) or {*map(type, found)} != {kind}:
        raise BadModelFile(f"{fields.where} has no {PREFIX}{key}; the file is incomplete, fetch it again")
    return found


def token_id(file: GGUFFile, key: str) -> int | None:
    """Of "bos", "eos" and so on, where the file, which `check_tokenizer` has passed, names one."""
    return named_id(token_fields(file), key, len(file.metadata[f"{PREFIX}tokens"]))


def named_id(fields: Fields, key: str, count: int) -> int | None:
    """The same of a vocabulary of so many tokens; raises BadModelFile for an id that it lacks."""
    i = fields.get(f"{key}_token_id")
    if i is None and fields.get("model") == "llama":
        return _usual_id(fields, key, count)
    if i is None or i in NONE or (key == "padding" and isinstance(i, int) and i >= count):
        return None  # a text that is never padded can do without
    if not isinstance(i, int) or not 0 <= i < count:
        raise BadModelFile(f"{fields.where}: {key}_token_id is {i!r}, but there are {count} tokens")
    return i


def _usual_id(fields: Fields, key: str, count: int) -> int | None:
    """Of a SentencePiece vocabulary, where that is no plain piece."""
    i = PIECES.get(key, count)
    return None if i >= count or fields.get("token_type", [])[i : i + 1] == [NORMAL] else i


def ending_ids(fields: Fields) -> list[int]:
    """Those that the metadata name, and those that end a text by their own name."""
    tokens, types = table(fields, "tokens", str), fields.get("token_type", [])
    named = [i for i in (named_id(fields, key, len(tokens)) for key in ENDS) if i is not None]
    own = [i for i, kind in typed(types[: len(tokens)]) if kind in (CONTROL, USER_DEFINED) and tokens[i] in ENDINGS]
    return list(dict.fromkeys([*named, *own]))


def typed(types: list[Any]) -> list[tuple[int, Any]]:
    """(id, type) of the few tokens that are not just parts of words."""
    return [(i, kind) for i, kind in enumerate(types) if kind != NORMAL]
