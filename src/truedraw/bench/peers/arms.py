"""What every other system is asked for: n samples of one prompt, of exactly so many tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Protocol

from truedraw.errors import BadParameter
from truedraw.models import Checkpoint
from truedraw.silent_openvino import openvino

PEERS = {
    "openvino-genai": "truedraw.bench.peers.genai:ContinuousBatching",
    "transformers": "truedraw.bench.peers.hugging:Transformers",
}


class Peer(Protocol):
    """Another system with the model loaded."""

    def sample(self, tokens: Sequence[int], n: int, max_tokens: int, temperature: float) -> int:
        """Draw; the number of tokens that came back."""
        ...


def peer(name: str) -> Callable[[Checkpoint], Peer]:
    """The class behind a name; raises BadParameter for an unknown one or one that is not installed."""
    if name not in PEERS:
        raise BadParameter("peers", f"got {name!r}; choose among {', '.join(PEERS)}")
    module, _, attribute = PEERS[name].partition(":")
    openvino()  # before a peer imports it in its own way
    try:
        found: Callable[[Checkpoint], Peer] = getattr(import_module(module), attribute)
    except ImportError as error:
        raise BadParameter(
            "peers", f"{name} is not installed ({error.name}); run: pip install 'truedraw[peers]'"
        ) from error
    return found
