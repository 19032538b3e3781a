"""A Medusa checkpoint as speculators and vLLM have it, as numbers of a head of the kind "medusa".

    config.json                      speculators                                vLLM
        which it is                  speculators_model_type "medusa"            model_type "medusa"
        sizes                        medusa_hidden_size, medusa_vocab_size      hidden_size, vocab_size
        heads and their blocks       num_heads, num_hidden_layers
        fewer tokens, or 0           truncated_vocab_size
        rows are the target's own    original_lm_head                           original_lm_head
            if that is not said      where there are no lm_heads                never
        blocks have biases           medusa_fc_bias
    safetensors, by head and layer from 0; in front of the names there may stand "medusa_heads."
        blocks.{head}.layers.{layer}.weight, .bias    [width, width], [width]
        lm_heads.{head}.weight                        [known or vocab, width], unless rows are the target's own; then
                                                      those of vLLM are not read
        d2t, t2d (speculators), token_map (vLLM)      which tokens are drafted, where these are fewer

As in own.py head number k from 0 is our level k + 1.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truedraw.draft.folder_tensors import TO_DRAFT, TO_TARGET, FolderTensors
from truedraw.draft.head.card import MEDUSA, UNKNOWN, Card
from truedraw.draft.head.medusa.names import check_heads, place
from truedraw.engine.constants.matrix import Matrix
from truedraw.engine.constants.rounding import codes_of
from truedraw.errors import BadFile
from truedraw.models.fields import Fields
from truedraw.protocol import Ints

SPECULATORS, MODEL = "speculators_model_type", "model_type"
OUTER = "medusa_heads."
TOKENS = "token_map"
OWN_ROWS, SHARED = "lm_heads.", "original_lm_head"
OURS = re.compile(r"blocks\.\d+\.layers\.(\d+)\.(?:weight|bias)|lm_heads\.\d+\.weight")
UNREAD = {"lm_head.weight", "embed_tokens.weight", "verifier_lm_head.weight", TO_TARGET, TO_DRAFT, TOKENS}
"""Copies of the target's own numbers, and maps, which are read where tokens are fewer."""


@dataclass(frozen=True, slots=True)
class Said:
    """What a config says."""

    target: str
    heads: int
    layers: int
    width: int
    vocab_size: int
    known: int  # tokens that can be drafted
    shared: bool  # it writes with the target's rows
    biased: bool

    @classmethod
    def of(cls, fields: Fields, tensors: FolderTensors) -> Said:
        """Of either format; raises BadFile."""
        theirs = fields.get(SPECULATORS) == MEDUSA
        vocab = fields.positive("medusa_vocab_size" if theirs else "vocab_size")
        fields.refuse("logit_scale", (None, 1))
        return cls(
            target=_verifier(fields.get("speculators_config")) or fields.where.parent.name,
            heads=check_heads(fields.where.parent, fields.positive(_spelled(fields, "num_heads", "heads"), 5)),
            layers=fields.positive(_spelled(fields, "num_hidden_layers", "layers"), 1),
            width=fields.positive("medusa_hidden_size" if theirs else "hidden_size"),
            vocab_size=vocab,
            known=fields.positive("truncated_vocab_size") if fields.get("truncated_vocab_size") else vocab,
            shared=_shares_rows(fields, tensors, theirs=theirs),
            biased=fields.switch("medusa_fc_bias"),
        )


def says_blocks(values: Any) -> bool:
    """Whether a config is one of these."""
    return MEDUSA in (values.get(SPECULATORS), values.get(MODEL))


