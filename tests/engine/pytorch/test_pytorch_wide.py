"""Thousands of texts at once are what each is alone: tokens, laws, hidden states."""

from __future__ import annotations

import numpy as np
import pytest

from engine.decoder import tiny_checkpoint
from truedraw.protocol import Proposal, Work

pytestmark = pytest.mark.parity
LAYERS = (0,)
PROMPTS = ([5, 6, 7], [9], [11, 12, 13, 14, 15, 16, 17, 18], [5, 6, 7, 8, 9, 10])


@pytest.fixture(scope="module")
def engine():
    from truedraw.engine.pytorch import PyTorchEngine

    return PyTorchEngine.load(tiny_checkpoint(), hidden_layers=LAYERS)


@pytest.fixture(scope="module")
def network(engine):
    from truedraw.distill.wide.stage import writer_of

    found = writer_of(engine.model)
    assert found.config._attn_implementation == "truedraw_grouped"
    return found


def greedy(engine, prompt, most, ends):
    """One text by the engine, a token a pass."""
    sequence, found = engine.open(prompt), []
    while len(found) < most and not (found and found[-1] in ends):
        found.append(int(engine.forward([Work(sequence)])[0].logits[-1].argmax()))
        sequence.commit([found[-1]])
    sequence.close()
    return found


@pytest.mark.parametrize("looks", [1, 3, 16])
def test_texts_that_grow_together_are_what_each_is_alone(engine, network, monkeypatch, looks):
    from truedraw.engine.pytorch.wide import Drawing, Wanted, drawing

    monkeypatch.setattr(drawing, "LOOK_EVERY", looks)
    monkeypatch.setattr(drawing, "PART", 3)  # of the prompts in a pass
    most = [12, 30, 7, 25]
    free = [greedy(engine, prompt, count, ()) for prompt, count in zip(PROMPTS, most, strict=True)]
    ends = {free[1][3], free[3][9]}  # some end early, so that columns are let go
    wanted = [Wanted(prompt, count, 0.0) for prompt, count in zip(PROMPTS, most, strict=True)]
    found = Drawing(network, ends).continued(wanted, seed=1)
    assert found == [greedy(engine, prompt, count, ends) for prompt, count in zip(PROMPTS, most, strict=True)]
    assert len({len(each) for each in found}) > 1


def test_the_same_seed_gives_the_same_texts_and_another_one_others(network):
    from truedraw.engine.pytorch.wide import Drawing, Wanted

    wanted = [Wanted([5, 6], 20)] * 8
    one, again, other = (Drawing(network, ()).continued(wanted, seed) for seed in (1, 1, 2))
    assert one == again != other
    assert len({tuple(each) for each in one}) == len(one)


@pytest.mark.parametrize(("temperature", "top_p"), [(1.0, 1.0), (0.5, 1.0), (1.0, 0.7), (2.0, 0.35)])
def test_tokens_are_drawn_from_the_law(temperature, top_p):
    import torch
    from scipy.stats import chisquare

    from truedraw.engine.pytorch.wide.sampling import drawn

    logits = torch.tensor([1.0, 0.2, -0.5, 2.0, -30.0, 1.9]).half()
    p = torch.softmax(logits.double() / temperature, -1).numpy()
    order = np.argsort(-p)
    kept = order[: 1 + int((p[order].cumsum() < top_p).sum())]
    law = np.zeros_like(p)
    law[kept] = p[kept] / p[kept].sum()
    count = 40_000
    noise = torch.Generator().manual_seed(7)
    settings = (torch.full((count,), each) for each in (temperature, top_p))
    found = np.bincount(drawn(logits.expand(count, -1), *settings, noise).numpy(), minlength=len(p))
    assert not found[law == 0].any()
    likely = law * count > 5
    assert chisquare(found[likely], law[likely] / law[likely].sum() * found[likely].sum()).pvalue > 1e-4


