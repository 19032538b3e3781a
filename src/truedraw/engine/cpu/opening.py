"""From a checkpoint to what runs its passes."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from truedraw.engine.code_pages import drop_code, trim_heap
from truedraw.engine.constants.converted import converted
from truedraw.engine.constants.mapped import MappedConstants
from truedraw.engine.cpu.arithmetic import numerics
from truedraw.engine.cpu.ready_made import check_ready_made
from truedraw.engine.numerics import INVARIANT, Numerics
from truedraw.engine.openvino.cache import make_pool
from truedraw.engine.openvino.compiling import compile_checkpoint
from truedraw.engine.openvino.runner import Runner
from truedraw.engine.options import Options, check
from truedraw.engine.paged.page_memory import WholePages
from truedraw.engine.paged.pools import pool_of
from truedraw.engine.paged.runs import Runs
from truedraw.errors import BadParameter, EngineError, UnsupportedModel
from truedraw.models import Checkpoint
from truedraw.models.layout import ARCHITECTURES
from truedraw.protocol import ModelConfig

if TYPE_CHECKING:
    from truedraw.engine.native.runner import NativeRunner

SHORT_BYTES = 2  # of a bfloat16


def open_runner(
    checkpoint: Checkpoint, options: Options, folder: Path, room: tuple[int, int]
) -> tuple[Runs, MappedConstants | None]:
    """And the constants, None where a ready-made graph has them; room: bytes of the cache, of these for idle pages."""
    check(checkpoint, options)
    if options.arithmetic.native:
        return _native(checkpoint, options, folder, room)
    if checkpoint.weights is None:
        check_ready_made(checkpoint, folder, options.threads)
    return paged_runner(checkpoint, options, folder, room)


def paged_runner(
    checkpoint: Checkpoint, options: Options, folder: Path, room: tuple[int, int]
) -> tuple[Runner, MappedConstants | None]:
    """The same by the runtime's own kernels."""
    compiled, constants = compile_checkpoint(checkpoint, options, folder)
    return Runner(compiled, checkpoint.config, make_pool(compiled, *room), keep=constants), constants


def arithmetic_of(name: str, checkpoint: Checkpoint, weights: str) -> Numerics:
    """By its name; `invariant` is this package's own kernels where they suit. Raises BadParameter."""
    if name != INVARIANT:
        return numerics(name)
    return numerics("native" if weights in ("auto", "int8") and _suits(checkpoint) else "runtime")


def _suits(checkpoint: Checkpoint) -> bool:
    from truedraw.engine.native import machine

    try:
        check_kernels(checkpoint.config)
    except UnsupportedModel:
        return False
    return machine.HAS_PRODUCTS and machine.HAS_HALVES and checkpoint.weights is not None


def _native(
    checkpoint: Checkpoint, options: Options, folder: Path, room: tuple[int, int]
) -> tuple[NativeRunner, MappedConstants]:
    from truedraw.engine.native.heads import SLOTS
    from truedraw.engine.native.runner import NativeRunner
    from truedraw.engine.native.weights import FORM, read_laid, write_laid
    from truedraw.threads.crew import crew_of, threads_of

    _check_native(checkpoint, options)
    config = checkpoint.config
    constants = converted(checkpoint, options.policy, folder, FORM, partial(write_laid, config))
    shape = config.num_kv_heads, SLOTS, config.head_dim
    pool, memory = pool_of(WholePages, [shape] * (2 * config.num_layers), SHORT_BYTES, *room)
    heads = 2 * config.num_layers * config.num_kv_heads
    cache = memory.pages.view(np.uint16).reshape(-1, heads, SLOTS * config.head_dim)
    drop_code()  # what has loaded the kernels, before the weights are held
    trim_heap()  # what converting them has left
    with constants.forgetting():
        weights = read_laid(constants)
    crew = crew_of(threads_of(options.threads))
    runner = NativeRunner(config, weights, pool, cache, crew, options.hidden_layers, options.hidden_text)
    return runner, constants


def _check_native(checkpoint: Checkpoint, options: Options) -> None:
    """Raises BadParameter, EngineError or UnsupportedModel for what is not to be had by the kernels of this package."""
    from truedraw.engine.native import machine

    if checkpoint.weights is None:
        raise BadParameter("numerics", "an OpenVINO IR folder is run by OpenVINO; open a GGUF file or a model folder")
    if options.policy == "stored":
        raise BadParameter("weights", "native numerics compute with integers; give auto, int8 or int4")
    if not machine.HAS_HALVES:
        raise EngineError("native numerics need a processor that knows float16 (F16C); load it with runtime numerics")
    check_kernels(checkpoint.config)


def check_kernels(config: ModelConfig) -> None:
    """Raises UnsupportedModel for what the kernels of this package do not compute."""
    from truedraw.engine.native.instructions import WIDE

    if config.architecture not in ARCHITECTURES:
        raise UnsupportedModel(
            f"native numerics know {', '.join(ARCHITECTURES)}; this model is {config.architecture!r}: load it with "
            "runtime numerics, or with the pytorch engine"
        )
    if config.head_dim % WIDE:
        raise UnsupportedModel(
            f"native numerics compute heads of whole {WIDE}s, and those of this model have {config.head_dim} places: "
            "load it with runtime numerics"
        )
