"""From a checkpoint to a compiled graph."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from truedraw.engine.code_pages import drop_code
from truedraw.engine.constants.mapped import MappedConstants
from truedraw.engine.constants.replaced import Origin
from truedraw.engine.constants.store import open_stored
from truedraw.engine.constants.weights import INTEGERS, WEIGHTS, ConvertedConstants
from truedraw.engine.openvino.core import core
from truedraw.engine.openvino.graph import build, fix_rows
from truedraw.engine.openvino.ir import read_ir
from truedraw.engine.openvino.numerics import Numerics
from truedraw.engine.openvino.stateful import reason
from truedraw.engine.record_files import read_record, write_record
from truedraw.errors import BadModelFile, BadParameter
from truedraw.models import Checkpoint
from truedraw.models.fingerprint import digest_of, stamp
from truedraw.models.safetensors_weights import weight_files
from truedraw.protocol import ModelConfig
from truedraw.sampling.ranges import THREADS

STEP_BY_STEP = {"SNIPPETS_MODE": "DISABLE"}
"""Where shapes are fixed the runtime would join steps whose results are rounded in between elsewhere: other bits."""
STORE_VERSION = 2  # part of the key of stored constants: raise it when their form or their stacking changes


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
    constants = converted(checkpoint, options.policy, folder)
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


def converted(checkpoint: Checkpoint, policy: str, folder: Path) -> MappedConstants:
    """The constants of a checkpoint, from the folder or written there first; what they are of decides, to the byte."""
    assert checkpoint.weights is not None
    path = checkpoint.path.resolve()
    key = sha256("\0".join([checkpoint.fingerprint, _contents(path, folder), policy, str(STORE_VERSION)]).encode())
    source, origin = ConvertedConstants(checkpoint.weights, policy), Origin(str(path), policy, STORE_VERSION)
    name = key.hexdigest()[:32]
    return open_stored(folder, name, checkpoint.config, source, origin, before=checkpoint.check_contents)


def _contents(path: Path, folder: Path) -> str:
    """Stands for all bytes of a model's weights; they are read where they were touched since that was asked last."""
    files = [file for file in (weight_files(path) if path.is_dir() else [path]) if file.is_file()]
    record = folder / f"contents-{sha256(str(path).encode()).hexdigest()[:32]}.json"
    now = stamp(files)
    with suppress(OSError, ValueError, TypeError, KeyError):
        known = read_record(record)
        if now and known["stamp"] == now:
            return str(known["checksum"])
    found = " ".join(map(digest_of, files))
    write_record(record, {"stamp": now, "checksum": found})
    return found


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
        raise BadParameter("hidden_layers", f"{options.hidden_layers} are not all among 0 to {layers - 1}")
    if options.threads is not None:
        THREADS.check("threads", options.threads)
