"""A draft head on disk: a safetensors file. Matrices are int8 codes with float32 scales, one a group of input features.

    tokens                   [tokens] int32, rising: which of the target's it can draft
    NAME.codes, NAME.scales  [out, in] int8 and [out, groups] float32, a matrix
    NAME                     float32, a gain or a bias

The rows of the target's own embedding that a head needs are not in the file: they are taken from the target.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from truedraw.draft.head.card import Card
from truedraw.engine.constants.matrix import Matrix
from truedraw.engine.constants.rounding import codes_of
from truedraw.errors import BadFile
from truedraw.protocol import Ints, ModelConfig
from truedraw.whole_files import replacing

SHIPPED = Path(__file__).parent / "shipped"
SUFFIX = ".safetensors"
METADATA, LENGTH_BYTES = "__metadata__", 8  # of a safetensors header
MOST_KNOWN = 16  # cards kept in memory


class Numbers(Protocol):
    """Where a network's numbers come from; whatever is missing or has another shape raises BadFile."""

    card: Card
    tokens: Ints  # [known] rising

    def has(self, matrix: str) -> bool:
        """Whether there is a matrix of this name."""
        ...

    def rows(self, name: str) -> int:
        """Output rows of a matrix."""
        ...

    def matrix(self, name: str, shape: tuple[int, int]) -> Matrix:
        """A matrix of this shape."""
        ...

    def vector(self, name: str, size: int) -> NDArray[np.float32]:
        """A gain or a bias [size]."""
        ...


class HeadFile:
    """The card and the numbers of one file; raises BadFile for what is missing, cut, damaged or something else."""

    def __init__(self, path: Path) -> None:
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

        self.path, self.card = path, read_card(path)
        try:
            self._arrays: Mapping[str, NDArray[Any]] = load_file(path)
        except (OSError, SafetensorError, TypeError, AttributeError) as error:  # the last two: numbers numpy lacks
            raise BadFile(f"{path} cannot be read: {error}; fetch or train it again") from error
        tokens = self._found("tokens")
        if tokens.shape != (self.card.tokens,) or tokens.dtype != np.int32 or not _rises(tokens, self.card.vocab_size):
            raise BadFile(f"{path} is damaged: its tokens are not {self.card.tokens} rising ids of its target")
        self.tokens = tokens.astype(np.int64)

    @property
    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """All that is in it, by name."""
        return self._arrays

    def matrix(self, name: str, shape: tuple[int, int]) -> Matrix:
        """A matrix of this shape; raises BadFile."""
        codes, scales = self._found(f"{name}.codes"), self._found(f"{name}.scales")
        if codes.shape != shape or codes.dtype != np.int8 or not codes.size:
            raise BadFile(f"{self.path} is damaged: {name} is {codes.dtype} {codes.shape} and should be int8 {shape}")
        whole = scales.ndim == len(shape) and len(scales) == shape[0] and scales.size and not shape[1] % scales.shape[1]
        if not whole or not np.isfinite(scales).all():
            raise BadFile(f"{self.path} is damaged: {name} should have finite scales for each of its {shape[0]} rows")
        return Matrix(codes, scales.astype(np.float32, copy=False))

    def vector(self, name: str, size: int) -> NDArray[np.float32]:
        """A gain or a bias [size]; raises BadFile."""
        found = self._found(name)
        if found.shape != (size,) or not np.isfinite(found).all():
            raise BadFile(f"{self.path} is damaged: {name} should be {size} finite numbers")
        return found.astype(np.float32)

    def rows(self, name: str) -> int:
        """Output rows of a matrix; raises BadFile."""
        shape = self._found(f"{name}.codes").shape
        return shape[0] if shape else 0

    def has(self, matrix: str) -> bool:
        """Whether there is a matrix of this name."""
        return f"{matrix}.codes" in self._arrays

    def _found(self, name: str) -> NDArray[Any]:
        if name not in self._arrays:
            raise BadFile(f"{self.path} lacks {name}; fetch or train it again")
        return self._arrays[name]


