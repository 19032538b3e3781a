"""The storage types of ggml tensors that every version of the gguf package knows and can dequantise.

The numbers are those of the GGUF specification. They stand here so that a model whose weights were converted before
starts without that package, its imports and their memory; for other types it is asked.
"""

from __future__ import annotations

from typing import NamedTuple


class Storage(NamedTuple):
    """How one type lies in a file: blocks of `block_values` values in `block_bytes` bytes."""

    type_name: str
    block_values: int
    block_bytes: int


COMMON = {
    0: Storage("F32", 1, 4),
    1: Storage("F16", 1, 2),
    2: Storage("Q4_0", 32, 18),
    3: Storage("Q4_1", 32, 20),
    6: Storage("Q5_0", 32, 22),
    7: Storage("Q5_1", 32, 24),
    8: Storage("Q8_0", 32, 34),
    10: Storage("Q2_K", 256, 84),
    11: Storage("Q3_K", 256, 110),
    12: Storage("Q4_K", 256, 144),
    13: Storage("Q5_K", 256, 176),
    14: Storage("Q6_K", 256, 210),
    30: Storage("BF16", 1, 2),
}
COMMON_NAMES = frozenset(storage.type_name for storage in COMMON.values())


def storage_of(number: int) -> Storage | None:
    """The type with that number, None where no version installed here knows it."""
    if number in COMMON:
        return COMMON[number]
    from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType

    try:
        known = GGMLQuantizationType(number)
    except ValueError:
        return None
    return Storage(known.name, *GGML_QUANT_SIZES[known])


def can_dequantise(type_name: str) -> bool:
    """Whether the installed package has arithmetic for the type."""
    if type_name in COMMON_NAMES:
        return True
    import numpy as np
    from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType
    from gguf.quants import dequantize

    kind = GGMLQuantizationType[type_name]
    try:
        dequantize(np.zeros((1, GGML_QUANT_SIZES[kind][1]), np.uint8), kind)
    except NotImplementedError:
        return False
    return True
