"""Drafters that are asked once it is decided how much they draw: what is learnt of them, and from what."""

from __future__ import annotations

from dataclasses import replace

import pytest

from truedraw.control.average import FIRST
from truedraw.control.experience import Experience
from truedraw.control.late import BURST, LOOK_EVERY, LOOKS, RESTED, Late
from truedraw.control.payoff import PayoffController
from truedraw.control.settling import MUCH, SETTLES
from truedraw.control.width import Width
from truedraw.protocol import NOTHING, Asker, Choice, Proposal, Round


def never(_):
    return False


def drafted(sample, drafted, accepted, late=0.1, cheap=0.0):
    """A round of a text; `late`: None where there was no room to ask."""
    spent = cheap + (late or 0.0)
    return Round(
        sample, (0,) * (accepted + 1), (), (), (), drafted, accepted,
        draft_seconds=spent, late_seconds=late, engine_seconds=1.0, seconds=1.0 + spent, pass_rows=9,
    )  # fmt: skip


def chosen(late, askers, choices):
    """In a round of the only controller."""
    late.chosen(askers, choices, late._known.rounds, late._known.rounds)


def late_of(known):
    return Late(known, Width(known, 15))


def test_each_text_is_offered_what_its_own_drafts_are_worth():
    late = late_of(Experience())
    much, little = [(0.9, 1), (0.8, 2), (0.7, 3)], [(0.2, 1), (0.1, 2)]
    askers = [Asker(0, 3, ("it",), {"it": much}), Asker(1, 1, ("it",), {"it": little}), Asker(2, 9, ("it",))]
    assert late.weigh(askers, never, {each.sample for each in askers})
    first, second, told_by_position = (late.offers(asker)[0].survivals for asker in askers)
    assert first == pytest.approx([0.9, 0.8, 0.7])
    assert second == pytest.approx([0.2])  # as much as it has room for
    assert told_by_position == pytest.approx(Experience().of("it").acceptance.gains()[:9])


def dear():
    """One text, and a drafter whose token takes 5 seconds, weighed."""
    known = Experience()
    for _ in range(3):
        known.of("it").pace.add(5.0, 1)
    late, asker = late_of(known), Asker(0, 3, ("it",), {})
    late.weigh([asker], never, {asker.sample})
    return known, late, asker


def test_a_look_waits_for_what_its_token_costs():
    known, late, asker = dear()
    least = BURST * 5.0 / (LOOKS * Width(known, 15).plain(1))
    known.rounds = int(0.9 * least)
    assert late.look([asker], [{}], 1, 1) is None
    known.rounds = 2 * int(least)
    assert late.look([asker], [{}], 2, 1) == (0, "it")


def test_a_look_waits_longer_behind_a_prompt():
    """Where it would see what a settled pass does not take."""
    known, late, asker = dear()
    known.costs.add(2 * MUCH, known.costs.table(2 * MUCH))
    known.rounds = int(2 * BURST * 5.0 / (LOOKS * Width(known, 15).plain(1)))
    assert late.look([asker], [{}], 1, 1) is None
    for _ in range(SETTLES):
        known.costs.add(1, 1.0)
    assert late.look([asker], [{}], 1 + SETTLES, 1) == (0, "it")


def test_a_look_at_what_hardly_loses_is_due_soon():
    """What it keeps pays for a part of it; and where others draft, what they would bring is lost."""

    def waits(kept, beside=0.0):
        known = Experience()
        width = Width(known, 15)
        late, asker = Late(known, width), Asker(0, 3, ("it",), {"it": [(kept, 1)]})
        for _ in range(3):
            known.of("it").pace.add(0.5 * known.costs.seconds(1), 1, 1)
        width.rate = lambda samples: (1.0 + beside) / width.plain(samples)
        late.weigh([asker], never, {asker.sample})
        for known.rounds in range(10**4):
            if late.look([asker], [{}], known.rounds, 1) is not None:
                return known.rounds
        return None

    assert waits(0.1) > waits(0.3) > waits(0.45) >= LOOK_EVERY
    assert waits(0.99) == LOOK_EVERY
    assert waits(0.3, beside=0.2) > 1.5 * waits(0.3)


