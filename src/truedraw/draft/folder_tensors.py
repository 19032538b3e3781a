"""The tensors of a folder with somebody's draft, read when they are asked for; what is wrong is named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from truedraw.draft.torch_file import read_torch
from truedraw.errors import BadFile
from truedraw.models.safetensors_file import DTYPES, INTEGERS
from truedraw.models.safetensors_weights import read_headers
from truedraw.protocol import Ints, Logits

TO_TARGET, TO_DRAFT = "d2t", "t2d"
"""Maps of tokens: what is added to an id of the draft to get the target's, and which of the target's are drafted."""


WHOLE = "pytorch_model.bin"


class Tensor(Protocol):
    """A tensor of a file."""

    @property
    def dtype(self) -> str:
        """As safetensors calls it."""
        ...

    @property
    def shape(self) -> tuple[int, ...]:
        """Its sizes."""
        ...

    def dense(self) -> NDArray[np.float32]:
        """Its numbers."""
        ...

    def integers(self) -> Ints:
        """Those of a map of tokens."""
        ...


class FolderTensors:
    """Of all safetensors files of a folder, or of its pytorch_model.bin, by name.

    Raises BadFile for what is missing, cut or something else.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stored = dict(_stored(path))

    def __contains__(self, name: str) -> bool:
        return name in self._stored

    def __iter__(self) -> Iterator[str]:
        return iter(self._stored)

    def shape(self, name: str) -> tuple[int, ...]:
        """Its sizes."""
        return self._found(name).shape

    def keep(self, beginning: str) -> None:
        """Only those whose names begin like that; the others are somebody else's."""
        self._stored = {name: each for name, each in self._stored.items() if name.startswith(beginning)}

    def rename(self, dropped: str) -> None:
        """Without what some names have in front; raises BadFile where there are both."""
        renamed = {name.removeprefix(dropped): each for name, each in self._stored.items()}
        if len(renamed) < len(self._stored):
            raise BadFile(f"{self.path} holds tensors twice, with {dropped} in front of their names and without")
        self._stored = renamed

    def numbers(self, name: str, shape: tuple[int, ...]) -> Logits:
        """Of a tensor of this shape, float32."""
        stored = self._found(name)
        if stored.shape != shape:
            raise BadFile(f"{self.path} is damaged: {name} is {stored.shape}, and its settings say {shape}")
        if stored.dtype not in DTYPES:
            raise BadFile(f"{self.path} is damaged: {name} is {stored.dtype} and should be floats")
        found = stored.dense()
        if not np.isfinite(found).all():
            raise BadFile(f"{self.path} is damaged: {name} holds numbers that are not finite")
        return found

    def integers(self, name: str, size: int) -> Ints:
        """Of a map [size]."""
        stored = self._found(name)
        if stored.shape != (size,) or stored.dtype not in INTEGERS:
            raise BadFile(
                f"{self.path} is damaged: {name} is {stored.dtype} {stored.shape}, it should be {size} integers"
            )
        return stored.integers()

    def drafted(self, known: int, vocab_size: int, *others: str) -> Ints:
        """[known] the target's ids of the draft's own tokens, by the maps TO_TARGET and TO_DRAFT, if there are any.

        They may be missing where all are drafted, or be left as they were made, zeros. `others`: what else could have
        named them.
        """
        if known == vocab_size and TO_TARGET in self and not self.integers(TO_TARGET, known).any():
            return np.arange(known)
        named = np.flatnonzero(self.integers(TO_DRAFT, vocab_size)) if TO_DRAFT in self else None
        if TO_TARGET not in self and named is None and known != vocab_size:
            *some, last = TO_TARGET, TO_DRAFT, *others
            maps = f"{', '.join(some)} or {last}"
            raise BadFile(
                f"{self.path} drafts {known} tokens and lacks the tensor that names them: {maps}; fetch it again"
            )
        if TO_TARGET not in self:
            ids = np.arange(known) if named is None else named
            self.check_ids(TO_DRAFT, ids, vocab_size, known)
            return ids
        ids = np.arange(known) + self.integers(TO_TARGET, known)
        self.check_ids(TO_TARGET, ids, vocab_size, known)
        if named is not None and not np.array_equal(named, np.sort(ids)):
            raise BadFile(f"{self.path} is damaged: {TO_DRAFT} and {TO_TARGET} do not name the same tokens")
        return ids

    def check_ids(self, name: str, ids: Ints, vocab_size: int, known: int) -> None:
        """Of a map: raises BadFile where they are not `known` different tokens of the target."""
        if known < 1 or len(ids) != known or len(np.unique(ids)) != known or ids.min() < 0 or ids.max() >= vocab_size:
            raise BadFile(f"{self.path} is damaged: {name} does not name {known} different tokens of {vocab_size}")

    def _found(self, name: str) -> Tensor:
        if name not in self._stored:
            raise BadFile(f"{self.path} lacks the tensor {name}; fetch or train it again")
        return self._stored[name]


def _stored(path: Path) -> Mapping[str, Tensor]:
    """Those of torch's file are read only where there are no safetensors."""
    files = sorted(each.name for each in path.glob(f"{Path(WHOLE).stem}*.bin"))  # others are what training leaves
    if not files or [*path.glob("*.safetensors")]:
        return read_headers(path, integers=True)
    if WHOLE not in files:
        raise BadFile(
            f"{path} has its weights in {files[0]} and others; of torch's files only {WHOLE} is read, with all in it: "
            "convert others to safetensors (load them with torch, then safetensors.torch.save_file)"
        )
    return read_torch(path / WHOLE, integers=True)
