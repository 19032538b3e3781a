"""truedraw: samples from a language model, sooner than the model alone, with exactly the model's distribution.

from truedraw import load

model = load("smollm2-135m")
print(model.generate("Once upon a time", temperature=0.9).text)
"""

from typing import TYPE_CHECKING, Any

from truedraw.errors import TruedrawError

if TYPE_CHECKING:
    from truedraw.generate.batch import Batch
    from truedraw.generate.generation import Generation
    from truedraw.generate.loading import load
    from truedraw.generate.model import Model
    from truedraw.generate.pieces import Piece
    from truedraw.generate.request import Request
    from truedraw.generate.result import Choice, Result
    from truedraw.generate.speculation import Speculation
    from truedraw.generate.stream import Stream
    from truedraw.sampling.params import SamplingParams

__version__ = "0.1.0"
__all__ = [
    "Batch", "Choice", "Generation", "Model", "Piece", "Request", "Result", "SamplingParams", "Speculation",
    "Stream", "TruedrawError", "load",
]  # fmt: skip

_HOMES = {
    "Batch": "truedraw.generate.batch",
    "Choice": "truedraw.generate.result",
    "Generation": "truedraw.generate.generation",
    "Model": "truedraw.generate.model",
    "Piece": "truedraw.generate.pieces",
    "Request": "truedraw.generate.request",
    "Result": "truedraw.generate.result",
    "SamplingParams": "truedraw.sampling.params",
    "Speculation": "truedraw.generate.speculation",
    "Stream": "truedraw.generate.stream",
    "load": "truedraw.generate.loading",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that importing truedraw itself costs next to nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module 'truedraw' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """What is there, and what is imported when it is first used."""
    return sorted({*globals(), *__all__})