def test_looks_wait_over_the_ends_of_texts():
    """Each text has a controller of its own, and may end before a look is due."""
    known, found = Experience(), 0
    known.of("it").is_certain = False
    for _ in range(3):
        known.of("it").pace.add(0.5, 1)
    for _ in range(40):
        controller, asker = PayoffController(known), Asker(0, 3, ("it",), {})
        for _ in range(30):
            choice = Choice()
            if not any(controller.rest([0])):
                controller.budget([asker])
                (choice,) = controller.choose([asker], [{}], {})
            found += choice.tokens
            controller.observe([drafted(0, choice.tokens, 0, 0.5 if choice.tokens else None)])
    assert found >= 2 * BURST


def test_a_look_goes_on_for_some_rounds_and_is_over_then():
    late, asker = late_of(Experience()), Asker(0, 3, ("it",), {})
    looked = []
    for step in range(10**6, 10**6 + 3 * BURST):
        late._known.rounds = step
        late.weigh([asker], never, {asker.sample})
        found = late.look([asker], [{}], step, 1)
        looked.append(found is not None)
        if found is not None:
            chosen(late, [asker], [Choice("it", tokens=1)])
            late.saw([drafted(0, 1, 0)])
    assert looked == [True] * BURST + [False] * 2 * BURST


def test_a_look_that_was_broken_off_is_over():
    late, asker = late_of(Experience()), Asker(0, 3, ("it",), {})
    late._known.rounds = 10**6
    late.weigh([asker], never, {asker.sample})
    assert late.look([asker], [{}], 10**6, 1) == (0, "it")
    chosen(late, [asker], [Choice("it", tokens=1)])
    assert late.look([asker], [{}], 10**6 + 2, 1) is None


@pytest.mark.parametrize(("rested", "counts"), [(1, True), (RESTED, True), (RESTED + 1, False), (1000, False)])
def test_the_first_call_behind_a_rest_tells_nothing_of_what_calls_take(rested, counts):
    """It finds nothing near; but what became of its drafts counts."""
    known = Experience()
    late, asker = late_of(known), Asker(0, 3, ("it",), {})

    def call(step, seconds):
        known.rounds = step
        late.weigh([asker], never, {asker.sample})
        chosen(late, [asker], [Choice("it", tokens=1)])
        return late.saw([drafted(0, 1, 1, late=seconds)])

    for _ in range(FIRST):
        known.of("it").pace.add(0.1, 1)
    assert call(1, 9.0)  # nobody had drafted before
    for step in range(2, 12):
        assert not call(step, 0.1)
    before, gains = known.of("it").pace.rates, known.of("it").acceptance.gains().tolist()
    assert before.token == pytest.approx(0.1)
    assert call(11 + rested, 0.2) is not counts
    assert (known.of("it").pace.rates != before) is counts
    assert known.of("it").acceptance.gains().tolist() != gains


def test_acceptance_is_learnt_from_every_text_of_a_call():
    known = Experience()
    late = late_of(known)
    askers = [Asker(i, 3, ("it",), {}) for i in range(2)]
    late.weigh(askers, never, {each.sample for each in askers})
    chosen(late, askers, [Choice("it", tokens=1)] * 2)
    late.saw([drafted(0, 1, 1), drafted(1, 1, 0)])
    other = Experience().of("it").acceptance
    other.add(1, 1)
    other.add(1, 0)
    assert known.of("it").acceptance.gains().tolist() == other.gains().tolist()


def test_a_text_is_promised_what_drafts_are_worth_under_its_own_rule():
    known = Experience()
    for _ in range(40):
        known.of("it", False).acceptance.add(3, 3)
        known.of("it", True).acceptance.add(3, 0)
    late, askers = late_of(known), [Asker(i, 3, ("it",), {}, bool(i)) for i in range(2)]
    for some in (askers, askers[::-1]):
        late.weigh(some, never, {0, 1})
        promised = [sum(offer.survivals) for asker in askers for offer in late.offers(asker)]
        own = [sum(known.of("it", coupled).acceptance.gains()[:3]) for coupled in (False, True)]
        assert promised == pytest.approx(own)


def test_a_text_that_waited_is_not_learnt_by_a_later_promise():
    """What was asked for before is not mixed up with what is weighed now."""
    known = Experience()
    late, asker = late_of(known), Asker(0, 3, ("it",), {})
    late.weigh([asker], never, {asker.sample})
    chosen(late, [asker], [Choice("it", tokens=2)])
    late.weigh([Asker(1, 3, (), {})], never, {1})
    late.saw([drafted(0, 2, 2)])
    assert known.of("it").acceptance.gains().tolist() == Experience().of("it").acceptance.gains().tolist()


