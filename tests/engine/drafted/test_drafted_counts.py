"""Nothing that the amateur has computed for a draft is computed again: rows, passes and texts are counted."""

from __future__ import annotations

import gc

import pytest

from engine.drafted.witness import Witness
from known_laws import random_table
from truedraw.control.fixed import FixedController
from truedraw.draft.knobs import Knobs
from truedraw.draft.model import ModelDrafter
from truedraw.engine.contrastive import ContrastiveEngine
from truedraw.engine.tabular import TabularEngine
from truedraw.generate.loop import rounds
from truedraw.generate.sample import Together
from truedraw.protocol import Work
from truedraw.registry import find
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.testing.runs import parts_of, started
from truedraw.testing.scenarios import Scenario

EXPERT, AMATEUR = random_table(5, 2, 60), random_table(5, 3, 61)
CASE = Scenario("contrast", EXPERT, AMATEUR, {"temperature": 0.8}, draft_tokens=4, max_tokens=60)
PROMPTS = ((0, 1, 2, 3), (4, 3), (2, 2, 2))


class Seeds:
    def __init__(self, seed):
        self.seed = seed

    def sample(self, index):
        return PhiloxRandomness(self.seed, index)


class Shared:
    """A contrast whose amateur drafts."""

    def __init__(self, **options):
        self.amateur = Witness(AMATEUR, **options)
        self.engine = ContrastiveEngine(TabularEngine(EXPERT), self.amateur, 0.05, 0.4)
        self.reader = self.engine.drafting


class Apart(Shared):
    """The same with a second copy of the amateur that drafts."""

    def __init__(self, **options):
        super().__init__(**options)
        self.reader = Witness(AMATEUR)


def run(models, seed=1, rule="coupled", prompts=PROMPTS, tokens=4, **knobs):
    """The texts, and the rounds."""
    drafter = ModelDrafter(models.reader, knobs=Knobs(**knobs), coupled=rule == "coupled")
    parts = parts_of(CASE, find("verifiers", rule)(), drafter)
    samples = [started(parts, CASE, Seeds(seed), i, models.engine, prompt) for i, prompt in enumerate(prompts)]
    done = [each for step in rounds(models.engine, FixedController(tokens), Together(samples)) for each in step]
    texts = [tuple(sample.sequence.tokens) for sample in samples]
    for sample in samples:
        sample.sequence.close()
        sample.draft.close()
    drafter.close()
    return texts, done


@pytest.mark.parametrize("rule", ["coupled", "traversal", "token", "block"])
def test_no_row_is_computed_twice_and_drafts_cost_one_row_more_a_round(rule: str) -> None:
    shared, apart = Shared(), Apart()
    for seed in range(5):
        alone = [run(models, seed, rule, PROMPTS[:1]) for models in (shared, apart)]
        assert alone[0][0] == alone[1][0]
        lengths = [each.drafted for each in alone[0][1]]
        assert sum(lengths) > 30
        assert sum(each.accepted for each in alone[0][1]) > 5
        assert len(apart.reader.passes) == sum(lengths) + 1  # the prompt, which the shared one has computed anyway
        assert len(shared.amateur.passes) == sum(lengths) + len(lengths)
        assert len(shared.amateur.rows) == sum(lengths) + len(lengths)
        assert shared.amateur.repeated == {}
        undrafted = CASE.draft_tokens  # tokens of the text that a last round without drafts has to compute
        assert sum(shared.amateur.passes) <= sum(apart.reader.passes) + len(lengths) + undrafted
        assert sum(shared.amateur.passes) < 0.6 * (sum(apart.amateur.passes) + sum(apart.reader.passes))
        for engine in (shared.amateur, apart.amateur, apart.reader):
            engine.passes.clear()
            engine.rows.clear()


@pytest.mark.parametrize("knobs", [{}, {"draft_siblings": 3}, {"draft_temperature": 0.4}])
def test_texts_together_share_every_pass(knobs) -> None:
    models = Shared()
    _, done = run(models, 3, "traversal", **knobs)
    assert models.amateur.repeated == {}
    steps = max(sum(each.sample == i for each in done) for i in range(len(PROMPTS)))
    assert len(models.amateur.passes) <= steps * 5