def test_a_flat_law_keeps_more_tokens_than_are_looked_at_first(monkeypatch):
    """Beside others that keep fewer."""
    import torch

    from truedraw.engine.pytorch.wide import sampling

    monkeypatch.setattr(sampling, "LIKELIEST", 8)
    p = torch.softmax(
        torch.randn(40, 200, generator=torch.Generator().manual_seed(5)) * torch.linspace(0.01, 9, 40)[:, None], -1
    )
    top_p = torch.linspace(0.2, 1.0, 40).flip(0)
    found, kept = sampling._truncated(p, top_p), []
    for row, most, weights in zip(p, top_p, found, strict=True):
        ordered = row.sort(descending=True).values
        kept.append(int((ordered.cumsum(0) - ordered < most).sum()))
        assert torch.equal(weights, row.where(row >= ordered[kept[-1] - 1], 0))
    assert min(kept) < 8 < max(kept)


def test_texts_of_one_batch_may_have_laws_of_their_own():
    import torch

    from truedraw.engine.pytorch.wide.sampling import drawn

    logits = torch.tensor([0.0, 1.0, 0.5]).expand(3000, -1)
    temperature = torch.tensor([0.0, 1.0, 1.0]).repeat(1000)
    top_p = torch.tensor([1.0, 0.4, 1.0]).repeat(1000)
    found = drawn(logits, temperature, top_p, torch.Generator().manual_seed(1)).view(-1, 3)
    assert set(found[:, 0].tolist()) == {1}
    assert set(found[:, 1].tolist()) == {1}
    assert set(found[:, 2].tolist()) == {0, 1, 2}


def test_what_is_seen_of_texts_is_what_the_engine_returns(engine, network, monkeypatch):
    from truedraw.engine.pytorch.taps import Taps
    from truedraw.engine.pytorch.wide import seeing

    monkeypatch.setattr(seeing, "FEW_NUMBERS", 16 * engine.vocab_size)
    monkeypatch.setattr(seeing, "LOGITS", 3)
    texts, seen = [*map(list, PROMPTS), list(range(20, 33))], {}
    for found in seeing.seen(network, Taps(network, LAYERS), texts, (1.0, 0.7)):
        for place, number in enumerate(found.texts):
            seen[number] = [each[place, : len(texts[number])].numpy() for each in found[1:]]
    assert sorted(seen) == list(range(len(texts)))
    for text, (features, top, normaliser) in zip(texts, map(seen.get, range(len(texts))), strict=True):
        scores = engine.forward([Work(engine.open(text[:1]), Proposal.chain(text[1:]))])[0]
        np.testing.assert_allclose(features, scores.hidden, rtol=1e-4, atol=1e-4)
        np.testing.assert_array_equal(top, scores.logits.argmax(1))
        for place, temperature in enumerate((1.0, 0.7)):
            wanted = np.log(np.exp(scores.logits.astype(np.float64) / temperature).sum(1))
            np.testing.assert_allclose(normaliser[:, place], wanted, rtol=1e-5, atol=1e-5)


def test_padding_is_no_matter_in_half_precision(engine):
    """A score far below 0 beside the lowest number there is would be no number."""
    import torch

    from truedraw.distill.wide.stage import copied
    from truedraw.engine.pytorch.casting import cast_weights
    from truedraw.engine.pytorch.wide import Drawing, Wanted

    network = copied(engine.model)
    for name, values in network.named_parameters():
        if "q_proj" in name:
            values.data *= 200
    half = cast_weights(network, torch.float16)
    short, long = Wanted([5, 6, 7], 8, 0.0), Wanted(list(range(40, 70)), 8, 0.0)
    together = Drawing(half, ()).continued([short, long], seed=0)
    assert together == [Drawing(half, ()).continued([each], seed=0)[0] for each in (short, long)]


def test_logits_that_are_no_numbers_are_told(engine):
    import torch

    from truedraw.distill.wide.stage import copied
    from truedraw.engine.pytorch.wide import Drawing, Wanted
    from truedraw.errors import EngineError

    network = copied(engine.model)
    next(network.parameters()).data[9, 0] = torch.nan
    with pytest.raises(EngineError, match="no finite numbers in float32"):
        Drawing(network, ()).continued([Wanted([9, 9], 4), Wanted([5], 4)], seed=0)