def write_head(
    path: Path, card: Card, tokens: NDArray[np.int64], matrices: Mapping[str, NDArray[np.float32]],
    vectors: Mapping[str, NDArray[np.float32]],
) -> None:  # fmt: skip
    """Matrices are quantised; see write_arrays."""
    arrays: dict[str, NDArray[Any]] = {"tokens": tokens.astype(np.int32)}
    for name, values in matrices.items():
        held = codes_of(values)
        assert held.scales is not None
        arrays |= {f"{name}.codes": held.values, f"{name}.scales": held.scales}
    arrays |= {name: np.ascontiguousarray(values, np.float32) for name, values in vectors.items()}
    write_arrays(path, card, arrays)


def write_arrays(path: Path, card: Card, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Whole or not at all, the same bytes for the same numbers. Raises BadFile where it cannot be written."""
    from safetensors.numpy import save

    with replacing(path) as fresh:
        fresh.write_bytes(with_metadata(save(dict(arrays)), card.to_metadata()))


def with_metadata(data: bytes, metadata: Mapping[str, str]) -> bytes:
    """A safetensors file with this and no other, sorted: the format's own writer gives it in any order."""
    end = LENGTH_BYTES + int.from_bytes(data[:LENGTH_BYTES], "little")
    header = json.loads(data[LENGTH_BYTES:end])
    header.pop(METADATA, None)
    text = json.dumps({METADATA: dict(sorted(metadata.items())), **header}, separators=(",", ":")).encode()
    text += b" " * (-len(text) % LENGTH_BYTES)  # the numbers behind it stay aligned
    return len(text).to_bytes(LENGTH_BYTES, "little") + text + data[end:]


def read_card(path: Path) -> Card:
    """Without the numbers; raises BadFile."""
    from safetensors import SafetensorError, safe_open

    try:
        _check_kind(path)
        with safe_open(path, "np") as file:
            return Card.from_metadata(file.metadata(), path)
    except (OSError, SafetensorError, UnicodeError) as error:
        raise BadFile(f"{path} cannot be read as a draft head: {error}; `truedraw train draft` makes one") from error


def check_ours(path: Path, flag: str) -> None:
    """Raises BadFile where something else than a draft head stands there, which would be lost."""
    if not path.exists() or not path.stat().st_size:
        return
    try:
        read_card(path)
    except BadFile as error:
        raise BadFile(f"{path} is there already and is no draft head; give another {flag}, or remove it") from error


def _check_kind(path: Path) -> None:
    """A file, or nothing yet; raises BadFile."""
    if path.exists() and not path.is_file():
        raise BadFile(
            f"{path} cannot be read as a draft head: it is {'a folder' if path.is_dir() else 'no regular file'}; "
            "`truedraw train draft` makes one, a file; --draft also takes a folder with an EAGLE draft or a "
            "Medusa checkpoint (config.json and weights)"
        )


def shipped(tokenizer: str, config: ModelConfig) -> Path | None:
    """The head that comes with truedraw for a model of this tokenizer and this shape; None: there is none."""
    found = sorted(SHIPPED.glob(f"*{SUFFIX}"))
    return next((path for path in found if _fits(_card(path), tokenizer, config)), None)


@lru_cache(maxsize=MOST_KNOWN)
def _card(path: Path) -> Card:
    return read_card(path)


def _fits(card: Card, tokenizer: str, config: ModelConfig) -> bool:
    same = card.tokenizer == tokenizer and (card.width, card.vocab_size) == (config.hidden_size, config.vocab_size)
    return same and all(0 <= layer < config.num_layers for layer in card.layers)


def _rises(tokens: NDArray[np.int32], vocab_size: int) -> bool:
    return bool(tokens[0] >= 0 and tokens[-1] < vocab_size and (np.diff(tokens) > 0).all())
