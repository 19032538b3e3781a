"""Rotary frequencies of a config: plain, linear scaling, Llama 3 scaling."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truedraw.errors import BadModelFile, UnsupportedModel
from truedraw.protocol import Floats, ModelConfig

LLAMA3 = {"low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}
"""What every published Llama 3.1, 3.2 and 3.3 has; only the factor differs."""
FACTOR_TOLERANCE = 1e-4  # relative; a converter computes the table in float32


def inverse_frequencies(config: ModelConfig) -> Floats:
    """Radians a position, [head_dim / 2], float64."""
    plain = _plain(config.head_dim, config.rope_theta)
    scaling = config.rope_scaling
    if scaling is None:
        return plain
    if scaling["rope_type"] == "linear":
        return plain / float(scaling["factor"])
    return plain / llama3_factors(plain, scaling)


def _plain(head_dim: int, theta: float) -> Floats:
    return np.asarray(theta ** (-np.arange(0, head_dim, 2, dtype=np.float64) / head_dim))


def llama3_factors(frequencies: Floats, scaling: dict[str, Any]) -> Floats:
    """What Llama 3 divides each frequency by: 1 for short waves, `factor` for long ones, a blend between."""
    wavelengths = 2 * math.pi / frequencies
    low, high = float(scaling["low_freq_factor"]), float(scaling["high_freq_factor"])
    turns = float(scaling["original_max_position_embeddings"]) / wavelengths
    blend = np.clip((turns - low) / (high - low), 0.0, 1.0)  # 1 = leave the frequency alone
    return np.asarray(1.0 / ((1.0 - blend) / float(scaling["factor"]) + blend))


def llama3_from_factors(where: object, factors: NDArray[np.float32], theta: float) -> dict[str, Any]:
    """Read a GGUF's table of factors [head_dim / 2] back into the scaling that made it."""
    scaling = {"rope_type": "llama3", "factor": float(factors.max()), **LLAMA3}
    if not np.isfinite(factors).all() or factors.min() <= 0:
        raise BadModelFile(f"{where}: rope_freqs.weight holds numbers that are not positive; fetch the file again")
    expected = llama3_factors(_plain(2 * len(factors), theta), scaling)
    if not np.allclose(factors, expected, rtol=FACTOR_TOLERANCE, atol=0):
        raise UnsupportedModel(
            f"{where}: rope_freqs.weight is not the table of a Llama 3 model; linear and llama3 are supported"
        )
    return scaling
