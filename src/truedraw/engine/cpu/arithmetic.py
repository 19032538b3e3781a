"""The arithmetics as this processor has them."""

from __future__ import annotations

from dataclasses import replace

from truedraw.compiled_for import IS_ARM
from truedraw.engine.numerics import FLOAT32, INVARIANT, NUMERICS, Numerics
from truedraw.engine.openvino.core import computes
from truedraw.errors import BadParameter


def numerics(name: str) -> Numerics:
    """That of a name which is not `invariant`; raises BadParameter."""
    if name not in NUMERICS:
        raise BadParameter("numerics", f"{name!r} is not one of {', '.join((INVARIANT, *NUMERICS))}")
    found = NUMERICS[name]
    if IS_ARM and not found.native:  # on which the runtime keeps keys and values in float32, or in 8 bits
        found = replace(found, cache=FLOAT32)
    return found if found.inference == FLOAT32 or computes(found.inference) else replace(found, inference=FLOAT32)