def test_who_has_offered_something_is_not_asked_again():
    late, askers = late_of(Experience()), [Asker(i, 3, ("it",), {}) for i in range(2)]
    late._known.rounds = 10**6
    late.weigh(askers, never, {each.sample for each in askers})
    assert late.look(askers, [{"it": NOTHING}, {}], 10**6, 2) == (1, "it")
    assert late.look(askers, [{"it": NOTHING}, {"it": NOTHING}], 10**6, 2) is None


def test_who_was_not_asked_for_want_of_room_has_not_found_nothing():
    known = Experience()
    late, asker = late_of(known), Asker(0, 3, ("it",), {})
    for _ in range(5):
        late.weigh([asker], never, {asker.sample})
        chosen(late, [asker], [Choice("it", tokens=2)])
        late.saw([drafted(0, 2, 1, late=0.2)])
    before = known.of("it").pace.rates, known.of("it").acceptance.found
    for _ in range(9):
        late.weigh([asker], never, {asker.sample})
        chosen(late, [asker], [Choice("it", tokens=2)])
        late.saw([drafted(0, 0, 0, late=None, cheap=0.05)])
    assert (known.of("it").pace.rates, known.of("it").acceptance.found) == before
    assert before[0].token == pytest.approx(0.1)


def test_what_cheap_drafters_took_is_theirs():
    controller, asker = PayoffController(), Asker(0, 3, ("cheap", "it"), {})
    known = controller._known
    for _ in range(9):
        known.costs.add(1, 1.0)
        known.of("cheap").pace.add(0.001, 1)
        known.of("it").pace.add(0.2, 2)
        known.of("it").acceptance.add(2, 2)
    asked = offered = 0
    for _ in range(40):
        offers = [{name: Proposal.chain(()) for name in each} for each in controller.budget([asker])]
        offered += len(offers[0])
        (choice,) = controller.choose([asker], offers, {"cheap": 0.005} if offers[0] else {})
        late = 0.1 * choice.tokens if choice.tokens else None
        asked += choice.tokens
        controller.observe([drafted(0, choice.tokens, choice.tokens, late, cheap=0.005)])
    assert asked > 20
    assert 5 <= offered < 40
    assert known.of("it").pace.rates.token == pytest.approx(0.1)
    drafters = controller.account.explanation().drafters
    assert drafters["it"].seconds == pytest.approx(0.1 * asked)
    assert drafters["cheap"].seconds == pytest.approx(offered * 0.005)


def test_who_has_rested_hides_nothing_of_what_others_take():
    known = Experience()
    late, askers = late_of(known), [Asker(0, 3, ("it",), {}), Asker(1, 3, ("other",), {})]
    for name in ("it", "other"):
        for _ in range(FIRST):
            known.of(name).pace.add(0.1, 1)
    for known.rounds in range(1, 20):
        late.weigh(askers, never, {each.sample for each in askers})
        chosen(late, askers, [Choice("it", tokens=1), Choice()])
        late.saw([drafted(0, 1, 1)])
    before = {name: known.of(name).pace.rates for name in ("it", "other")}
    late.weigh(askers, never, {each.sample for each in askers})
    known.rounds = 20
    chosen(late, askers, [Choice("it", tokens=1), Choice("other", tokens=1)])
    assert late.saw([drafted(0, 1, 1, late=0.2), drafted(1, 1, 1, late=0.2)])
    assert known.of("it").pace.rates != before["it"]
    assert known.of("other").pace.rates == before["other"]


def test_before_anything_is_known_the_first_call_counts():
    known = Experience()
    late, asker = late_of(known), Asker(0, 3, ("it",), {})
    for known.rounds in (100, 200, 300):  # never twice in a row
        late.weigh([asker], never, {asker.sample})
        chosen(late, [asker], [Choice("it", tokens=1)])
        late.saw([drafted(0, 1, 1)])
    assert known.of("it").pace.is_measured