def test_samples_of_one_prompt_compute_each_row_behind_it_once() -> None:
    models = Shared()
    drafter = ModelDrafter(models.reader, coupled=True)
    parts = parts_of(CASE, find("verifiers", "coupled")(), drafter)
    samples = [started(parts, CASE, Seeds(5), i, models.engine, PROMPTS[0]) for i in range(6)]
    first = next(rounds(models.engine, FixedController(4), Together(samples)))
    drafted = sum(each.drafted for each in first)
    assert models.amateur.repeated == {}
    assert 4 + 1 <= len(models.amateur.rows) < drafted  # several samples have drafted the same
    assert len(models.amateur.passes) == 4 + 1


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("knobs", [{}, {"draft_siblings": 2, "draft_sample_method": "greedy"}])
def test_the_text_is_that_of_two_copies_and_of_no_drafts(seed: int, knobs) -> None:
    found = [run(models, seed, **knobs)[0] for models in (Shared(), Apart())]
    plain = run(Shared(), seed, tokens=0)[0]
    assert found[0] == found[1] == plain


def test_nothing_is_held_when_texts_have_ended_or_gone_on() -> None:
    models = Shared()
    drafter = ModelDrafter(models.reader)
    parts = parts_of(CASE, find("verifiers", "traversal")(), drafter)
    samples = [started(parts, CASE, Seeds(2), i, models.engine, PROMPTS[0]) for i in range(3)]
    texts = models.engine.amateur._texts
    for step in rounds(models.engine, FixedController(4), Together(samples)):
        assert step
        assert sum(len(each.rows) for each in texts._behind if each.holders) == 0
        assert len(models.amateur.open_texts) == 3
    for sample in samples:
        sample.sequence.close()
    drafter.close()
    assert models.amateur.open_texts == []
    assert not list(texts.scored)


def test_a_run_that_nobody_ended_gives_back_what_it_held() -> None:
    models = Shared()
    text = models.engine.open([0, 1])
    drafter = ModelDrafter(models.reader)
    law = started(parts_of(CASE, find("verifiers", "token")()), CASE, Seeds(1), 0, TabularEngine(EXPERT)).law
    drafter.propose([drafter.open([0, 1], law)], [4], [PhiloxRandomness(1)])
    assert len(models.amateur.open_texts) == 2
    del drafter
    gc.collect()
    assert models.amateur.open_texts == [text.amateur.inner]


def test_rows_are_held_from_the_draft_to_the_end_of_the_round_alone() -> None:
    models = Shared()
    text, law = models.engine.open([0, 1]), started(parts_of(CASE, find("verifiers", "token")()), CASE, Seeds(1), 0,
                                                    TabularEngine(EXPERT)).law  # fmt: skip
    drafter = ModelDrafter(models.reader)
    state = drafter.open([0, 1], law)
    for given_up in (lambda: state.commit([2]), state.close, drafter.close, text.evict):
        (proposal,) = drafter.propose([state], [4], [PhiloxRandomness(1)])
        (behind,) = (each for each in models.engine.amateur._texts._behind if each.holders)
        assert len(behind.rows) == 4
        models.engine.forward([Work(text, proposal)])
        assert len(behind.rows) == 5
        if given_up != text.evict:
            text.commit([2])
        given_up()
        assert (len(behind.rows), len(models.amateur.open_texts)) == (0, 1)
        if list(state.text.tokens) != list(text.tokens):
            state.commit([2])


def test_where_drafts_leave_no_room_they_are_forgotten_and_the_text_is_the_same() -> None:
    plain = run(Shared(), 7, tokens=0, prompts=PROMPTS[:1])[0]
    seen = set()
    for slots in (70, 90, 110, 140):
        models = Shared(slots=slots)
        texts, done = run(models, 7, prompts=PROMPTS[:1])
        assert texts == plain
        seen.add(bool(models.amateur.repeated))
        assert sum(each.drafted for each in done) > 0
    assert seen == {True, False}
