"""The tensors of a Hugging Face folder: *.safetensors, one or several."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truedraw.errors import BadModelFile
from truedraw.models.checkpoint import LacksWeights
from truedraw.models.fields import read_json
from truedraw.models.layout import EMBEDDING, HEAD, check_tensors
from truedraw.models.safetensors_file import StoredTensor, check_length, read_header
from truedraw.protocol import ModelConfig, Packed

WHOLE, INDEX = "model.safetensors", "model.safetensors.index.json"


class SafetensorsWeights:
    """Implements protocol.Weights; nothing is read before it is asked for, and nothing is kept.

    `beside`: what the names of tensors begin with that are no part of the model; has_beside says whether there are any.
    `config` is the one given, but for a head said to be the embedding's copy where the files have another one, which
    counts, as in transformers.
    """

    def __init__(self, folder: Path, config: ModelConfig, beside: str | None) -> None:
        self._folder = folder
        self.has_beside = False
        self._stored = {name: each for name, each in read_headers(folder).items() if not name.endswith("inv_freq")}
        if beside is not None:
            model = {name: tensor for name, tensor in self._stored.items() if not name.startswith(beside)}
            self.has_beside, self._stored = len(model) < len(self._stored), model
        if config.tie_embeddings and not self._drop_copy():
            config = replace(config, tie_embeddings=False)
        self.config = config
        check_tensors(folder, config, {name: tensor.shape for name, tensor in self._stored.items()})

    def names(self) -> list[str]:
        """Hugging Face names; no head where it is tied to the embedding."""
        return list(self._stored)

    def stored_as(self, name: str) -> str:
        """The safetensors dtype."""
        return self._find(name).dtype

    def dense(self, name: str) -> NDArray[np.float32]:
        """As float32, [out, in] or [size]."""
        return self._find(name).dense()

    def parts(self, name: str, rows: int) -> tuple[int, Iterator[NDArray[np.float32]]]:
        """See protocol.ReadsInParts."""
        return self._find(name).parts(rows)

    def packed(self, name: str) -> Packed | None:
        """None: nothing here is quantised."""
        self._find(name)
        return None

    def _drop_copy(self) -> bool:
        """Of the embedding as a head, if there is one; False: the head is another one."""
        head, table = self._stored.get(HEAD), self._stored.get(EMBEDDING)
        if head is not None and table is not None and not head.same(table):
            return False
        self._stored.pop(HEAD, None)
        return True

    def _find(self, name: str) -> StoredTensor:
        if name not in self._stored:
            raise BadModelFile(f"{self._folder} has no tensor {name!r}")
        return self._stored[name]


def weight_files(folder: Path) -> list[Path]:
    """See `weight_names`; raises BadModelFile, LacksWeights where one is not there."""
    files = [folder / name for name in weight_names(folder, [file.name for file in folder.glob("*")])]
    if not files:
        raise LacksWeights(f"{folder} holds no *.safetensors; save the model with safe_serialization=True")
    for path in files:
        if not path.is_file():
            raise LacksWeights(f"{folder} lacks {path.name}, which {INDEX} or a link names; fetch it again")
    return files


def weight_names(folder: Path, names: Collection[str]) -> list[str]:
    """Of these names the one that holds everything, else those of the folder's index, else every *.safetensors.

    So does transformers: what else lies beside them (adapters, the same weights for another program) is no part of it.
    Raises BadModelFile for an index that is none.
    """
    if WHOLE in names:
        return [WHOLE]
    if INDEX in names:
        return sorted(_indexed(folder / INDEX))
    return sorted(name for name in names if name.endswith(".safetensors"))


def _weight_map(index: Path) -> dict[str, Any]:
    table = read_json(index).get("weight_map")
    return table if isinstance(table, dict) else {}


def _indexed(index: Path) -> set[str]:
    """Names of files beside the index: a name that leads elsewhere is refused."""
    names = list(_weight_map(index).values())
    if not names or any(not isinstance(name, str) or Path(name).name != name for name in names):
        raise BadModelFile(f"{index}: weight_map must name the files beside it; fetch it again")
    return set(names)


def read_headers(folder: Path, *, integers: bool = False) -> dict[str, StoredTensor]:
    """The tensors of all files of a folder; raises BadModelFile where two files hold one and no index chooses."""
    found: dict[str, StoredTensor] = {}
    files = weight_files(folder)
    chosen = _weight_map(folder / INDEX) if len(files) > 1 and (folder / INDEX).exists() else {}
    for path in files:
        here = read_header(path, integers=integers)
        here = {name: each for name, each in here.items() if chosen.get(name, path.name) == path.name}
        if twice := sorted(found.keys() & here.keys()):
            raise BadModelFile(
                f"{twice[0]} is in {found[twice[0]].path} and in {path.name}; leave only the files of one model in "
                f"{folder}, or name them in {INDEX}"
            )
        found |= here
    return found


def check_lengths(folder: Path) -> None:
    """Raises BadModelFile where a file of weights, of whatever dtype, is not as long as its header says."""
    for path in weight_files(folder):
        check_length(path)
