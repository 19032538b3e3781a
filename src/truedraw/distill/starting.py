"""Where a training begins or goes on: a head and its optimiser, out of arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from truedraw.distill.checkpoint import Arrays
from truedraw.distill.further import learnt_before
from truedraw.distill.head import Head
from truedraw.distill.kinds import network_of
from truedraw.distill.known import bridge, known_of
from truedraw.distill.network import Network, Sizes
from truedraw.distill.plan import HeadPlan
from truedraw.distill.rows import Rows
from truedraw.distill.tables import Tables

BETAS, DECAY = (0.9, 0.98), 0.02  # of AdamW
WEIGHT, MEAN, SQUARE = "weight.", "mean.", "square."  # what an array is of a weight
KNOWN, SCALE = "tokens", "scale"  # what stands beside them: tokens that a draft knows, and a head's Head.scale


def first_arrays(data: Rows, tables: Tables, plan: HeadPlan) -> Arrays:
    """Where a training begins."""
    vocab_size, width = tables.embedding.shape
    scale, network = data.scale(), network_of(plan)
    if plan.before is None:
        drawn = network.beginning(Sizes(width, data.shape.streams, plan.hidden or 0), plan.seed)
        weights: Arrays = {name: values.numpy() for name, values in drawn.items()}
        tokens = data.commonest(plan.vocabulary, vocab_size)
    else:
        weights, tokens = learnt_before(plan.before.file, network, scale, plan.seed)
    return {**{WEIGHT + name: values for name, values in weights.items()}, KNOWN: tokens, SCALE: scale}


def bridged(head: Head) -> None:
    """Let the head's output begin as `known.bridge` has it."""
    import torch

    head.network.bridge(head.weights, torch.from_numpy(bridge(head.known)), float(head.scale[-1]))


def head_of(network: Network, tables: Tables, arrays: Mapping[str, Any], device: str = "cpu") -> Head:
    """Weights that can be learnt, and what they work with, all on a device of torch's."""
    import torch

    names = (*network.matrices, *network.vectors)  # in one order always: the length of a gradient is summed in it
    weights = {name: torch.tensor(arrays[WEIGHT + name], device=device).requires_grad_() for name in names}
    scale = torch.tensor(arrays[SCALE], device=device)
    return Head(network, weights, known_of(tables, arrays[KNOWN], device), scale)


def optimiser_of(weights: Mapping[str, Any], rate: float, arrays: Mapping[str, Any], step: int) -> Any:
    """AdamW, with what it remembered after `step` steps."""
    import torch

    found = torch.optim.AdamW(list(weights.values()), lr=rate, betas=BETAS, weight_decay=DECAY)
    for name, values in weights.items() if step else ():
        mean, square = (torch.tensor(arrays[kind + name], device=values.device) for kind in (MEAN, SQUARE))
        found.state[values] = {"step": torch.tensor(float(step)), "exp_avg": mean, "exp_avg_sq": square}
    return found


def weights_in(arrays: Mapping[str, Any], names: Iterable[str]) -> Arrays:
    """The weights among arrays, in one order always: the length of a gradient is summed in it."""
    return {name: np.asarray(arrays[WEIGHT + name]) for name in sorted(names)}


def learnt_arrays(weights: Mapping[str, Any], optimiser: Any, moments: bool) -> Arrays:
    """Weights by their names, `moments`: with what their optimiser remembers."""
    found: Arrays = {}
    for name, values in weights.items():
        found[WEIGHT + name] = values.detach().cpu().numpy()
        kept = optimiser.state.get(values, {}) if moments else {}
        if kept:
            found |= {MEAN + name: kept["exp_avg"].cpu().numpy(), SQUARE + name: kept["exp_avg_sq"].cpu().numpy()}
    return found


def rounded(head: Head, arrays: Mapping[str, Any]) -> Head:
    """The head with these weights, by their names, instead of its own."""
    import torch

    weights = {
        name: torch.tensor(np.array(arrays[name], np.float32), device=head.scale.device) for name in head.weights
    }
    return head._replace(weights=weights)
