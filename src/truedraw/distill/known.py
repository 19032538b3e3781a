"""The tokens that a head knows, and what the target has of them, for training."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from truedraw.distill.network import normed
from truedraw.distill.rows import Rows
from truedraw.distill.tables import Tables
from truedraw.protocol import Ints

Tensor = Any  # torch.Tensor


class Known(NamedTuple):
    """What is looked up and multiplied with; `fast` is the type of the large products.

    embedded [vocab, width]: n(e(t)). readout [known, width]: e(tokens), behind the head. output [known, width]: the
    rows that make the target's logits of its final state.
    """

    tokens: Ints
    embedded: Tensor
    readout: Tensor
    output: Tensor
    fast: Any

    def law(self, data: Rows, at: Ints, place: int = 0) -> Tensor:
        """The target's p of the known tokens [..., known] behind rows, normalised over the whole vocabulary."""
        rows = at.reshape(-1)
        logits = (data.finals(rows).to(self.fast) @ self.output.to(self.fast).T).float()
        return self.of_logits(logits, data.on(data.normaliser[rows, place])).view(*at.shape, -1)

    @staticmethod
    def of_logits(logits: Tensor, normaliser: Tensor) -> Tensor:
        """p [rows, known] of logits that may be a little off: the sum is at most 1."""
        import torch

        share = (torch.logsumexp(logits, -1) - normaliser).clamp_max(0).exp()
        return torch.softmax(logits, -1).mul_(share[:, None])


def known_of(tables: Tables, tokens: Ints, device: str = "cpu") -> Known:
    """All on a device of torch's."""
    import torch

    embedding = torch.from_numpy(tables.embedding).to(device)
    readout = embedding[torch.from_numpy(tokens).to(device)].contiguous()
    output = readout if tables.tied else torch.tensor(tables.output[tokens], device=device)
    return Known(tokens, normed(embedding), readout, output, fast_type(device))


def fast_type(device: str = "cpu") -> Any:
    """Of large products: bfloat16 on a processor that is made for it, where they take a quarter of the time."""
    import torch

    is_made = device == "cpu" and torch.ops.mkldnn._is_mkldnn_bf16_supported()
    return torch.bfloat16 if is_made else torch.float32


def bridge(known: Known) -> NDArray[np.float32]:
    """What `output` of a head begins as [width, width], so that its logits are the target's for the target's state.

    The identity where the target reads and writes with the same rows, else the least squares solution.
    """
    width = known.readout.shape[1]
    if known.output is known.readout:
        return np.eye(width, dtype=np.float32)
    found = np.linalg.lstsq(known.readout.cpu().numpy(), known.output.cpu().numpy(), rcond=None)[0]
    return np.asarray(found, np.float32)
