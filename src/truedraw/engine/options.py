"""How a model is computed on CPUs, and what goes together."""

from __future__ import annotations

from dataclasses import dataclass

from truedraw.engine.constants.weights import INTEGERS, WEIGHTS
from truedraw.engine.numerics import Numerics
from truedraw.errors import BadParameter
from truedraw.models import Checkpoint
from truedraw.sampling.ranges import THREADS


@dataclass(frozen=True, slots=True)
class Options:
    """How to compute."""

    arithmetic: Numerics
    policy: str  # how constants are kept, see constants/weights.py
    hidden_layers: tuple[int, ...] = ()
    threads: int | None = None
    hidden_text: bool = False  # of rows without logits, too


def weights_policy(weights: str, arithmetic: Numerics) -> str:
    """How constants are kept: reference arithmetic holds float32, and native groups, unless something else is named."""
    if weights not in WEIGHTS:
        raise BadParameter("weights", f"{weights!r} is not one of {', '.join(WEIGHTS)}")
    if arithmetic.native and weights == "auto":
        return "grouped"
    return "float32" if arithmetic.name == "reference" and weights not in INTEGERS else weights


def check(checkpoint: Checkpoint, options: Options) -> None:
    """Raises BadParameter for options that this checkpoint cannot be loaded with."""
    ready_made = checkpoint.weights is None
    if ready_made and options.hidden_layers:
        raise BadParameter(
            "hidden_layers", "an OpenVINO IR folder does not name its layers; open a GGUF file or a model folder"
        )
    if ready_made and options.policy in ("stored", *INTEGERS):
        raise BadParameter("weights", "an OpenVINO IR folder is run as it is; only auto is possible")
    layers = checkpoint.config.num_layers
    if any(not 0 <= layer < layers for layer in options.hidden_layers):
        raise BadParameter(
            "hidden_layers",
            f"{options.hidden_layers} are not all among 0 to {layers - 1}; a draft that reads them is another model's",
        )
    if options.threads is not None:
        THREADS.check("threads", options.threads)
