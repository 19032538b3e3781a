"""The tensors of a GGUF file under their Hugging Face names, dequantised when asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from truedraw.errors import BadModelFile, UnsupportedModel
from truedraw.models.ggml_types import can_dequantise
from truedraw.models.gguf_file import GGUFFile
from truedraw.models.gguf_packed import READERS
from truedraw.models.layout import EMBEDDING, HEAD, Shape, check_tensors
from truedraw.protocol import ModelConfig, Packed

OUTER = {"token_embd.weight": EMBEDDING, "output_norm.weight": "model.norm.weight", "output.weight": HEAD}
INNER = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
ELSEWHERE = ("rope_freqs.weight",)
"""Tensors that the config speaks of already."""
ROWS_AT_ONCE = 2048  # rows dequantised in one go: the temporary copies stay small beside the tensor itself


def hugging_face_name(name: str) -> str:
    """The name a tensor has in Hugging Face; an unknown one stays as it is."""
    block = re.fullmatch(r"blk\.(\d+)\.(\w+)\.(weight|bias)", name)
    if block and block[2] in INNER:
        return f"model.layers.{block[1]}.{INNER[block[2]]}.{block[3]}"
    return OUTER.get(name, name)


class GGUFWeights:
    """Implements protocol.Weights; nothing is read before it is asked for, and nothing is kept."""

    def __init__(self, file: GGUFFile, config: ModelConfig) -> None:
        self._file = replace(file, metadata={})  # the vocabulary there takes more memory than all the rest
        self._config = config
        self._stored = {hugging_face_name(name): name for name in file.tensors if name not in ELSEWHERE}
        for name in {*file.tensors} - {*ELSEWHERE, *self._stored.values()}:
            raise BadModelFile(
                f"{file.path} has {name!r} twice, the other as {self._stored[hugging_face_name(name)]!r}"
            )
        check_tensors(file.path, config, {name: self._shape(name) for name in self._stored})
        for type_name in {self.stored_as(name) for name in self._stored}:
            _check_type(file, type_name)

    def names(self) -> list[str]:
        """Hugging Face names; no head where it is tied to the embedding."""
        return list(self._stored)

    def stored_as(self, name: str) -> str:
        """The ggml type."""
        return self._file.tensors[self._find(name)].type_name

    def dense(self, name: str) -> NDArray[np.float32]:
        """Dequantised by the gguf package, [out, in] or [size]."""
        shape = self._shape(name)
        rows, parts = self.parts(name, ROWS_AT_ONCE)
        result = np.empty((rows, shape[-1]), np.float32)
        for number, part in enumerate(parts):
            result[number * ROWS_AT_ONCE : number * ROWS_AT_ONCE + len(part)] = part
        return result.reshape(shape)

    def parts(self, name: str, rows: int) -> tuple[int, Iterator[NDArray[np.float32]]]:
        """See protocol.ReadsInParts."""
        from gguf.constants import GGMLQuantizationType
        from gguf.quants import dequantize

        data, kind = self._rows(name), GGMLQuantizationType[self.stored_as(name)]
        starts = range(0, len(data), rows)
        return len(data), (dequantize(np.ascontiguousarray(data[at : at + rows]), kind) for at in starts)

    def packed(self, name: str) -> Packed | None:
        """The types that gguf_packed.py knows; None of all others."""
        read = READERS.get(self.stored_as(name))
        return None if read is None else read(self._rows(name))

    def _find(self, name: str) -> str:
        if name not in self._stored:
            raise BadModelFile(f"{self._file.path} has no tensor {name!r}")
        return self._stored[name]

    def _shape(self, name: str) -> Shape:
        return self._file.tensors[self._find(name)].shape

    def _rows(self, name: str) -> NDArray[np.uint8]:
        """Raw rows [out, bytes], rotary rows in Hugging Face's order."""
        data = self._file.raw(self._find(name))
        order = self._rotary_order(name)
        return data if order is None else data[order]

    def _rotary_order(self, name: str) -> NDArray[np.int64] | None:
        """Where each row of Q or K stands in the file.

        Converters of the llama architecture turn the two halves of a head into neighbouring pairs, as ggml
        rotates them; Hugging Face rotates halves. The other architectures are stored as they are.
        """
        part = re.search(r"self_attn\.([qk])_proj", name)
        if part is None or self._config.architecture != "llama":
            return None
        heads = self._config.num_heads if part[1] == "q" else self._config.num_kv_heads
        rows = np.arange(heads * self._config.head_dim).reshape(heads, self._config.head_dim // 2, 2)
        return rows.swapaxes(1, 2).reshape(-1)


def _check_type(file: GGUFFile, type_name: str) -> None:
    """Refuse a type the gguf package has no arithmetic for, before any long work."""
    if not can_dequantise(type_name):
        raise UnsupportedModel(
            f"{file.path} holds tensors stored as {type_name}, which the installed gguf package cannot read; "
            "convert the file, for instance to Q8_0"
        )