def looks(world_seconds, rounds):
    """Rounds in which a drafted source, which takes so long a token in a round, was asked for one."""
    controller, found = PayoffController(), []
    controller._known.of("it").is_certain = False
    for step in range(rounds):
        if any(controller.rest([0])):
            tokens = 0
        else:
            controller.budget([Asker(0, 3, ("it",), {})])
            (choice,) = controller.choose([Asker(0, 3, ("it",), {})], [{}], {})
            tokens = choice.tokens
        took = world_seconds(step) * tokens
        kept = min(tokens, int(step % 10 < 6))
        found += [step] * bool(tokens)
        controller.observe([
            Round(0, (0,) * (1 + kept), (), (), (), tokens, kept, draft_seconds=took, late_seconds=took or None,
                  engine_seconds=3.5, seconds=3.7 + took, pass_rows=1 + tokens, source="it" if tokens else "")
        ])  # fmt: skip
    return found


def test_where_nothing_pays_looks_go_on_for_some_rounds():
    found = [step for step in looks(lambda step: 5.0, 6000) if step > 600]
    bursts = [found[place : place + BURST] for place in range(0, len(found), BURST)]
    assert len(bursts) >= 3
    assert all(burst == [*range(burst[0], burst[0] + BURST)] for burst in bursts[:-1])
    assert len(found) < 0.02 * 5400


def test_what_has_become_cheap_is_found():
    found = looks(lambda step: 5.0 if step < 300 else 0.3, 12000)
    assert len([step for step in found if step > 10000]) > 1500


def test_a_price_that_was_wrong_is_learnt_anew_from_a_few_looks():
    """Nobody knows what a drafter would have taken while it rested."""
    known = Experience()
    late, asker = late_of(known), Asker(0, 3, ("it",), {"it": [(0.4, 1)]})

    def look(start, seconds):
        for known.rounds in range(start, start + BURST):
            late.weigh([asker], never, {asker.sample})
            chosen(late, [asker], [Choice("it", tokens=1)])
            late.saw([drafted(0, 1, 0, late=seconds)])

    for start in range(0, 40 * BURST, BURST):
        look(start, 3.0)
    assert known.of("it").pace.tree(1, 1) == pytest.approx(3.0)
    for number in range(1, 5):
        look(40 * BURST + 150 * number, 1.0)
    assert known.of("it").pace.tree(1, 1) < 1.5


def test_texts_beside_one_that_drafts_have_looks_of_their_own():
    """Nobody rests there, and a text that had an unlucky start would be drawn plainly to its end."""
    known = Experience()
    late, looked = late_of(known), set()
    good, poor = {"it": [(0.9, 1)]}, {"it": [(0.001, 1)]}
    askers = [Asker(0, 3, ("it",), good), Asker(1, 3, ("it",), poor), Asker(2, 3, ("it",), poor)]
    for _ in range(3):
        known.of("it").pace.add(0.1, 1, 1)
    for known.rounds in range(1, 4000):
        assert late.weigh(askers, never, {each.sample for each in askers})
        found = late.look(askers, [{}, {}, {}], known.rounds, 3)
        choices = [Choice("it", tokens=1), Choice(), Choice()]
        if found is not None:
            looked.add(found[0])
            choices[found[0]] = Choice("it", tokens=1)
        chosen(late, askers, choices)
        late.saw([drafted(place, 1, 0) for place, choice in enumerate(choices) if choice.tokens])
    assert looked == {1, 2}


@pytest.mark.parametrize("controllers", [1, 2, 9, 16])
def test_runs_in_turns_learn_prices_all_the_same(controllers):
    """Between two calls of one of them the others have their rounds, and do not draft."""
    known = Experience()
    lates, asker = [late_of(known) for _ in range(controllers)], Asker(0, 3, ("it",), {"it": [(0.4, 1)]})
    for _ in range(40):
        known.of("it").pace.add(3.0, 1, 1)
    for step in range(1, 12):
        for late in lates:
            known.rounds += 1
            late.weigh([asker], never, {asker.sample})
            if late is lates[0]:
                late.chosen([asker], [Choice("it", tokens=1)], step, known.rounds)
                late.saw([drafted(0, 1, 0, late=1.0)])
    assert known.of("it").pace.tree(1, 1) < 2.6


