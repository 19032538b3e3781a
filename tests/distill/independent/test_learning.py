"""The network in torch and its training: the same numbers as plain formulas, resumption, what goes wrong."""

from dataclasses import replace

import numpy as np
import pytest

from distill.conftest import SHAPE, VOCAB, quiet, run, tables, without_an_array
from engine.decoder import Decoder, RandomWeights, softmax
from truedraw.distill.checkpoint import read_checkpoint
from truedraw.distill.independent import words as columns_of
from truedraw.distill.independent.learner import Learner, Material, transformer_training
from truedraw.distill.independent.plan import TransformerPlan, draft_config
from truedraw.distill.plan import Limits
from truedraw.distill.starting import WEIGHT
from truedraw.errors import BadFile, TrainingError
from truedraw.models.layout import EMBEDDING, HEAD

pytestmark = pytest.mark.parity
PLAN = TransformerPlan(width=12, depth=2, heads=2, vocabulary=7, seed=3, rate=5e-3)
CONFIG = draft_config(PLAN, VOCAB, 100, SHAPE.width)


@pytest.fixture(autouse=True)
def one_thread_in_full(monkeypatch):
    """Threads that wait for one another take longer than such small products; bfloat16 has few digits."""
    import torch

    from truedraw.distill.independent import gradients
    from truedraw.engine.pytorch.running import running

    for module in (columns_of, gradients):
        monkeypatch.setattr(module, "fast_type", lambda: torch.float32)
    with running(1):
        yield


@pytest.fixture(params=[True, False], ids=["tied", "untied"])
def material(request, texts):
    return Material(texts, tables(tied=request.param))


@pytest.fixture
def tied(texts):
    return Material(texts, tables())


def shaken(learner):
    """No weight is what it was at the beginning, corrections are not 0."""
    import torch

    chance = torch.Generator().manual_seed(1)
    for values in learner.draft.weights.values():
        values.data += 0.2 * torch.randn(values.shape, generator=chance)
    return learner


def as_written(learner):
    """What a reader of the folder computes, in float64: tokens -> logits."""
    tensors = learner.tensors(learner.arrays())
    weights = RandomWeights(CONFIG)
    weights.dense = tensors.__getitem__
    return Decoder(CONFIG, weights).logits


def test_the_folder_says_what_the_network_says(material):
    from truedraw.distill.independent.gradients import read

    learner = shaken(Learner(material, CONFIG, PLAN, None, 0))
    written = as_written(learner)
    batch = material.texts.batch([5, 6, 12])
    behind = read(learner.draft, batch).detach()
    found = (behind @ learner.draft.words.rows(learner.draft.weights, np.arange(VOCAB)).T).detach().numpy()
    for place in range(3):
        logits = written(batch.tokens[place].tolist())
        mine = batch.at // batch.tokens.shape[1] == place
        np.testing.assert_allclose(found[mine], logits[batch.at[mine] % batch.tokens.shape[1]], atol=2e-4)


def test_the_gradient_is_that_of_the_plain_formula(material, monkeypatch):
    import torch

    from truedraw.distill.independent import gradients
    from truedraw.distill.losses import LOSSES

    monkeypatch.setattr(gradients, "ROWS_AT_ONCE", 10)
    monkeypatch.setattr(columns_of, "SAMPLED", 3)
    learner = shaken(Learner(material, CONFIG, PLAN, None, 0))
    draft, texts = learner.draft, material.texts
    batch, columns = texts.step(0, 0), learner._words.columns(0, 0)
    assert np.unique(columns.times).tolist() == pytest.approx([0, np.log(5 / 3)])
    seen = gradients.gradient(draft, texts.data, batch, columns, ("lk", 0.85), look=True)
    found = {name: values.grad.clone() for name, values in draft.weights.items()}
    for values in draft.weights.values():
        values.grad = None
    times = torch.from_numpy(columns.times)
    rows = draft.words.rows(draft.weights, columns.tokens)
    q = torch.softmax(gradients.read(draft, batch) @ rows.T + times, -1)
    p = columns_of.law(texts.data, batch.rows, draft.words.target(columns), columns)
    loss = (0.15 * LOSSES["kl"].value(p, q) + 0.85 * LOSSES["lk"].value(p, q)).mean()
    loss.backward()
    for name, values in draft.weights.items():
        torch.testing.assert_close(found[name], values.grad, rtol=1e-3, atol=1e-6)
    assert seen.loss == pytest.approx(LOSSES["lk"].value(p, q).mean().item(), rel=1e-4)
    assert seen.kept == pytest.approx(p.minimum(q).sum(-1).mean().item(), rel=1e-4)


