"""What is read from the files of a model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """What an engine must know to build the graph of a decoder-only transformer."""

    architecture: str  # "llama", "qwen2" or "qwen3"
    vocab_size: int
    context_length: int
    hidden_size: int
    intermediate_size: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    rms_norm_eps: float
    rope_theta: float
    rope_scaling: dict[str, Any] | None  # as in config.json, None = plain RoPE
    tie_embeddings: bool
    qkv_bias: bool  # qwen2
    qk_norm: bool  # qwen3


@dataclass(frozen=True, slots=True)
class Packed:
    """A weight matrix as its file stores it, in codes of few bits: scale * (codes - zero) + least."""

    codes: NDArray[Any]  # [out, in], int8 or uint8 values
    scales: NDArray[np.float32]  # [out, groups]
    zero: int  # 0, 8 or 32
    bits: int  # 4, 5, 6 or 8
    least: NDArray[np.float32] | None = None  # [out, groups]; None = 0, which more kernels can hold
    nested: tuple[NDArray[Any], ...] = ()
    """What scales are products of, where the file has them so: small integers [out, groups], and float16 [out, blocks]
    that several groups share; then the same of least values, if there are any."""


class Weights(Protocol):
    """The tensors of a model by their Hugging Face names, rows = output features, rotary layout as in Hugging Face."""

    def names(self) -> list[str]:
        """For instance "model.layers.0.self_attn.q_proj.weight", "model.embed_tokens.weight"."""
        ...

    def dense(self, name: str) -> NDArray[np.float32]:
        """The tensor dequantised to float32; raises BadModelFile where the file lacks it."""
        ...

    def packed(self, name: str) -> Packed | None:
        """The tensor as stored, or None where it is stored in another form."""
        ...

    def stored_as(self, name: str) -> str:
        """ "F32", "F16", "BF16", "Q4_1", ..."""
        ...


@runtime_checkable
class ReadsInParts(Protocol):
    """Weights of which a matrix need not be there as a whole."""

    def parts(self, name: str, rows: int) -> tuple[int, Iterator[NDArray[np.float32]]]:
        """How many rows it has, and what `dense` says, so many of them at once; raises as that."""
        ...
