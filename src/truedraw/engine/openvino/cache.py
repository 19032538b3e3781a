"""The cache of a compiled graph: its inputs that hold keys and values, and the pages behind them."""

from __future__ import annotations

from typing import Any

from truedraw.engine.paged.page_memory import Tensors
from truedraw.engine.paged.pages import PagePool
from truedraw.engine.paged.pools import pool_of
from truedraw.silent_openvino import openvino


def make_pool(compiled: Any, cache_bytes: int, prefix_cache_bytes: int = 0) -> tuple[PagePool, dict[str, Any]]:
    """The pool, and the tensors to bind, by input name, for a compiled model; raises as pool_of does."""
    ov = openvino()

    ports = _ports(compiled)
    shapes = [tuple(dim.get_length() for dim in list(port.get_partial_shape())[1:]) for port in ports]
    kind = ports[0].get_element_type()
    pool, memory = pool_of(Tensors, shapes, kind.size, cache_bytes, prefix_cache_bytes)
    tensors = {
        port.get_any_name(): ov.Tensor(tensor, ov.Shape((len(tensor), *shape)), kind)
        for port, shape, tensor in zip(ports, shapes, memory.tensors, strict=True)
    }
    return pool, tensors


def _ports(compiled: Any) -> list[Any]:
    """The inputs that hold keys and values: key_cache.0, value_cache.0, key_cache.1, ..."""
    return [port for port in compiled.inputs if "_cache." in port.get_any_name()]
