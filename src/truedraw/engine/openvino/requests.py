"""What runs a compiled graph: arrays in, arrays out, with as little as possible in between.

A graph's inputs are memory of our own that stays bound to the request; a call writes into it, and binds anew only what
has another shape than before. Going through the runtime's own reading of inputs takes about 0.1 ms a call more, which
is a hundredth of a small model's pass, and a fifth of a draft's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truedraw.engine.constants.bfloat16 import widened
from truedraw.silent_openvino import openvino


class Request:
    """Of one compiled model. One call at a time; arrays it returns are overwritten by the next."""

    def __init__(self, compiled: Any) -> None:
        self._request = compiled.create_infer_request()
        self._ports = {name: port for port in compiled.inputs for name in port.get_names()}
        self._places = {name: place for place, port in enumerate(compiled.outputs) for name in port.get_names()}
        self._short = {name for port in compiled.outputs if _is_short(port) for name in port.get_names()}
        self._bound: dict[str, NDArray[Any]] = {}

    def bind(self, name: str, tensor: Any) -> None:
        """An input that stays as it is."""
        self._request.set_tensor(name, tensor)

    def run(self, given: Mapping[str, NDArray[Any]]) -> None:
        """With these inputs, which are copied, and with what is bound."""
        for name, array in given.items():
            held = self._bound.get(name)
            if held is None or held.shape != array.shape:
                self._hold(name, array)
            else:
                np.copyto(held, array)
        self._request.infer(share_outputs=True)

    def output(self, name: str) -> NDArray[Any]:
        """The graph's own memory; of bfloat16, which numpy does not know, a copy in float32."""
        found = np.asarray(self._request.get_output_tensor(self._places[name]).data)
        return widened(found.view(np.uint16)) if name in self._short else found  # numpy takes it for something else

    def _hold(self, name: str, array: NDArray[Any]) -> None:
        """Memory of this shape for an input, filled."""
        held = np.array(array, self._ports[name].get_element_type().to_dtype(), order="C")
        self._request.set_tensor(name, openvino().Tensor(held, shared_memory=True))
        self._bound[name] = held


def _is_short(port: Any) -> bool:
    return bool(port.get_element_type() == openvino().Type.bf16)
