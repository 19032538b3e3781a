"""From a checkpoint to a compiled graph."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from truedraw.engine.code_pages import drop_code
from truedraw.engine.constants.converted import converted
from truedraw.engine.constants.mapped import MappedConstants
from truedraw.engine.constants.weights import INTEGERS, WEIGHTS
from truedraw.engine.constants.writing import write_all
from truedraw.engine.openvino.core import core
from truedraw.engine.openvino.graph import build, fix_rows
from truedraw.engine.openvino.ir import read_ir
from truedraw.engine.openvino.numerics import Numerics
from truedraw.engine.openvino.stateful import reason
from truedraw.errors import BadModelFile, BadParameter
from truedraw.models import Checkpoint
from truedraw.protocol import ModelConfig
from truedraw.sampling.ranges import THREADS

STEP_BY_STEP = {"SNIPPETS_MODE": "DISABLE"}
"""Where shapes are fixed the runtime would join steps whose results are rounded in between elsewhere: other bits."""
FORM = "graph", 3  # of constants as `write_all` stacks them


@dataclass(frozen=True, slots=True)
class Options:
    """How to compile."""

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


def compile_checkpoint(checkpoint: Checkpoint, options: Options, folder: Path) -> tuple[Any, MappedConstants | None]:
    """(compiled model, the constants whose memory it shares: keep them as long as the model); after `check`."""
    if checkpoint.weights is None:
        properties = options.arithmetic.properties(options.threads)
        return _compiled(checkpoint, read_ir(checkpoint), properties), None
    constants = converted(checkpoint, options.policy, folder, FORM, partial(write_all, checkpoint.config))
    return compile_graph(checkpoint.config, constants, options), constants


def _compiled(checkpoint: Checkpoint, model: Any, properties: dict[str, Any]) -> Any:
    try:
        return core().compile_model(model, "CPU", properties)
    except RuntimeError as error:
        raise BadModelFile(f"{checkpoint.path} does not compile: {reason(error)}; export it again") from error


def compile_graph(
    config: ModelConfig, constants: MappedConstants, options: Options, shape: tuple[int, int] | None = None
) -> Any:
    """A compiled graph over these constants, for passes of one shape, see graph.fix_rows; None: of any."""
    model = build(config, constants, options.hidden_layers, options.hidden_text, options.arithmetic.inference)
    properties = options.arithmetic.properties(options.threads)
    if shape is not None:
        fix_rows(model, *shape)
        properties |= STEP_BY_STEP
    compiled = core().compile_model(model, "CPU", properties)
    constants.forget()
    drop_code()  # before the constants are packed, which is when most memory is held
    return compiled


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
