"""The exact law of texts drafted by an MTP layer, a real one of three tokens: every branch of whole rounds and runs."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from safetensors.numpy import save_file

from draft.eagle.random_mtp import CLASS, CONFIG, PREFIX, layer_sizes, mtp_tensors
from draft.head.seeing import ROUNDING, TARGET, VISIBLE, SeeingEngine, case, features, law_of_rounds, law_of_text
from enumeration import total_variation
from known_laws import Scenario, text_law
from models.tiny_models import config_json
from truedraw.draft.eagle.checkpoint import EagleFolder
from truedraw.draft.eagle.mtp import MtpDrafter
from truedraw.draft.eagle.network import CompiledNetwork
from truedraw.draft.eagle.opening import Eagle
from truedraw.draft.siblings import Siblings
from truedraw.engine.constants.matrix import Matrix
from truedraw.protocol import Drafter, DraftState, Proposal, Scores, Shapes
from truedraw.registry import find
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import sampling_params
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.sampling.step import Opening
from truedraw.testing import drafter_checks, run

TINY = replace(CONFIG, vocab_size=3, hidden_size=3, intermediate_size=4, num_heads=1, num_kv_heads=1, head_dim=2)
PROMPT = (0, 1, 0)
THREE = (((0, 1),), ((0, 1),), ((0, 1),))  # so many tokens a round, in whatever shape the drafter gives them
SHORT = Scenario("short", TARGET, {}, draft_tokens=2, max_tokens=4)


class Counted:
    """A network that counts the rows it is asked for."""

    def __init__(self, network) -> None:
        self._network, self.rows = network, []

    def __getattr__(self, name):
        return getattr(self._network, name)

    def before(self, states, tokens, positions):
        self.rows.append(len(tokens))
        return self._network.before(states, tokens, positions)


@pytest.fixture(scope="module")
def network(tmp_path_factory) -> CompiledNetwork:
    folder = tmp_path_factory.mktemp("mtp")
    says = {**config_json(TINY), "architectures": [CLASS], "num_nextn_predict_layers": 1}
    (folder / "config.json").write_text(json.dumps(says))
    held = mtp_tensors(TINY, seed=4)
    assert {*held} == {f"{PREFIX}0.{part}" for part in layer_sizes(TINY)}
    save_file(held, folder / "model.safetensors")
    rows = Matrix(np.eye(3, dtype=np.float32)), Matrix(1.5 * np.eye(3, dtype=np.float32)[::-1].copy())
    return CompiledNetwork(EagleFolder(folder), rows, (0,), 1, "reference")


def made(network, kind=MtpDrafter, **more) -> MtpDrafter:
    return kind(3, models=SimpleNamespace(mtp=lambda: Eagle(network, (0.5, 0.4)), target=None), **more)


def distance(*args, **more) -> float:
    return total_variation(*law_of_rounds(*args, **more))


@pytest.mark.parametrize("rule", ["token", "block", "traversal", "recursive", "kseq", "multipath", "coupled"])
def test_chains_keep_the_law(network, rule) -> None:
    assert distance(case(THREE), lambda: made(network), rule) < ROUNDING


@pytest.mark.parametrize("params", [{}, {"temperature": 0.6}, {"top_k": 2}], ids=str)
@pytest.mark.parametrize("rule", ["traversal", "recursive", "coupled"])
def test_trees_keep_the_law(network, rule, params) -> None:
    assert distance(case(THREE, params), lambda: made(network, trees=True), rule) < ROUNDING


@pytest.mark.parametrize("rule", ["traversal", "recursive"])
def test_whole_texts_keep_the_law(network, rule) -> None:
    found = law_of_text(SHORT, lambda: made(network, trees=True, mtp_depth=2), rule)
    assert total_variation(found, text_law(SHORT, PROMPT)) < ROUNDING


def test_a_law_that_was_not_drawn_from_is_seen(network) -> None:
    class Flat(MtpDrafter):
        def propose(self, states, budgets, randomness):
            found = super().propose(states, budgets, randomness)
            laws = [tuple(np.full(3, 1 / 3) for _ in each.laws) for each in found]
            return [Proposal(each.tokens, each.parents, law) for each, law in zip(found, laws, strict=True)]

    assert distance(case(THREE), lambda: made(network, Flat)) > VISIBLE


def test_no_tree_is_deeper_than_asked_for(network) -> None:
    for depth in (1, 2, 3):
        drafter, law = made(network, mtp_depth=depth), SamplingLaw(sampling_params({}), Opening((0,), 3))
        state = drafter.open(PROMPT, law)
        shown = np.stack([features(PROMPT, 3)])
        state.commit([1], Scores(np.zeros((1, 3), np.float32), shown, Proposal.chain(())))
        (proposal,) = drafter.propose([state], [9], [PhiloxRandomness(1)])
        assert len(proposal) == depth


# --------------------------------------------------------------------------------------------------------- contract


class Fed(MtpDrafter):
    """Its states are shown what the target would show, whoever writes the text."""

    def open(self, tokens, law):
        state, text = super().open(tokens, law), list(tokens)
        commit = state.commit

        def shown(fresh, scores=None):
            text.extend(fresh)
            hidden = np.stack([features(text[: len(text) - len(fresh) + row], 3) for row in range(len(fresh))])
            commit(fresh, Scores(np.zeros((1, 3)) if scores is None else scores.logits, hidden, Proposal.chain(fresh)))

        state.commit = shown
        return state


class Held:
    """The network of the checks below, which are collected before there are fixtures."""

    network = None


@pytest.fixture(autouse=True)
def _hold(network):
    Held.network = network


@pytest.mark.parametrize("check", drafter_checks(lambda: made(Held.network, Fed, trees=True), 3), ids=str)
def test_it_keeps_the_contract_of_a_drafter(check) -> None:
    check()


def test_what_it_is(network) -> None:
    drafter, law = made(network), SamplingLaw(sampling_params({}), Opening((0,), 3))
    assert isinstance(drafter, Drafter)
    state = drafter.open([0, 1], law)
    assert isinstance(state, DraftState)
    assert isinstance(state, Shapes)
    assert state.worths(3) is None  # what is settled says nothing of it
    assert made(network, siblings=Siblings, trees=True).open([0, 1], law).worths(3) == ((0.5, 1), (0.25, 2), (0.2, 1))


def test_it_drafts_from_the_second_round_on_and_reads_each_row_once(network) -> None:
    counted = Counted(network)
    scenario = Scenario("long", TARGET, {}, draft_tokens=3, max_tokens=12)
    chances = SimpleNamespace(sample=lambda index: PhiloxRandomness(3, index))
    run(scenario, chances, find("verifiers", "traversal")(), made(counted), SeeingEngine(TARGET), 1, PROMPT)
    assert counted.rows[0] == 1
    assert sum(counted.rows) <= 12 + 2 * 12
