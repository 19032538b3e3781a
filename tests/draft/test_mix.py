"""Several sources in one tree: what they may take, what is said once, what is learnt of them, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from draft.mixing import SOURCES, inner, mix
from truedraw import Model, load
from truedraw.draft.chances import OwnChance
from truedraw.draft.mix import MOST_SOURCES, MixDrafter
from truedraw.draft.mix_sources import LEAST, MOST, Trust
from truedraw.draft.mix_tree import UNKNOWN
from truedraw.draft.ngram import MOST_LOOKED_UP
from truedraw.errors import BadInput, BadParameter, BadProposal
from truedraw.protocol import NOTHING, ROOT, Drafter, DraftState, LooksAhead, Proposal, Purpose, Scores
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import SamplingParams
from truedraw.sampling.randomness import NODE_BITS, PhiloxRandomness

TEXT = "the cat sat ran dog sat ran the cat sat"
LAW = SamplingLaw(SamplingParams())
Q = np.array([0.1, 0.2, 0.3, 0.4])


class Says:
    """A source that says what it is told to, as far as there is room; keeps what it was asked and told."""

    def __init__(self, *trees: Proposal, looks_ahead: bool = True) -> None:
        self.trees, self.asked, self.told, self.closed = list(trees), [], [], 0
        if looks_ahead:
            self.ahead = lambda tokens: Says(*self.trees)

    def open(self, tokens, law):
        return self

    def commit(self, tokens, scores):
        self.told.append((list(tokens), scores))

    def propose(self, states, budgets, randomness):
        self.asked.append(list(budgets))
        said = (self.trees.pop(0) if len(self.trees) > 1 else self.trees[0] for _ in states)
        return [tree.only(np.arange(min(budget, len(tree)))) for tree, budget in zip(said, budgets, strict=True)]

    def close(self):
        self.closed += 1


def of(*sources: Says, **settings) -> MixDrafter:
    waiting = list(sources)
    return MixDrafter(lambda config: waiting.pop(0), sources=[f"source {n}" for n in range(len(sources))], **settings)


def chain(*tokens, confidence=None, law=None) -> Proposal:
    given = None if confidence is None else np.array(confidence, float)
    return Proposal.chain(tokens, None if law is None else [law] * len(tokens), given)


def tree(drafter, budget=7, state=None) -> Proposal:
    state = state or drafter.open([0], LAW)
    return drafter.propose([state], [budget], [PhiloxRandomness(1)])[0]


def shape(proposal: Proposal) -> list[tuple[int, int]]:
    return list(zip(proposal.tokens.tolist(), proposal.parents.tolist(), strict=True))


def rooms(drafter, *budgets) -> None:
    state = drafter.open([0], LAW)
    for budget in budgets:
        tree(drafter, budget, state)
        state.commit([0], SCORES)


SCORES = Scores(np.zeros((1, 4), np.float32))


def test_parts_are_what_the_protocol_asks_for() -> None:
    state = mix("ngram", "q").open([0, 1], LAW)
    assert isinstance(mix("ngram"), Drafter)
    for each in (state, state.ahead([1])):
        assert isinstance(each, DraftState)
        assert isinstance(each, LooksAhead)


def test_equal_certain_drafts_are_one() -> None:
    found = tree(of(Says(chain(3, 2, 1)), Says(chain(3, 2, 2)), Says(chain(3, 0))))
    assert sorted(shape(found)) == [(0, 0), (1, 1), (2, 0), (2, 1), (3, ROOT)]


def test_the_likeliest_are_drafted_and_a_source_is_believed_that_thinks_best_of_a_place() -> None:
    sure, unsure = chain(1, 2, 3, confidence=[0.9, 0.9, 0.9]), chain(1, 0, 0, confidence=[0.2, 0.6, 0.6])
    found = tree(of(Says(unsure), Says(sure)), 4)
    assert shape(found) == [(1, ROOT), (2, 0), (3, 1), (0, 0)]
    assert found.confidence.tolist() == pytest.approx([0.9, 0.9, 0.9, 0.6])
    assert shape(tree(of(Says(unsure), Says(sure)), 2)) == [(1, ROOT), (2, 0)]


def test_who_has_no_opinion_is_believed_half() -> None:
    found = tree(of(Says(chain(1, 1, 1)), Says(chain(2, 2, confidence=[0.4, 0.9]))), 3)
    assert shape(found) == [(1, ROOT), (2, ROOT), (2, 1)]
    assert found.confidence.tolist() == pytest.approx([UNKNOWN, 0.4, 0.9])


def test_a_certain_draft_takes_no_room_where_it_was_sampled() -> None:
    found = tree(of(Says(chain(3, 3, law=Q)), Says(chain(3, 2, 1)), Says(chain(0))), 5)
    assert shape(found)[:2] == [(3, ROOT), (3, 0)]
    assert sorted(shape(found)[2:]) == [(0, ROOT), (1, found.tokens.tolist().index(2)), (2, 0)]
    assert [law is not None for law in found.laws] == [True, True, False, False, False]
    assert found.laws[0] is Q


def test_equal_samples_stay_apart() -> None:
    found = tree(of(Says(chain(3, law=Q)), Says(chain(3, law=Q[::-1]))), 4)
    assert shape(found) == [(3, ROOT), (3, ROOT)]
    assert found.laws[0].tolist() == Q.tolist()
    assert found.laws[1].tolist() == Q[::-1].tolist()


def test_who_draws_is_asked_for_what_will_be_kept() -> None:
    drawing, certain = Says(chain(*[1] * 9, law=Q)), Says(chain(2, 2, 2))
    rooms(of(drawing, certain), 7, 7, 10, 2, 1)
    assert drawing.asked == [[7], [5], [7], [2], [1]]  # at first nobody knows that it draws
    assert certain.asked == [[7], [10], [2], [1]]


def test_what_certain_sources_do_not_offer_is_drawn() -> None:
    drawing, certain = Says(chain(*[1] * 9, law=Q)), Says(chain(2), NOTHING)
    rooms(of(drawing, certain), 7, 7, 7)
    assert drawing.asked == [[7], [6], [7]]


def test_what_is_not_drawn_is_left_for_what_is_certain() -> None:
    drafter = of(Says(chain(1, law=Q)), Says(chain(2, 2, 2, 2, 2, 2)))
    state = drafter.open([0], LAW)
    for _ in range(2):
        assert tree(drafter, 6, state).tokens.tolist() == [1, 2, 2, 2, 2, 2]


def test_those_who_draw_share_evenly() -> None:
    sources = [Says(chain(*[n] * 9, law=Q)) for n in range(3)]
    drafter = of(*sources)
    state = drafter.open([0], LAW)
    state.draws[:] = [True] * 3
    assert len(tree(drafter, 7, state)) == 7
    assert [source.asked for source in sources] == [[[3]], [[2]], [[2]]]


def test_all_texts_are_asked_for_in_one_call() -> None:
    source = Says(chain(1, 2))
    drafter = of(source, Says(chain(3, law=Q)))
    states = [drafter.open([0], LAW) for _ in range(3)]
    drafter.propose(states, [2, 0, 4], [PhiloxRandomness(i) for i in range(3)])
    assert source.asked == [[2, 4]]


def test_every_source_hears_of_the_whole_round_and_is_closed() -> None:
    sources = [Says(chain(1)), Says(chain(2, law=Q))]
    drafter = of(*sources)
    state = drafter.open([0], LAW)
    state.commit([1, 2], SCORES)
    assert [source.told for source in sources] == [[([1, 2], SCORES)]] * 2
    state.close()
    drafter.close()
    assert [source.closed for source in sources] == [2, 2]


def test_who_cannot_look_ahead_is_silent_there() -> None:
    drafter = of(Says(chain(1), looks_ahead=False), Says(chain(2)))
    state = drafter.open([0], LAW)
    ahead = state.ahead([3])
    assert tree(drafter, 3, ahead).tokens.tolist() == [2]
    assert sorted(tree(drafter, 3, state).tokens.tolist()) == [1, 2]
    ahead.commit([1], SCORES)
    ahead.close()


@pytest.mark.parametrize(("kept", "better"), [(True, True), (False, False)])
def test_a_source_is_believed_by_what_became_of_its_drafts(kept: bool, better: bool) -> None:
    drafter = of(Says(chain(1, 1, confidence=[0.5, 0.5])), Says(chain(2, 2, confidence=[0.5, 0.5])))
    state = drafter.open([0], LAW)
    first = tree(drafter, 1, state)
    assert first.tokens.tolist() == [1]
    for _ in range(12):
        tree(drafter, 1, state)
        state.commit([1, 1, 3] if kept else [2, 2, 3], SCORES)  # the second source's were not even drafted
    last = tree(drafter, 1, state)
    assert (last.tokens.tolist() == [1]) is better
    assert last.confidence[0] > first.confidence[0] * 1.3


def test_trust_stays_between_its_bounds_and_fades() -> None:
    trust, draft = Trust(), chain(1, confidence=[0.5])
    for _ in range(300):
        trust.learn(draft, [1, 0])
    assert trust.chances(draft) == [pytest.approx(0.97, abs=0.03)]
    for _ in range(300):
        trust.learn(draft, [2])
    assert trust.chances(draft)[0] < 0.1
    for strange in (np.nan, np.inf, -1.0, 0.0, 7.0):
        assert LEAST <= trust.chances(chain(1, confidence=[strange]))[0] <= MOST


@pytest.mark.parametrize("strange", [-1.0, -np.inf, np.nan, np.inf, 7.0])
def test_a_source_that_says_what_is_no_chance_is_believed_by_what_is_kept(strange) -> None:
    trust, draft = Trust(), chain(1, 1, confidence=[0.5, 0.5])
    trust.learn(chain(1, 1, confidence=[strange, strange]), [1, 1, 2])
    assert trust.chances(draft)[0] >= 0.5
    for _ in range(300):
        trust.learn(draft, [2])
    assert trust.chances(draft)[0] < 0.1


def test_trust_follows_the_branch_that_the_text_took() -> None:
    branching = Proposal(np.array([1, 2, 3]), np.array([ROOT, ROOT, 1]), (None,) * 3, np.array([0.5, 0.5, 0.9]))
    trust = Trust()
    for _ in range(200):
        trust.learn(branching, [2, 3, 0])
    assert trust.chances(branching)[2] == pytest.approx(0.95, abs=0.03)


def test_who_had_nothing_to_say_is_thought_to_draw_as_before() -> None:
    drafter = of(Says(chain(1, law=Q), NOTHING, chain(1)))
    state, seen = drafter.open([0], LAW), []
    for _ in range(3):
        tree(drafter, 7, state)
        seen.append([*state.draws])
    assert seen == [[True], [True], [False]]


def test_what_is_found_out_ahead_of_a_text_is_known_there() -> None:
    drafter = of(Says(chain(1, law=Q)))
    state = drafter.open([0], LAW)
    tree(drafter, 7, state.ahead([3]))
    assert state.draws == [True]


def test_what_is_certain_goes_on_behind_the_first_of_equal_samples() -> None:
    found = tree(of(Says(chain(3, law=Q)), Says(chain(3, law=Q[::-1])), Says(chain(3, 2))))
    assert shape(found) == [(3, ROOT), (3, ROOT), (2, 0)]


def test_no_more_than_one_of_siblings_is_expected_and_what_was_learnt_fades() -> None:
    sure = Proposal(np.array([1, 2]), np.array([ROOT, ROOT]), (None,) * 2, np.array([0.8, 0.8]))
    trust = Trust()
    for _ in range(300):
        trust.learn(sure, [2])
    assert trust.chances(sure) == pytest.approx([0.8, 0.8], abs=0.01)
    for _ in range(10):
        trust.learn(sure, [3])
    assert trust.chances(sure)[0] < 0.7
    for _ in range(300):
        trust.learn(sure, [])
    assert trust.chances(sure) == pytest.approx([0.8, 0.8], abs=0.01)


def test_each_offer_teaches_once_and_only_the_last_of_a_round() -> None:
    source = Says(chain(1, confidence=[0.5]), chain(1, confidence=[0.5]), NOTHING)
    state = (drafter := of(source)).open([0], LAW)
    tree(drafter, 7, state)
    for _ in range(2):
        state.commit([1], SCORES)
        before = state.trusts[0].chances(chain(1, confidence=[0.5]))
    state.commit([2], SCORES)
    assert state.trusts[0].chances(chain(1, confidence=[0.5])) == before
    for _ in range(2):
        tree(drafter, 7, state)
    state.commit([2], SCORES)
    assert state.trusts[0].chances(chain(1, confidence=[0.5])) == before


class Noted:
    def __init__(self) -> None:
        self.names = []

    def choose(self, weights, purpose, position, node=0):
        self.names.append((purpose, position, node))
        return 0

    def accept(self, p, q, purpose, position, node=0):
        self.names.append((purpose, position, node))
        return True


def test_no_two_sources_can_name_the_same_draw_and_all_share_the_noise_of_a_position() -> None:
    noted = Noted()
    nested = OwnChance(noted, 0, 2)
    for chance in (OwnChance(nested, 0, 3), OwnChance(nested, 2, 3), OwnChance(noted, 1, 2)):
        for node in range(4):
            chance.choose(Q, Purpose.DRAFT, 5, node)
            chance.accept(0.5, 0.5, Purpose.ACCEPT, 5, node)
    assert len(set(noted.names)) == 3 * 4 * 2
    noted.names.clear()
    for source in range(2):
        OwnChance(noted, source, 2).choose(Q, Purpose.TARGET, 6)
    assert set(noted.names) == {(Purpose.TARGET, 6, 0)}
    with pytest.raises(BadParameter, match="inside one another"):
        OwnChance(noted, 1, 2).choose(Q, Purpose.DRAFT, 5, 1 << (NODE_BITS - 1))


def test_what_is_certain_and_no_tree_is_refused() -> None:
    with pytest.raises(BadProposal, match="has parent 3"):
        tree(of(Says(Proposal(np.array([1]), np.array([3]), (None,)))))


@pytest.mark.parametrize("parent", [-2, 1, 3])
def test_a_drawn_token_without_a_place_gets_none(parent: int) -> None:
    """Whoever looks at the whole sees it, and all that was drawn before it is kept."""
    said = Proposal(np.array([1, 2]), np.array([ROOT, parent]), (Q, Q))
    assert shape(tree(of(Says(chain(3, law=Q)), Says(said)))) == [(3, ROOT), (1, ROOT), (2, 2)]


def test_what_was_drawn_is_kept_even_where_it_is_too_much() -> None:
    source = Says(chain(1, 2, 3, law=Q))
    source.propose = lambda states, budgets, randomness: source.trees * len(states)
    assert shape(tree(of(source, Says(chain(0))), 2)) == [(1, ROOT), (2, 0), (3, 1)]


def test_a_source_that_says_too_much_is_refused() -> None:
    source = Says(chain(1, 2, 3))
    source.propose = lambda states, budgets, randomness: [chain(1, 2, 3)] * len(states)
    with pytest.raises(BadProposal, match="asked for 2 draft tokens and proposed 3"):
        tree(of(source), 2)


class Breaks(Says):
    def __init__(self, where: str) -> None:
        super().__init__(chain(1))
        setattr(self, where, self.broken)

    def broken(self, *args):
        raise ValueError("lost the thread")


@pytest.mark.parametrize("where", ["open", "propose"])
def test_an_error_names_its_source(where: str) -> None:
    made = {"whole": Says(chain(2)), "model": Breaks(where)}
    drafter = MixDrafter(
        lambda config: made[config if isinstance(config, str) else "model"], sources=["whole", {"model": "small"}]
    )
    with pytest.raises(ValueError, match="lost the thread") as raised:
        tree(drafter)
    assert raised.value.__notes__ == ["in model, a source of the mix"]


@pytest.mark.parametrize(
    "sources", ["ngram", {"method": "ngram"}, [], ["ngram"] * 9, [3], None, 7, [["ngram"]]], ids=str
)
def test_bad_sources_are_refused(sources) -> None:
    with pytest.raises(BadParameter, match="sources: got"):
        MixDrafter(inner, sources=sources)


@pytest.mark.parametrize(
    ("sources", "said"),
    [
        (["none"], "none drafts nothing by itself"),
        (["ngram", {"method": "auto"}], "auto drafts nothing by itself"),
        (["ngram", {"method": "ngram"}], "ngram stands there twice"),
        ([{"method": "q", "draft_top_k": 3}] * 2, r"q\(draft_top_k=3\) stands there twice"),
        ([{"draft_top_k": 3}], "in it; give a method, or a config with a method"),
    ],
    ids=str,
)
def test_sources_that_are_no_drafters_or_stand_there_twice(sources, said: str) -> None:
    with pytest.raises(BadParameter, match=f"sources: .*{said}"):
        MixDrafter(inner, sources=sources)


@pytest.mark.parametrize("share", [-0.1, 1.1, "half", float("nan"), True])
def test_a_bad_share_is_refused(share) -> None:
    with pytest.raises(BadParameter, match="mix_certain_share"):
        MixDrafter(inner, sources=["ngram"], mix_certain_share=share)


@pytest.mark.parametrize("sources", [["suffix", "ngram", "recycle"], ["q"], [{"method": "ngram"}, "lookahead"]])
def test_a_share_where_certain_drafts_stand_beside_no_others(sources) -> None:
    with pytest.raises(BadParameter, match=r"^mix_certain_share: got 0.5, but no source .*; leave it out, or name one"):
        MixDrafter(inner, sources=sources, mix_certain_share=0.5)


def test_limits_stand_in_the_page() -> None:
    page = (Path(__file__).parents[2] / "docs" / "drafters.md").read_text()
    assert f"1 to {MOST_SOURCES} of them; default" in page
    assert f"1 to 4 by default, {MOST_LOOKED_UP} at most" in page


def test_rules_for_chains_are_refused() -> None:
    assert mix("ngram", trees=True)
    with pytest.raises(BadParameter, match=r'rejection_sample_method: the method mix drafts trees.*"traversal"'):
        mix("ngram", trees=False)


@pytest.fixture(scope="module")
def toy() -> Model:
    with load("tabular") as model:
        yield model


MIXES = {
    "by default": {},
    "lookups": {"sources": ["ngram", {"method": "suffix", "suffix_decoding_tree": True}]},
    "a model and lookups": {"sources": [{"model": "tabular"}, "ngram", "suffix"]},
    "two models": {"sources": [{"model": "tabular", "draft_top_k": 3}, {"model": "tabular", "draft_siblings": 2}]},
    "laws and lookups": {"sources": [{"method": "staged", "model": "tabular"}, "ngram-lm", "recycle"]},
    "a mix in a mix": {"sources": ["suffix", {"method": "mix", "sources": ["ngram", {"model": "tabular"}]}]},
}  # fmt: skip


@pytest.mark.parametrize("name", MIXES)
@pytest.mark.parametrize("temperature", [0.0, 0.9])
def test_one_seed_gives_one_text(toy: Model, name: str, temperature: float) -> None:
    settings = {"seed": 4, "n": 3, "ignore_eos": True, "max_tokens": 60, "temperature": temperature}
    plain = toy.generate(TEXT, speculative=False, **settings)
    mixed = toy.generate(TEXT, speculative={"method": "mix", "adaptive": False, **MIXES[name]}, **settings)
    assert [c.tokens for c in mixed.choices] == [c.tokens for c in plain.choices]
    assert mixed.fallback is None
    assert mixed.stats.accepted > 0


@pytest.mark.parametrize("rule", ["traversal", "recursive"])
@pytest.mark.parametrize("name", MIXES)
def test_it_drafts_under_rules_that_weigh_laws(toy: Model, name: str, rule: str) -> None:
    spec = {"method": "mix", "adaptive": False, "rejection_sample_method": rule, **MIXES[name]}
    result = toy.generate(TEXT, speculative=spec, seed=1, n=2, ignore_eos=True, max_tokens=60)
    assert result.fallback is None
    assert result.stats.accepted > 0


@pytest.mark.parametrize("rule", ["token", "block", "kseq", "multipath"])
def test_a_rule_for_chains_is_refused_before_anything_is_drawn(toy: Model, rule: str) -> None:
    spec = {"method": "mix", "rejection_sample_method": rule}
    with pytest.raises(BadParameter, match="takes chains only"):
        toy.generate(TEXT, speculative=spec, max_tokens=2)


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ({"method": "psychic"}, "psychic"),
        ({"method": "ngram", "num_speculative_tokens": 3}, "num_speculative_tokens"),
        ({"method": "ngram", "adaptive": False}, "adaptive"),
        ({"method": "suffix", "prompt_lookup_max": 3}, "prompt_lookup_max"),
        ({"method": "suffix", "rejection_sample_method": "block"}, "rejection_sample_method"),
    ],
    ids=str,
)
def test_settings_of_a_source_that_mean_nothing_are_refused(toy: Model, source, told: str) -> None:
    with pytest.raises(BadInput, match=told):
        toy.generate(TEXT, speculative={"method": "mix", "sources": ["ngram", source]}, max_tokens=2)


def test_every_source_of_the_tests_drafts() -> None:
    for name in SOURCES:
        drafter = inner(name)
        state = drafter.open([0, 1, 0, 1], LAW)
        assert len(drafter.propose([state], [4], [PhiloxRandomness(2)])[0]), name