class MedusaBlocks:
    """draft.head.file.Numbers of such a folder, matrices as int8; raises BadFile. Of one for more tokens than the
    `vocab_size` of its target, which is not that, only the card can be asked for."""

    def __init__(self, path: Path, fields: Fields, vocab_size: int) -> None:
        self._tensors = FolderTensors(path)
        self._tensors.rename(OUTER)
        self._said = said = Said.of(fields, self._tensors)
        if left := sorted(name for name in self._tensors if not self._is_known(name)):
            raise BadFile(f"{path} holds {', '.join(left[:3])}, which no Medusa draft that is known here has")
        if said.known > said.vocab_size:
            raise BadFile(f"{fields.where}: {said.known} tokens are drafted of a vocabulary of {said.vocab_size}")
        ids = self._drafted() if said.vocab_size <= vocab_size else np.arange(0)
        self._order = np.argsort(ids)
        self.tokens = ids[self._order]
        self.card = Card(
            MEDUSA, said.target, UNKNOWN, said.vocab_size, said.width, (), said.known, heads=said.heads
        )  # fmt: skip

    def has(self, matrix: str) -> bool:
        """See Numbers."""
        kind, _, layer = place(matrix)
        return layer < self._said.layers if kind == "block" else kind == "rows" and not self._said.shared

    def rows(self, name: str) -> int:
        """See Numbers."""
        return self._said.width if place(name)[0] == "block" else self._said.known

    def matrix(self, name: str, shape: tuple[int, int]) -> Matrix:
        """See Numbers."""
        kind, head, layer = place(name)
        if kind == "block":
            return codes_of(self._tensors.numbers(f"blocks.{head}.layers.{layer}.weight", shape))
        return codes_of(self._rows(f"lm_heads.{head}.weight", shape))

    def vector(self, name: str, size: int) -> NDArray[np.float32]:
        """See Numbers."""
        if name == "gain":
            return np.ones(size, np.float32)
        _, head, layer = place(name.removesuffix(".bias"))
        bias = f"blocks.{head}.layers.{layer}.bias"
        if bias not in self._tensors and not self._said.biased:
            return np.zeros(size, np.float32)
        return self._tensors.numbers(bias, (size,))

    def _is_known(self, name: str) -> bool:
        """Whether it is read, or need not be: a block behind the last one would make it another network."""
        found = OURS.fullmatch(name)
        return name in UNREAD or (found is not None and int(found[1] or 0) < self._said.layers)

    def _rows(self, name: str, shape: tuple[int, int]) -> NDArray[np.float32]:
        """Those of the tokens that are drafted, in their order; all of the vocabulary may be stored."""
        whole = self._said.vocab_size, shape[1]
        if self._tensors.shape(name) == whole:
            return self._tensors.numbers(name, whole)[self.tokens]
        return self._tensors.numbers(name, shape)[self._order]

    def _drafted(self) -> Ints:
        """[known] the target's ids, in the order of the rows."""
        said, tensors = self._said, self._tensors
        if said.known == said.vocab_size:
            return np.arange(said.known)
        if TOKENS in tensors:
            ids = tensors.integers(TOKENS, said.known)
            tensors.check_ids(TOKENS, ids, said.vocab_size, said.known)
            return ids
        return tensors.drafted(said.known, said.vocab_size, TOKENS)


def _shares_rows(fields: Fields, tensors: FolderTensors, *, theirs: bool) -> bool:
    """Whether the heads write with the target's rows; raises BadFile where speculators' say so and have others, which
    vLLM leaves unread."""
    own = [name for name in tensors if name.startswith(OWN_ROWS)]
    if fields.get(SHARED) is None:
        return theirs and not own
    shared = fields.switch(SHARED)
    if shared and own and theirs:
        raise BadFile(f"{tensors.path} holds {own[0]}, and {SHARED} is true; fetch it again")
    return shared


def _spelled(fields: Fields, name: str, what: str) -> str:
    """As this config calls it: for vLLM every key with "num" and `what` in it is the same."""
    others = (key for key in fields.values if "num" in key and what in key and fields.get(key) is not None)
    return name if fields.get(name) is not None else next(others, name)


def _verifier(config: Any) -> str:
    """The target's name in a config of speculators."""
    found = config.get("verifier") if isinstance(config, dict) else None
    name = found.get("name_or_path") if isinstance(found, dict) else None
    return name if isinstance(name, str) else ""