def test_sampled_tokens_stand_for_the_rest(tied, monkeypatch):
    """Over all draws, sums over the columns are those over the vocabulary."""
    import torch

    monkeypatch.setattr(columns_of, "SAMPLED", 2)
    learner = Learner(tied, CONFIG, PLAN, None, 0)
    logits = torch.randn(VOCAB, generator=torch.Generator().manual_seed(0)).double()
    sums = []
    for step in range(3000):
        columns = learner._words.columns(4, step)
        assert columns.tokens[:7].tolist() == learner._words.known.tolist()
        sums.append((logits[torch.from_numpy(columns.tokens)] + torch.from_numpy(columns.times)).exp().sum().item())
    assert np.mean(sums) == pytest.approx(logits.exp().sum().item(), rel=0.02)
    assert np.std(sums) > 0


@pytest.mark.parametrize("kind", ["weight.", "mean.", "square."])
def test_a_checkpoint_that_lacks_an_array_is_refused(tied, tmp_path, kind):
    training = trained(tied, tmp_path, 3)
    name = without_an_array(training, kind)
    with pytest.raises(BadFile, match=rf"lk\.checkpoint is cut or damaged \(it lacks {name}\)"):
        transformer_training(tied, CONFIG, PLAN, training.path)


def test_acceptance_is_that_of_both_laws(tied):
    from truedraw.distill.independent import evaluation

    learner = shaken(Learner(tied, CONFIG, PLAN, None, 0))
    data, written = tied.texts.data, as_written(learner)
    held = np.flatnonzero(data.held)
    for temperature in (1.0, 0.7, 0.0):
        found = evaluation.kept_at(learner.draft, tied.texts, held, temperature, columns_of.every(VOCAB))
        expected = []
        for number in tied.texts.held.tolist():
            batch = tied.texts.batch([number])
            said = written(batch.tokens[0].tolist())[batch.at]
            final = data.features[batch.rows, -1].astype(np.float64) @ tables().output.T.astype(np.float64)
            if temperature:
                expected += np.minimum(softmax(said / temperature), softmax(final / temperature)).sum(1).tolist()
            else:
                expected += (said.argmax(1) == final.argmax(1)).tolist()
        np.testing.assert_allclose(found, expected, atol=2e-3)
    measured = learner.measured(1.0, 1000)
    assert len(measured.acceptance) == 4
    assert 1 < measured.tokens < 5


def trained(material, folder, steps, of=None, plan=PLAN):
    """`steps` of a run that is to have `of` of them."""
    return run(transformer_training(material, CONFIG, plan, folder / "lk.checkpoint"), steps, of)


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
    found = trained(tied, tmp_path, 120).state
    assert found.curve[-1]["loss"] < found.curve[0]["loss"]
    assert found.curve[-1]["acceptance"][0] > found.curve[0]["acceptance"][0] + 0.1
    assert found.best >= found.looks[-1]["tokens_a_round"] - 1e-4


def test_a_loss_that_is_no_number_ends_it_and_keeps_the_last_good_checkpoint(tied, tmp_path, monkeypatch):
    path, real = tmp_path / "lk.checkpoint", Learner.gradient

    def broken(self, step, *rest):
        found = real(self, step, *rest)
        if step == 25:
            self.draft.weights["output"].grad[0, 0] = float("nan")
        return found

    monkeypatch.setattr(Learner, "gradient", broken)
    training = transformer_training(tied, CONFIG, PLAN, path)
    with pytest.raises(TrainingError, match="no number any more after step 25; give a lower --learning-rate"):
        training.run(Limits(seconds=None, steps=40, patience=1000), None, quiet)
    again = transformer_training(tied, CONFIG, PLAN, path)
    assert 0 < again.state.step <= 25
    assert all(values.isfinite().all() for values in again.learner.draft.weights.values())
    assert all(np.isfinite(values).all() for values in training.best().values())


def test_it_ends_where_nothing_gets_better(tied, tmp_path, monkeypatch):
    monkeypatch.setattr("truedraw.distill.training.PROGRESS", 10.0)
    training = transformer_training(tied, CONFIG, PLAN, tmp_path / "lk.checkpoint")
    training.run(Limits(seconds=None, steps=100, patience=3), None, quiet)
    assert training.state.stale == 3
    assert training.state.step < 30


def test_a_cut_checkpoint_is_refused(tied, tmp_path):
    trained(tied, tmp_path, 5)
    path = tmp_path / "lk.checkpoint"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(BadFile, match=r"is cut or damaged.*move it to .*lk\.checkpoint to go on"):
        transformer_training(tied, CONFIG, PLAN, path)


def test_the_tables_are_the_targets_rows_and_corrections(material):
    learner = shaken(Learner(material, CONFIG, PLAN, None, 0))
    arrays = {name.removeprefix(WEIGHT): values for name, values in learner.arrays().items()}
    tensors, tables = learner.tensors(learner.arrays()), material.tables
    scale = 1 / np.sqrt(np.square(tables.embedding.astype(np.float64)).mean())
    into, out = scale * tables.embedding @ arrays["embedding"], tables.output @ arrays["output"]
    into[arrays["tokens"]] += arrays["embedding.own"]
    out[arrays["tokens"]] += arrays["output.own"]
    np.testing.assert_allclose(tensors[EMBEDDING], into, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(tensors[HEAD], out, rtol=1e-4, atol=1e-4)
