"""The network in torch and its training: plain formulas, resumption, what goes wrong, what the drafter makes of it."""

from dataclasses import replace

import numpy as np
import pytest

from distill.conftest import VOCAB, quiet, run, without_an_array
from distill.eagle.conftest import CONFIG, SHAPE
from draft.eagle.showing import law
from draft.given_trees import Given
from engine.decoder import softmax
from truedraw.bench.draft_eval.replay import Following
from truedraw.distill.checkpoint import read_checkpoint
from truedraw.distill.eagle import learner as module
from truedraw.distill.eagle.evaluation import kept_in, measured
from truedraw.distill.eagle.export import export
from truedraw.distill.eagle.gradients import gradient
from truedraw.distill.eagle.learner import EagleLearner, eagle_training
from truedraw.distill.eagle.stage import drafted
from truedraw.distill.eagle.starting import first_weights
from truedraw.distill.eagle.unrolling import Unrolling
from truedraw.distill.export import Target
from truedraw.distill.gradients import Blend
from truedraw.distill.halves import as_run
from truedraw.distill.losses import LOSSES
from truedraw.distill.plan import EAGLE3, HeadPlan, Limits
from truedraw.distill.preparing import Prepared
from truedraw.distill.texts import Gathered
from truedraw.draft.eagle.checkpoint import EagleFolder
from truedraw.draft.eagle.drafter import EagleDrafter
from truedraw.draft.eagle.network import CompiledNetwork
from truedraw.engine.constants.matrix import Matrix
from truedraw.errors import BadFile, TrainingError
from truedraw.protocol import NOTHING, Scores, TextRows

pytestmark = pytest.mark.parity
PLAN = HeadPlan(hidden=6, vocabulary=9, loss="lk", seed=3, rate=5e-3, kind=EAGLE3)
SURVIVAL = (1.0, 0.5, 0.2)
EXACT, ROUNDED = 1e-2, 0.06
"""Of logits, as a share of the largest: of a file of float16, and of int8 activations where both have int8 weights."""


@pytest.fixture(autouse=True)
def one_thread_in_full(monkeypatch):
    """Threads that wait for one another take longer than such small products; bfloat16 has few digits."""
    import torch

    from truedraw.engine.pytorch.running import running

    monkeypatch.setattr(module, "fast_type", lambda: torch.float32)
    with running(1):
        yield


def shaken(learner):
    """No weight is what it was at the beginning, no gain is 1."""
    import torch

    chance = torch.Generator().manual_seed(1)
    for values in learner.weights.values():
        values.data += 0.2 * torch.randn(values.shape, generator=chance)
    return learner


