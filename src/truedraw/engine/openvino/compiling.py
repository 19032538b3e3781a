"""From a checkpoint to a compiled graph."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from truedraw.engine.code_pages import drop_code
from truedraw.engine.constants.converted import converted
from truedraw.engine.constants.mapped import MappedConstants
from truedraw.engine.constants.writing import write_all
from truedraw.engine.openvino.core import core
from truedraw.engine.openvino.graph import build, fix_rows
from truedraw.engine.openvino.ir import read_ir
from truedraw.engine.openvino.stateful import reason
from truedraw.engine.options import Options
from truedraw.errors import BadModelFile, EngineError
from truedraw.models import Checkpoint
from truedraw.protocol import ModelConfig

STEP_BY_STEP = {"SNIPPETS_MODE": "DISABLE"}
"""Where shapes are fixed the runtime would join steps whose results are rounded in between elsewhere: other bits."""
NO_ATTENTION = "AttentionExecutor creation fails"  # what the runtime says of ARM's processors without SVE
FORM = "graph", 3  # of constants as `write_all` stacks them


def compile_checkpoint(checkpoint: Checkpoint, options: Options, folder: Path) -> tuple[Any, MappedConstants | None]:
    """(compiled model, the constants whose memory it shares: keep them as long as the model); after `options.check`."""
    if checkpoint.weights is None:
        properties = options.arithmetic.properties(options.threads)
        return _compiled(checkpoint, read_ir(checkpoint), properties), None
    constants = converted(checkpoint, options.policy, folder, FORM, partial(write_all, checkpoint.config))
    return compile_graph(checkpoint.config, constants, options), constants


def _compiled(checkpoint: Checkpoint, model: Any, properties: dict[str, Any]) -> Any:
    try:
        return _on_this_processor(model, properties)
    except RuntimeError as error:
        raise BadModelFile(f"{checkpoint.path} does not compile: {reason(error)}; export it again") from error


def _on_this_processor(model: Any, properties: dict[str, Any]) -> Any:
    """Raises EngineError where the runtime has no attention for it."""
    try:
        return core().compile_model(model, "CPU", properties)
    except RuntimeError as error:
        if NO_ATTENTION not in str(error):
            raise
        raise EngineError(
            "OpenVINO has no attention for this processor (an ARM one needs SVE); load a GGUF file or a model folder "
            "with native numerics, or with the pytorch engine"
        ) from error


def compile_graph(
    config: ModelConfig, constants: MappedConstants, options: Options, shape: tuple[int, int] | None = None
) -> Any:
    """A compiled graph over these constants, for passes of one shape, see graph.fix_rows; None: of any."""
    model = build(config, constants, options.hidden_layers, options.hidden_text, options.arithmetic.inference)
    properties = options.arithmetic.properties(options.threads)
    if shape is not None:
        fix_rows(model, *shape)
        properties |= STEP_BY_STEP
    compiled = _on_this_processor(model, properties)
    constants.forget()
    drop_code()  # before the constants are packed, which is when most memory is held
    return compiled
