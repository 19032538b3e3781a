"""Every loss: its gradient is the derivative of its value, by torch's own account."""

import pytest

from truedraw.distill.losses import LOSSES, blended, loss_of
from truedraw.errors import BadParameter

parity = pytest.mark.parity


def laws(seed=0, rows=7, known=11, share=0.8):
    """p, of which `share` is on known tokens, and logits of q, in double precision."""
    import torch

    chance = torch.Generator().manual_seed(seed)
    p = torch.softmax(torch.randn(rows, known, generator=chance, dtype=torch.float64), -1) * share
    return p, torch.randn(rows, known, generator=chance, dtype=torch.float64, requires_grad=True)


@parity
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("share", [1.0, 0.8, 0.3])
def test_the_gradient_is_that_of_the_value(name, share):
    import torch

    p, logits = laws(share=share)
    q = torch.softmax(logits, -1)
    LOSSES[name].value(p, q).sum().backward()
    torch.testing.assert_close(LOSSES[name].gradient(p, q.detach()), logits.grad, rtol=1e-9, atol=1e-12)


@parity
@pytest.mark.parametrize("name", LOSSES)
def test_nothing_pulls_at_a_perfect_draft(name):
    import torch

    p, _ = laws(share=1.0)
    torch.testing.assert_close(LOSSES[name].gradient(p, p.clone()), torch.zeros_like(p), rtol=0, atol=1e-12)


@parity
@pytest.mark.parametrize("name", LOSSES)
def test_a_step_against_the_gradient_lowers_the_loss(name):
    import torch

    p, logits = laws(seed=3)
    q = torch.softmax(logits, -1).detach()
    loss = LOSSES[name]
    better = torch.softmax(logits.detach() - 0.01 * loss.gradient(p, q), -1)
    if name == "tvd++":  # a surrogate: what it lowers is the chance of a rejection
        loss = LOSSES["tv"]
    assert (loss.value(p, better) < loss.value(p, q)).all()


@parity
@pytest.mark.parametrize("name", LOSSES)
def test_laws_at_the_edge_give_numbers(name):
    import torch

    p = torch.tensor([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    q = torch.tensor([[0.0, 0.5, 0.5], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    assert torch.isfinite(LOSSES[name].value(p, q)).all()
    assert torch.isfinite(LOSSES[name].gradient(p, q)).all()


@parity
def test_values_are_what_they_are_called():
    import torch

    p, logits = laws(share=1.0)
    q = torch.softmax(logits, -1)
    accepted = torch.minimum(p, q).sum(-1)
    torch.testing.assert_close(LOSSES["tv"].value(p, q), (p - q).abs().sum(-1) / 2)
    torch.testing.assert_close(LOSSES["lk"].value(p, q), -accepted.log())
    middle = torch.log((p + q) / 2)
    both = [torch.nn.functional.kl_div(middle, law, reduction="none").sum(-1) for law in (p, q)]
    torch.testing.assert_close(LOSSES["js"].value(p, q), (both[0] + both[1]) / 2)
    torch.testing.assert_close(
        LOSSES["rkl"].value(p, q), torch.nn.functional.kl_div(p.log(), q, reduction="none").sum(-1)
    )


@parity
def test_blends_are_of_both():
    import torch

    p, logits = laws()
    q = torch.softmax(logits, -1).detach()
    for name, loss in LOSSES.items():
        wanted = 0.25 * LOSSES["kl"].gradient(p, q) + 0.75 * loss.gradient(p, q)
        torch.testing.assert_close(blended(name, 0.75, p, q), wanted)
        torch.testing.assert_close(blended(name, 0.0, p, q), LOSSES["kl"].gradient(p, q))


def test_unknown_losses_are_refused():
    with pytest.raises(BadParameter, match=r"loss: got 'mse'; choose one of: kl, rkl, js, tv, tvd\+\+, lk"):
        loss_of("mse")
