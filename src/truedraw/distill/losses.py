"""What training minimises: divergences of a draft's law from the target's.

p [rows, known] are the target's probabilities of the tokens that a head knows: a row's sum is at most 1, for the rest
lies on tokens that the head cannot draft. q [rows, known] is the head's law, softmax(z). alpha = sum(min(p, q)) is the
chance that a draft is kept. `value` [rows] is the loss as its formula has it, up to a constant; `gradient` [rows,
known] is its derivative by z, written out and made in place: such arrays are so large that each pass over one costs as
much as a tenth of the products. A loss whose derivative by q is a has the derivative q (a - sum(q a)) by z.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from truedraw.draft.head.refit.descent import LEAST_ACCEPTED
from truedraw.errors import BadParameter

Tensor = Any  # torch.Tensor
LEAST = 1e-12  # of a probability whose logarithm is taken
LEAST_SPREAD = 0.03  # of a standard deviation that is divided by


class Loss(NamedTuple):
    """One divergence."""

    value: Callable[[Tensor, Tensor], Tensor]
    gradient: Callable[[Tensor, Tensor], Tensor]


def kl(p: Tensor, q: Tensor) -> Tensor:
    """Forward KL, KL(p || q) = sum(p log(p / q)) (Hinton et al., 1503.02531); here without what q does not change."""
    return -(p * _log(q)).sum(-1)


def kl_gradient(p: Tensor, q: Tensor) -> Tensor:
    """sum(p) q - p."""
    return (q * p.sum(-1, keepdim=True)).sub_(p)


def rkl(p: Tensor, q: Tensor) -> Tensor:
    """Reverse KL, KL(q || p) = sum(q log(q / p)) (Gu et al., MiniLLM, 2306.08543)."""
    return (q * (_log(q) - _log(p))).sum(-1)


def rkl_gradient(p: Tensor, q: Tensor) -> Tensor:
    """By q: log(q / p), and a constant."""
    return _through_softmax(q, _log(q).sub_(_log(p)))


def js(p: Tensor, q: Tensor) -> Tensor:
    """Jensen-Shannon, (KL(p || m) + KL(q || m)) / 2 with m = (p + q) / 2 (DistillSpec, 2310.08461)."""
    middle = _log((p + q) / 2)
    return (p * (_log(p) - middle) + q * (_log(q) - middle)).sum(-1) / 2


def js_gradient(p: Tensor, q: Tensor) -> Tensor:
    """By q: log(q / m) / 2."""
    return _through_softmax(q, _log(q).sub_(_log((p + q) / 2)).div_(2))


def tv(p: Tensor, q: Tensor) -> Tensor:
    """Total variation, 1 - alpha: the chance that a draft is rejected (DistillSpec, 2310.08461)."""
    return 1 - _kept(p, q)


def tv_gradient(p: Tensor, q: Tensor) -> Tensor:
    """By q: -1 where q < p. It vanishes where q is far from p, or flat: a start needs another loss."""
    return _through_softmax(q, _wanted(p, q)).neg_()


def tvdpp(p: Tensor, q: Tensor) -> Tensor:
    """TVD++ (2403.00858): total variation as a reward r = 1 where q < p, made an advantage, (r - mean) / deviation.

    Mean and deviation are those of the row under q, and are taken as constants.
    """
    return -(q * _advantage(p, q).detach()).sum(-1)


def tvdpp_gradient(p: Tensor, q: Tensor) -> Tensor:
    """By q: minus the advantage."""
    return _through_softmax(q, _advantage(p, q)).neg_()


def lk(p: Tensor, q: Tensor) -> Tensor:
    """-log(alpha) (LK losses, 2602.23881); below LEAST_ACCEPTED its tangent goes on."""
    kept = _kept(p, q)
    return 1 - kept.clamp_max(LEAST_ACCEPTED) / LEAST_ACCEPTED - kept.clamp_min(LEAST_ACCEPTED).log()


def lk_gradient(p: Tensor, q: Tensor) -> Tensor:
    """That of total variation, divided by alpha."""
    return _through_softmax(q, _wanted(p, q)).div_(-_kept(p, q).clamp_min(LEAST_ACCEPTED)[..., None])


LOSSES = {
    "kl": Loss(kl, kl_gradient),
    "rkl": Loss(rkl, rkl_gradient),
    "js": Loss(js, js_gradient),
    "tv": Loss(tv, tv_gradient),
    "tvd++": Loss(tvdpp, tvdpp_gradient),
    "lk": Loss(lk, lk_gradient),
}
"""By the names of the command line."""


def loss_of(name: str) -> Loss:
    """Raises BadParameter."""
    if name not in LOSSES:
        raise BadParameter("loss", f"got {name!r}; choose one of: {', '.join(LOSSES)}")
    return LOSSES[name]


def blended(name: str, share: float, p: Tensor, q: Tensor) -> Tensor:
    """The gradient of `share` of a loss and the rest of forward KL."""
    if share <= 0 or name == "kl":
        return kl_gradient(p, q)
    return kl_gradient(p, q).mul_(1 - share).add_(loss_of(name).gradient(p, q), alpha=share)


def _kept(p: Tensor, q: Tensor) -> Tensor:
    """alpha [rows]."""
    return p.minimum(q).sum(-1)


def _wanted(p: Tensor, q: Tensor) -> Tensor:
    """1 where q < p, of which there should be more."""
    return (q < p).to(q.dtype)


def _advantage(p: Tensor, q: Tensor) -> Tensor:
    reward = _wanted(p, q)
    mean = _mean(q, reward)
    return reward.sub_(mean).div_((mean * (1 - mean)).clamp_min(0).sqrt().clamp_min(LEAST_SPREAD))


def _through_softmax(q: Tensor, by_q: Tensor) -> Tensor:
    """In place of `by_q`."""
    return by_q.sub_(_mean(q, by_q)).mul_(q)


def _mean(q: Tensor, values: Tensor) -> Tensor:
    """sum(q values) [rows, 1]."""
    import torch

    return torch.linalg.vecdot(q, values)[..., None]


def _log(values: Tensor) -> Tensor:
    return values.clamp_min(LEAST).log()