class Plain:
    """Logits of a draft's chain behind one base, row by row, by the formulas of draft/eagle/network.py."""

    def __init__(self, learner) -> None:
        self.t, self.known, self.data = learner.weights, learner.draft.known, learner.texts.data

    def chain(self, rows, base, steps):
        """[known] behind each draft, for a text's rows in the store and a base's place among them."""
        import torch

        tokens = [int(self.data.tokens[row]) for row in rows]
        h = [self.start(torch.tensor(self.data.features[row, :-1]).float().flatten()) for row in rows[: base + 1]]
        found = []
        for step in range(steps):
            z = self.layer(torch.stack(h), tokens[1 : len(h) + 1])
            rows_out = self.known.readout @ self.t["output"]
            found.append(rows_out @ self.norm(z, "norm"))
            h.append(z)
            if base + step + 2 >= len(tokens):
                break
        return found

    def start(self, features):
        return self.t["fc.weight"] @ self.norm(features, "input_norm")

    def norm(self, x, name):
        return x / (x.pow(2).mean(-1, keepdim=True) + 1e-5).sqrt() * self.t[f"{name}.weight"]

    def layer(self, h, tokens):
        """z of the last row."""
        import torch

        e = self.known.embedded[tokens]
        a = torch.cat([self.norm(e, "layers.0.input_layernorm"), self.norm(h, "layers.0.hidden_norm")], 1)
        q, k, v = ((a @ self.t[f"layers.0.self_attn.{part}_proj.weight"].T).view(len(h), -1, 4) for part in "qkv")
        q, k = self.turned(q)[-1], self.turned(k)
        mixed = [torch.softmax(k[:, head // 2] @ q[head] / 2, 0) @ v[:, head // 2] for head in range(4)]
        y = h[-1] + self.t["layers.0.self_attn.o_proj.weight"] @ torch.cat(mixed)
        inner = self.norm(y, "layers.0.post_attention_layernorm")
        gate = self.t["layers.0.mlp.gate_proj.weight"] @ inner
        up = self.t["layers.0.mlp.up_proj.weight"] @ inner
        return y + self.t["layers.0.mlp.down_proj.weight"] @ (gate * torch.sigmoid(gate) * up)

    def turned(self, x):
        import torch

        angles = torch.outer(torch.arange(len(x)), torch.tensor([1.0, 0.01]))[:, None]
        low, high = x.chunk(2, -1)
        cos, sin = angles.cos(), angles.sin()
        return torch.cat([low * cos - high * sin, high * cos + low * sin], -1)


def test_the_gradient_is_that_of_drafts_unrolled_one_by_one(material):
    import torch

    learner = shaken(EagleLearner(material, CONFIG, PLAN))
    texts, draft = material.texts, learner.draft
    numbers = texts.learnt[[4, 20, 7]].tolist()
    batch = texts.batch(numbers)
    seen = gradient(draft, texts.data, batch, Blend("lk", 0.85, SURVIVAL), look=True)
    found = {name: values.grad.clone() for name, values in learner.weights.items()}
    for values in learner.weights.values():
        values.grad = None
    plain, total, kept, counts, bases = Plain(learner), 0, np.zeros(3), np.zeros(3), len(batch.bases)
    for base in range(bases):
        at = int(batch.bases[base])
        text = int(np.searchsorted(batch.ends, at, "right"))
        begin = 0 if text == 0 else int(batch.ends[text - 1])
        rows = batch.rows[begin : batch.ends[text]]
        for position, logits in enumerate(plain.chain(rows, at - begin, 3), 1):
            if position == 3 and base % 2:
                continue
            p = draft.known.law(texts.data, rows[[at - begin + position]])
            q = torch.softmax(logits[None], -1)
            loss = 0.15 * LOSSES["kl"].value(p, q) + 0.85 * LOSSES["lk"].value(p, q)
            some = bases if position < 3 else -(-bases // 2)
            total = total + SURVIVAL[position - 1] * loss.sum() / some
            kept[position - 1] += p.minimum(q).sum().item()
            counts[position - 1] += 1
    total.backward()
    for name, values in learner.weights.items():
        assert values.grad.abs().sum() > 0, name
        torch.testing.assert_close(found[name], values.grad, rtol=2e-3, atol=2e-6)
    np.testing.assert_allclose(seen.acceptance, kept / counts, rtol=1e-4)


@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_trains(tied, tmp_path, loss):
    found = trained(tied, tmp_path, 30, plan=replace(PLAN, loss=loss))
    assert found.state.step == 30
    assert all(values.isfinite().all() for values in found.learner.weights.values())


def trained(material, folder, steps, of=None, plan=PLAN):
    """`steps` of a run that is to have `of` of them."""
    return run(eagle_training(material, CONFIG, plan, folder / "lk.checkpoint"), steps, of)


def test_a_run_that_goes_on_is_the_run_it_would_have_been(tied, tmp_path):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    whole.mkdir()
    parts.mkdir()
    one = trained(tied, whole, 50)
    for steps in (7, 30):
        trained(tied, parts, steps, of=50)
    other = trained(tied, parts, 50)
    assert one.state.step == other.state.step == 50
    assert replace(one.state, seconds=0.0) == replace(other.state, seconds=0.0)
    first, second = (read_checkpoint(folder / "lk.checkpoint")[0] for folder in (whole, parts))
    assert first.keys() == second.keys()
    for name, values in first.items():
        assert values.tobytes() == second[name].tobytes(), name


def test_it_learns_what_the_target_says(tied, tmp_path):
    found = trained(tied, tmp_path, 150).state
    assert found.looks[-1]["acceptance"][0] > found.looks[0]["acceptance"][0] + 0.1
    assert found.curve[-1]["loss"] < found.curve[0]["loss"]
    assert len(found.kept) == 3
    assert len(found.looks[0]["acceptance"]) == 4


def test_all_that_it_begins_with_is_learnt(tied):
    assert set(EagleLearner(tied, CONFIG, PLAN).weights) == set(first_weights(CONFIG, tied.texts, seed=0))


def test_it_begins_with_a_linear_guess(tied):
    """Of the target's next state, which the streams show in part; and not with the law of chance."""
    learner = EagleLearner(tied, CONFIG, replace(PLAN, vocabulary=VOCAB))
    begun = learner.look().acceptance[0]
    assert begun > measured(shaken(learner).draft, tied.texts, 1.0, 1000).acceptance[0]


def test_a_loss_that_is_no_number_ends_it_and_keeps_the_last_good_checkpoint(tied, tmp_path, monkeypatch):
    path, real = tmp_path / "lk.checkpoint", EagleLearner.gradient

    def broken(self, step, *rest):
        found = real(self, step, *rest)
        if step == 25:
            self.weights["fc.weight"].grad[0, 0] = float("nan")
        return found

    monkeypatch.setattr(EagleLearner, "gradient", broken)
    training = eagle_training(tied, CONFIG, PLAN, path)
    with pytest.raises(TrainingError, match="no number any more after step 25; give a lower --learning-rate"):
        training.run(Limits(seconds=None, steps=40, patience=1000), None, quiet)
    again = eagle_training(tied, CONFIG, PLAN, path)
    assert 0 < again.state.step <= 25
    assert all(values.isfinite().all() for values in again.learner.weights.values())
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(BadFile, match=r"is cut or damaged.*move it to .*lk\.checkpoint to go on"):
        eagle_training(tied, CONFIG, PLAN, path)


@pytest.mark.parametrize("kind", ["weight.", "mean.", "square."])
def test_a_checkpoint_that_lacks_an_array_is_refused(tied, tmp_path, kind):
    training = trained(tied, tmp_path, 3)
    name = without_an_array(training, kind)
    with pytest.raises(BadFile, match=rf"lk\.checkpoint is cut or damaged \(it lacks {name}\)"):
        eagle_training(tied, CONFIG, PLAN, training.path)


def test_acceptance_is_that_of_both_laws(tied):
    """Of every chain that a held-out text has room for, row by row."""
    learner = shaken(EagleLearner(tied, CONFIG, PLAN))
    plain, data, number = Plain(learner), tied.texts.data, int(tied.texts.held[0])
    tokens = learner.draft.known.tokens
    batch = tied.texts.batch([number])
    wanted = {1.0: [], 0.7: [], 0.0: []}
    for base in batch.bases[batch.bases + 4 < len(batch.rows)].tolist():
        said = [each.detach().numpy() for each in plain.chain(batch.rows, base, 4)]
        finals = data.features[batch.rows[base + 1 : base + 5], -1].astype(np.float32) @ tied.tables.output.T
        for temperature in (1.0, 0.7):
            p = [softmax(each / temperature)[tokens] for each in finals]
            q = [softmax(each / temperature) for each in said]
            wanted[temperature].append(np.minimum(p, q).sum(1))
        wanted[0.0].append([tokens[own.argmax()] == final.argmax() for own, final in zip(said, finals, strict=True)])
    for temperature, expected in wanted.items():
        found = kept_in(learner.draft, tied.texts, [number], temperature)
        np.testing.assert_allclose(found, np.array(expected, float), atol=2e-3)


class Heard:
    """A network whose logits are written down."""

    def __init__(self, network) -> None:
        self._network, self.logits = network, []

    def __getattr__(self, name):
        return getattr(self._network, name)

    def after(self, *given):
        states, logits = self._network.after(*given)
        self.logits.append(logits[0])
        return states, logits


def written(learner, folder):
    """The folder of a learner's weights, for a target of so many layers."""
    target = Target("none", "0" * 32, VOCAB, SHAPE.width, (0, 2))
    draft = learner.tensors(learner.arrays()), learner.draft.known.tokens
    export(folder, target, CONFIG, draft, {"model": "none"})
    return EagleFolder(folder)


@pytest.mark.parametrize("arithmetic", ["reference", "runtime"])
def test_the_drafter_draws_from_what_the_network_says(material, tmp_path, arithmetic):
    """Chains of four behind every place of an answer, after a prompt that was read at once."""
    import torch

    learner = shaken(EagleLearner(material, CONFIG, PLAN))
    folder = written(learner, tmp_path / "eagle")
    assert folder.layers(4) == (0, 2)
    rows = (Matrix(material.tables.embedding), Matrix(material.tables.output))
    network = Heard(CompiledNetwork(folder, rows, (0, 1), 1, arithmetic))
    drafter = EagleDrafter.over(network, Given((((0, 1),), ((0, 1),), ((0, 1),), ((0, 1),))), VOCAB)
    data, batch = material.texts.data, material.texts.batch([int(material.texts.learnt[6])])
    tokens, hidden = data.tokens[batch.rows].tolist(), data.features[batch.rows].astype(np.float32)
    first, state = int(batch.bases[0]), drafter.open(tokens[: batch.bases[0] + 1], law(VOCAB, temperature=1.0))
    exact, ready = arithmetic == "reference", Prepared(material.tables, data, Gathered(0, 0, 0.0), None)
    draft = learner.draft if exact else drafted(learner, as_run(learner.tensors(learner.arrays())), ready)
    with torch.no_grad():
        drafts = Unrolling(draft, data, batch)
        wanted = [(drafts.go_on() @ draft.known.readout.T).numpy() for _ in range(4)]
    for base in range(first, len(tokens) - 4):
        shown = () if base > first else (TextRows(0, hidden[:first]),)
        state.commit([tokens[base + 1]], Scores(np.zeros((1, VOCAB), np.float32), hidden[[base]], NOTHING, shown))
        network.logits.clear()
        known = set(learner.draft.known.tokens.tolist())
        if not set(tokens[base + 2 : base + 5]) <= known:  # it cannot draft them
            continue
        following = [*tokens[: base + 5], int(learner.draft.known.tokens[0])]
        (proposal,) = drafter.propose([state], [4], [Following(following)])
        assert len(proposal) == 4
        for depth, logits in enumerate(network.logits):
            expected = wanted[depth][base - first]
            limit = (EXACT if exact else ROUNDED) * np.abs(wanted[depth]).max()
            np.testing.assert_allclose(logits, expected, atol=limit)
            q = np.zeros(VOCAB)
            q[learner.draft.known.tokens] = softmax(logits.astype(np.float64))
            np.testing.assert_allclose(proposal.laws[depth].dense(), q, atol=1e-4)