def test_what_is_read_late_is_entered_for_the_round_it_was_in():
    known = Experience()
    late, asker = late_of(known), Asker(0, 3, ("it",), {})
    late.weigh([asker], never, {asker.sample})
    late.chosen([asker], [Choice("it", tokens=1)], 1, 1)
    for _ in range(9):
        known.of("it").pace.add(0.1, 1)
    count, known.rounds = known.of("it").pace._call.count, 500
    for step in range(2, 9):  # a decision that stood, read at the end
        late.chosen([asker], [Choice("it", tokens=1)], step, step)
    assert known.of("it").drafted_at == known.drafted_at == 8
    assert known.of("it").pace._call.count == count


def test_a_look_leaves_alone_what_others_keep_fresh():
    known = Experience()
    late, askers = late_of(known), [Asker(0, 3, ("it", "other"), {})]
    for known.rounds in range(1, 100):
        late.weigh(askers, never, {each.sample for each in askers})
        chosen(late, askers, [Choice("it", tokens=1)])
        known.upkeep.add(1, 1, 1.0)
    before = known.upkeep._drafting[1]._sums[0]
    chosen(late, askers, [Choice("other", tokens=1)])
    assert known.upkeep._drafting[1]._sums[0] == before > 20


def test_texts_that_promise_the_same_share_the_weighing():
    late, worths = late_of(Experience()), [(0.5, 1), (0.2, 2)]
    askers = [Asker(0, 9, ("it",), {"it": worths}), Asker(1, 9, ("it",), {"it": [*worths]}), Asker(2, 9, ("it",))]
    late.weigh(askers, never, {each.sample for each in askers})
    first, second, third = (late._promises[place, "it"] for place in range(3))
    assert first is second is not third


def test_a_look_is_at_the_text_whose_draft_is_most_likely_kept():
    known = Experience()
    for _ in range(3):
        known.of("it").pace.add(0.1, 1)
    late, known.rounds = late_of(known), 10**9
    askers = [Asker(number, 3, ("it",), {"it": [(chance, 1)]}) for number, chance in enumerate((0.2, 0.9, 0.4))]
    late.weigh(askers, never, {0, 1, 2})
    assert late.look(askers, [{}] * 3, 5, 3) == (1, "it")


def calls_of(rounds, passes=1, askers=2):
    """What is learnt of calls, when rounds of two texts come whose trees are a chain of three tokens."""
    known, found = Experience(), []
    known.of("it").pace.add = lambda *given: found.append(given)
    late, worths = late_of(known), {"it": [(0.9, 1), (0.8, 2), (0.7, 3)]}
    asked = [Asker(number, 3, ("it",), worths) for number in range(askers)]
    late.weigh(asked, never, {*range(askers)})
    chosen(late, asked, [Choice("it", tokens=3 - 2 * number) for number in range(askers)])
    late.saw(rounds, passes)
    return found


def test_a_call_for_several_is_learnt_by_its_deepest_tree_and_as_one_for_so_many():
    assert calls_of([drafted(0, 3, 1, late=0.3), drafted(1, 1, 1, late=0.5)]) == [(0.4, 2.0, 3, 1, 2)]


def test_calls_for_a_text_that_is_alone_are_learnt_one_by_one_at_first():
    rounds = [drafted(0, 3, 1, late=seconds) for seconds in (0.9, 0.3, 0.4)]
    assert calls_of(rounds, passes=3, askers=1) == [(seconds, 3.0, 3, 1, 1) for seconds in (0.9, 0.3, 0.4)]


def test_a_round_without_a_pass_tells_nothing_of_calls():
    assert calls_of([replace(drafted(0, 3, 1), pass_rows=0)], askers=1) == []


@pytest.mark.parametrize("rest", [RESTED, 10 * RESTED])
def test_what_rounds_with_drafts_took_before_a_rest_counts_for_less(rest):
    known, late, asker = dear()
    for _ in range(40):
        known.upkeep.add(1, 3, 2.0)
    chosen(late, [asker], [Choice("it", tokens=3)])
    known.rounds += rest
    chosen(late, [asker], [Choice("it", tokens=3)])
    for _ in range(3):
        known.upkeep.add(1, 3, 1.0)
    assert (known.upkeep.seconds(1, 3) < 1.85) == (rest > RESTED)


def test_what_is_read_late_makes_no_later_draft_an_old_one():
    known, late, asker = dear()
    late.chosen([asker], [Choice("it", tokens=1)], 3, 50)
    late.chosen([asker], [Choice("it", tokens=1)], 4, 30)
    assert known.drafted_at == known.of("it").drafted_at == 50
