"""What the engine can be told, checked before anything is read."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

from truedraw.errors import BadParameter
from truedraw.sampling.ranges import THREADS

DTYPES = ("float32", "bfloat16", "float16")
WEIGHTS = ("auto", "stored")  # both are the file's own values; nothing is rounded to integers here
REFERENCE = "reference"
LONGEST_REASON = 160  # characters of what torch says
PACKAGES = ("torch", "transformers")
MISSING = "the engine pytorch needs an extra: pip install 'truedraw[torch]'"


@dataclass(frozen=True, slots=True)
class Options:
    """Raises BadParameter for what this engine, or this machine, does not have."""

    device: str = "cpu"
    dtype: str = "float32"
    numerics: str | None = None
    weights: str = "auto"
    threads: int | None = None
    hidden_layers: tuple[int, ...] = ()
    hidden_text: bool = False
    cache_bytes: int = 0
    prefix_cache_bytes: int = 0

    def __post_init__(self) -> None:
        self._check_arithmetic()
        if self.weights not in WEIGHTS:
            raise BadParameter("weights", f"{self.weights!r} is not one of {', '.join(WEIGHTS)} here")
        if self.threads is not None:
            THREADS.check("threads", self.threads)
        if self.cache_bytes < 1:
            raise BadParameter("cache_bytes", f"{self.cache_bytes} holds no text; give the bytes of all texts together")
        if self.prefix_cache_bytes:
            raise BadParameter(
                "prefix_cache_bytes",
                "nothing is kept of texts that are closed; give 0 or leave it out",
            )

    @property
    def arithmetic(self) -> str:
        """The name of the numerics: "reference" is float32 throughout, all else is called by its dtype."""
        return REFERENCE if self.dtype == "float32" else self.dtype

    def _check_arithmetic(self) -> None:
        if self.dtype not in DTYPES:
            raise BadParameter("dtype", f"{self.dtype!r} is not one of {', '.join(DTYPES)}")
        if self.numerics not in (None, self.arithmetic):
            raise BadParameter(
                "numerics",
                f"{self.numerics!r} is not what the engine pytorch computes in {self.dtype}: its rows depend in their "
                f"last bits on what else is in the pass; give {self.arithmetic!r} or leave it out",
            )


def check_installed() -> None:
    """Raises BadParameter where the extra is missing; nothing is imported for it."""
    if any(find_spec(package) is None for package in PACKAGES):
        raise BadParameter("engine", MISSING)


def check_device(device: str) -> None:
    """Raises BadParameter for a device that torch does not know or does not find, or where torch is missing."""
    try:
        import torch
    except ImportError:
        raise BadParameter("engine", MISSING) from None
    try:
        torch.zeros(1, device=device).item()
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).strip().splitlines()[0].split(". ")[0][:LONGEST_REASON]  # some list all that torch has
        raise BadParameter("device", f"{device!r} cannot be used ({reason}); give cpu, or cuda with a GPU") from error
