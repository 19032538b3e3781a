"""Chains of some texts that compiled code draws together, against those that Python draws of each."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import pytest

from draft.head.random_heads import LAYERS, VOCAB, WIDTH, card, write
from truedraw.draft.chances import OwnChance
from truedraw.draft.head.chain import is_chain
from truedraw.draft.head.chain_job import ChainJob
from truedraw.draft.head.compiled import TargetRows
from truedraw.draft.head.drafter import HeadDrafter
from truedraw.draft.head.file import HeadFile
from truedraw.draft.head.kinds.attentive import AttentiveCell
from truedraw.draft.knobs import Knobs
from truedraw.draft.siblings import Settled
from truedraw.draft.trees import Trees
from truedraw.engine.constants.matrix import Matrix
from truedraw.engine.constants.rounding import quantise
from truedraw.protocol import Proposal, Scores
from truedraw.protocol.slate import COUNT, DRAFTED, POSITION, Slate
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import sampling_params
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.sampling.step import Opening
from truedraw.threads.crew import crew_of
from truedraw.threads.jobs import call

STREAMS, DRAFTS, ROUNDS = len(LAYERS) + 1, 3, 5
TABLE = np.random.default_rng(7).normal(size=(VOCAB, WIDTH)).astype(np.float32)


@numba.njit(nogil=True)
def done(code, place):
    return call(code, place)


class Text(NamedTuple):
    """One that is drafted by compiled code, and a twin that Python drafts."""

    job: ChainJob
    slate: Slate
    hidden: np.ndarray
    state: object
    twin: object
    chance: object


@pytest.fixture(scope="module", params=[1, 2])
def drafters(tmp_path_factory, request) -> tuple[HeadDrafter, HeadDrafter]:
    """Whose texts are drafted by compiled code, and by Python: what their heads remember stands apart."""
    file = HeadFile(write(tmp_path_factory.mktemp("chains") / "head.safetensors", card(kind="attentive"), seed=5))
    crew = crew_of(request.param)
    cells = [AttentiveCell(file, TargetRows(quantise(TABLE), Matrix(TABLE), crew=crew)) for _ in range(2)]
    trees, knobs = Trees(Settled([0.5]), DRAFTS, chains=True), Knobs(draft_temperature=1.0)
    one, other = (HeadDrafter.over(cell, trees, VOCAB, knobs) for cell in cells)
    return one, other


def begun(drafters: tuple[HeadDrafter, HeadDrafter], number: int) -> Text:
    """A text whose target has said something of the first of its tokens, and that is one of several sources'."""
    rng = np.random.default_rng(number)
    prompt, chance = rng.integers(0, VOCAB, 4).tolist(), OwnChance(PhiloxRandomness(11, number), number % 3, 3)
    slate, hidden = Slate.of(DRAFTS), np.zeros((1 + DRAFTS, STREAMS, WIDTH), np.float32)
    law = SamplingLaw(sampling_params({}), Opening(tuple(prompt), VOCAB))
    state, twin = (drafter.open(prompt, law) for drafter in drafters)
    job = drafters[0].job(state, chance, slate, hidden)
    assert job is not None
    for each in (state, twin):
        each.commit([number], scores_of(number))
    return Text(job, slate, hidden, state, twin, chance)


def scores_of(seed: int, drafted: Proposal | None = None) -> Scores:
    rng = np.random.default_rng(100 + seed)
    logits = rng.normal(size=(1 + DRAFTS, VOCAB)).astype(np.float32)
    return Scores(logits, rng.normal(size=(1 + DRAFTS, STREAMS, WIDTH)).astype(np.float32), drafted)


@pytest.mark.parametrize("texts", [1, 2, 3, 5])
def test_they_are_the_chains_that_python_draws(drafters, texts) -> None:
    """Round after round, of which each keeps another number of drafts."""
    held = [begun(drafters, number) for number in range(texts)]
    kept = held[0].job.abreast([each.job for each in held])
    assert all(each.job.is_still for each in held)
    for turn in range(ROUNDS):
        for each in held:
            assert each.job.begin(each.twin.length, 1) == 1
            assert each.slate.numbers[[POSITION, COUNT]].tolist()[0] == each.twin.length
        assert not done(*kept.addresses)
        for number, each in enumerate(held):
            (drawn,) = drafters[1].propose([each.twin], [DRAFTS], [each.chance])
            assert each.slate.numbers[DRAFTED] == DRAFTS
            assert each.slate.tokens.tolist() == drawn.tokens.tolist()
            assert each.slate.sure.tolist() == drawn.confidence.tolist()
            assert [law.weights.tolist() for law in each.job.laws] == [law.weights.tolist() for law in drawn.laws]
            go_on(each, drawn, (turn + number) % (1 + DRAFTS), turn)


def go_on(text: Text, drawn: Proposal, accepted: int, turn: int) -> None:
    """So many drafts are kept, and one more token comes."""
    tokens, scores = [*drawn.tokens[:accepted].tolist(), turn], scores_of(turn, drawn)
    text.twin.commit(tokens, scores)
    text.job.end([(tokens, drawn)], scores, True)


@pytest.mark.parametrize("texts", [1, 3])
def test_rows_that_nobody_told_of_are_no_neighbours(drafters, texts) -> None:
    """Of a text that went on meanwhile some are missing in what the head remembers: compiled code looks back over them
    as Python does."""
    held = [begun(drafters, number) for number in range(texts)]
    kept = held[0].job.abreast([each.job for each in held])
    for turn in range(ROUNDS):
        for number, each in enumerate(held):
            if (turn + number) % 2:
                for state in (each.state, each.twin):
                    state.commit([*range(1 + turn)], None)
                    state.commit([number], scores_of(turn))
            assert each.job.begin(each.twin.length, 1) == 1
        assert not done(*kept.addresses)
        for each in held:
            (drawn,) = drafters[1].propose([each.twin], [DRAFTS], [each.chance])
            assert each.slate.tokens.tolist() == drawn.tokens.tolist()
            assert each.slate.sure.tolist() == drawn.confidence.tolist()
            go_on(each, drawn, turn % (1 + DRAFTS), turn)


def test_what_is_no_chain_is_left_to_python(drafters) -> None:
    """What siblings are worth is learnt, and so is whether there are any."""
    one = begun(drafters, 0)
    length = one.twin.length
    for candidates, begins in ((1, True), (2, False)):
        trees = Trees(Settled([0.5, 0.4]), DRAFTS, candidates)
        one.state.trees = trees.of_text()
        assert is_chain(one.state.trees.levels(DRAFTS)) == begins
        assert one.job.begin(length, 1) == begins


def test_chains_of_one_head_and_as_many_tokens_are_drawn_together(drafters) -> None:
    """No others are."""
    one, other = begun(drafters, 0), begun(drafters, 1)
    assert one.job.kin == other.job.kin
    short, hidden = Slate.of(DRAFTS - 1), np.zeros((DRAFTS, STREAMS, WIDTH), np.float32)
    shorter = drafters[0].job(one.state, one.chance, short, hidden)
    elsewhere = drafters[1].job(one.twin, one.chance, one.slate, one.hidden)
    assert shorter is not None
    assert elsewhere is not None
    assert len({one.job.kin, shorter.kin, elsewhere.kin}) == 3
