"""A tiny SentencePiece vocabulary in the form a GGUF has it."""

from pathlib import Path

from truedraw.models.gguf_file import GGUFFile
from truedraw.models.gguf_tokenizer import build_tokenizer
from truedraw.text import Tokenizer

PIECES = {"▁h": -1, "el": -2, "▁hel": -3, "lo": -4, "▁hello": -5, "▁w": -6, "or": -7, "ld": -8, "▁wor": -9, "▁▁": -10}
LETTERS = "▁ehlowrd"
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
CONTROL = ["<unk>", "<s>", "</s>"]


def metadata(**changes) -> dict:
    tokens = [*CONTROL, *BYTES, *PIECES, *LETTERS]
    scores = [0.0] * (3 + 256) + [float(score) for score in PIECES.values()] + [-100.0 - i for i in range(len(LETTERS))]
    types = [2, 3, 3] + [6] * 256 + [1] * (len(PIECES) + len(LETTERS))
    values = {
        "model": "llama",
        "tokens": tokens,
        "scores": scores,
        "token_type": types,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "unknown_token_id": 0,
    }
    return {f"tokenizer.ggml.{key}": value for key, value in (values | changes).items()}


def tokenizer_of(path: Path, **changes) -> Tokenizer:
    file = GGUFFile(path, metadata(**changes), {})
    return Tokenizer(build_tokenizer(file), eos_ids=(2,), bos_id=1)
