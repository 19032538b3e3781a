"""The arithmetics an engine can be loaded with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from truedraw.threads.processors import threads_at_most

INVARIANT = "invariant"
"""The name of the default: of those that promise a row the same bits, the one that suits; cpu/opening.py chooses."""
FLOAT32 = "f32"


@dataclass(frozen=True, slots=True)
class Numerics:
    """How the kernels compute.

    `native` is this package's own kernels, see engine/native: activations in int8 in groups of 64, a 16-bit cache,
    float32 between. A row's bits depend on its own text alone by the way they are computed, also behind a tree's mask.

    `runtime` is OpenVINO's fast arithmetic in the setting where the order of summation does not depend on what else is
    in the pass: activations quantised to int8 in groups of 32, a 16-bit cache, never a sequence with one row, and no
    tree masks.
    An 8-bit cache would leave traces of rejected drafts, and other group sizes are either less accurate or, at 0,
    choose another kernel for few rows than for many. A processor that has no bfloat16 computes in float32 what is not
    quantised: asked for bfloat16, the runtime refuses its own cache there.

    `rowwise` is the same but for attention, to which each row is a sequence of its own. The kernel for several rows
    of a text packs all its keys and values first, the one for a lone row reads them as they are: many texts of a row
    or two are computed sooner, long prompts and long drafts later.

    `reference` is float32 throughout.
    """

    name: str
    inference: str  # precision of everything that is not quantised; see cpu/arithmetic.py for processors that lack it
    cache: str  # precision of keys and values
    group: int  # activations that share an int8 scale; 0 = activations are not quantised
    unrolled: bool  # trees path by path, see paged/parts.py: behind a mask a node's sums run over other slots
    apart: bool = False  # each row is a lane of its own, see openvino/batch.py
    native: bool = False  # not by the runtime at all
    invariant: bool = True  # whether a row's bits are to be the same whatever else is in the pass

    def properties(self, threads: int | None) -> dict[str, Any]:
        """Settings for compiling; without `threads` the runtime uses every core that this process may use."""
        most = threads_at_most() if threads is None else threads
        chosen = {} if most is None else {"INFERENCE_NUM_THREADS": most}
        return {
            "INFERENCE_PRECISION_HINT": self.inference,
            "KV_CACHE_PRECISION": self.cache,
            "DYNAMIC_QUANTIZATION_GROUP_SIZE": self.group,
            "PERFORMANCE_HINT": "LATENCY",
            "NUM_STREAMS": 1,
            **chosen,
        }


NUMERICS = {
    "native": Numerics("native", FLOAT32, "f16", 64, unrolled=False, native=True),
    "runtime": Numerics("runtime", "bf16", "f16", 32, unrolled=True),
    "rowwise": Numerics("rowwise", "bf16", "f16", 32, unrolled=True, apart=True),
    "reference": Numerics("reference", FLOAT32, FLOAT32, 0, unrolled=False, invariant=False),
}
SAME_BITS = tuple(name for name, each in NUMERICS.items() if each.invariant)
"""Those that promise a row the same bits whatever else is in the pass."""
