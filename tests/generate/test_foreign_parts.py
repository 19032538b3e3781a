"""Parts of other packages: what they are given by name, and what they give back, is taken as it is meant or refused."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import truedraw.registry as registered
from known_laws import Scenario, TableDrafter, random_table
from models.tiny_models import random_tensors, tiny_config, write_folder
from truedraw import Model, load
from truedraw.draft.mix import MixDrafter
from truedraw.engine.cpu import CPUEngine
from truedraw.engine.tabular import TabularEngine
from truedraw.errors import BadParameter, EngineError, TruedrawError
from truedraw.generate.calls import Calls
from truedraw.generate.foreign_drafter import ForeignDrafter
from truedraw.generate.guarded_drafter import GuardedDrafter
from truedraw.generate.verdict import believed
from truedraw.models.toy import TOY_TABLE
from truedraw.protocol import Proposal, Verdict
from truedraw.testing.runs import run
from truedraw.verify.token import TokenVerifier
from truedraw.verify.traversal import TraversalVerifier

CASE = Scenario("foreign", random_table(3, 1, 50), random_table(3, 1, 51), draft_tokens=3, max_tokens=8)


class Seeing:
    """A drafter that drafts nothing and tells what its constructor got."""

    def open(self, tokens, law):
        return self

    def commit(self, tokens, scores):
        pass

    def propose(self, states, budgets, randomness):
        return [Proposal.chain([])] * len(states)


class Settings(Seeing):
    def __init__(self, vocab_size, siblings=2, blending=0.5, inner=3, tempering=True, models="none", knobs=7):
        type(self).seen = {name: value for name, value in locals().items() if name not in ("self", "__class__")}


class Common(Seeing):
    def __init__(self, num_speculative_tokens, draft_timeout=None, adaptive=None, order=1):
        type(self).seen = {name: value for name, value in locals().items() if name not in ("self", "__class__")}


class NumpysNumbers(TokenVerifier):
    def __call__(self, *given):
        verdict = super().__call__(*given)
        return Verdict([np.int64(each) for each in verdict.tokens], np.int64(verdict.num_accepted), verdict.rejected)


class ClaimsFifty(TokenVerifier):
    def __call__(self, *given):
        verdict = super().__call__(*given)
        return Verdict(verdict.tokens, 50, verdict.rejected)


class NoNumbers(TokenVerifier):
    def __call__(self, *given):
        return Verdict((0.5,), 0, rejected=False)


class Mute(Exception):
    def __str__(self):
        raise RuntimeError("no words")


class Raises(TokenVerifier):
    def __call__(self, *given):
        raise Mute


class Nothing(TokenVerifier):
    def __call__(self, *given):
        return None


class OutsideTheVocabulary(TokenVerifier):
    def __call__(self, *given):
        return Verdict((-1,), 0, rejected=False)


class Mine:
    @staticmethod
    def load(checkpoint, threads=None):
        return CPUEngine.load(checkpoint, numerics="reference", threads=threads)


class WithoutFiles:
    pass


class Point:
    def __init__(self, kind) -> None:
        self.name, self.load, self.value = kind.__name__, lambda: kind, "test"


@pytest.fixture(autouse=True)
def plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    groups = {"truedraw.drafters": (Settings, Common), "truedraw.engines": (Mine, WithoutFiles),
              "truedraw.verifiers": (NumpysNumbers, ClaimsFifty, OutsideTheVocabulary, NoNumbers, Nothing,
                                      Raises)}  # fmt: skip
    points = {group: [Point(kind) for kind in kinds] for group, kinds in groups.items()}

    def entry_points(group, name=None):
        return [point for point in points.get(group, ()) if name in (None, point.name)]

    monkeypatch.setattr(registered, "entry_points", entry_points)


def test_names_that_only_built_in_drafters_are_given_are_settings_of_a_plug_in() -> None:
    own = {"siblings": 5, "blending": 0.25, "inner": 9, "tempering": False, "models": "some", "knobs": 1}
    with load("tabular") as model:
        model.generate("the cat", speculative="Settings", max_tokens=2)
        assert Settings.seen == {"vocab_size": model.engine.vocab_size, "siblings": 2, "blending": 0.5, "inner": 3,
                                 "tempering": True, "models": "none", "knobs": 7}  # fmt: skip
        model.generate("the cat", speculative={"method": "Settings", **own}, max_tokens=2)
        assert Settings.seen == {"vocab_size": model.engine.vocab_size, **own}
        with pytest.raises(BadParameter, match="draft_top_k"):
            model.generate("the cat", speculative={"method": "Settings", "draft_top_k": 3}, max_tokens=2)


def test_a_plug_in_that_names_a_common_key_gets_it() -> None:
    with load("tabular") as model:
        given = {"num_speculative_tokens": 5, "draft_timeout": 9.0, "adaptive": False}
        model.generate("the cat", speculative={"method": "Common", **given}, max_tokens=2)
        assert Common.seen == {**given, "order": 1}
        model.generate("the cat", speculative={"method": "Common", "order": 4}, max_tokens=2)
        assert Common.seen == {"num_speculative_tokens": 7, "draft_timeout": 30.0, "adaptive": True, "order": 4}


def test_a_part_of_another_drafter_gets_the_time_that_holds() -> None:
    with load("tabular") as model:
        config = {"method": "auto", "auto_sources": ["Common"], "draft_timeout": 3.0}
        model.generate("the cat", speculative=config, max_tokens=2)
        assert Common.seen["draft_timeout"] == 3.0


def test_a_verdict_of_numpys_numbers_can_be_written() -> None:
    with load("tabular") as model:
        found = model.generate("the cat", speculative={"rejection_sample_method": "NumpysNumbers"}, max_tokens=20)
    assert json.loads(json.dumps(found.to_dict()))["choices"][0]["text"] == found.choices[0].text


@pytest.mark.parametrize(("name", "said"), [
    ("ClaimsFifty", r"the rule 'ClaimsFifty' accepted 50 of \d+ drafts and gave \d+ tokens"),
    ("NoNumbers", r"the rule 'NoNumbers' gave Verdict\(tokens=\(0\.5,\).*; give a Verdict of whole numbers"),
    ("Nothing", "the rule 'Nothing' gave None; give a Verdict"),
    ("OutsideTheVocabulary", r"the rule 'OutsideTheVocabulary' gave the tokens \(-1,\); the target's are 0 to"),
])  # fmt: skip
def test_a_verdict_that_cannot_be(name, said) -> None:
    with load("tabular") as model, pytest.raises(TruedrawError, match=said):
        model.generate("the cat sat", speculative={"rejection_sample_method": name}, max_tokens=20)


@pytest.mark.parametrize(("tokens", "kept", "said"), [
    ((1,), 1, "accepted 1 of 2 drafts and gave 1 tokens; give one more"), ((1, 2, 0), 1, "gave 3 tokens"),
    ((), 0, "gave 0 tokens"), ((1, 2, 0, 1), 3, "accepted 3 of 2 drafts"), ((), -1, "accepted -1 of 2 drafts"),
    ((1, 3), 1, r"gave the tokens \(1, 3\); the target's are 0 to 2"), ((3,), 0, "the target's are 0 to 2"),
])  # fmt: skip
def test_a_verdict_by_one_too_many_or_too_few(tokens, kept, said) -> None:
    with pytest.raises(TruedrawError, match=said):
        believed(Verdict(tokens, kept, rejected=False), Proposal.chain([1, 2]), 3, Nothing())
    whole = Verdict((1, 2, 2), 2, rejected=False)
    assert believed(whole, Proposal.chain([1, 2]), 3, Nothing()) is whole


@pytest.mark.parametrize("given", [Verdict((1,), 0, np.False_, coupled=True), Verdict([1], 0, 0, coupled=True)])
def test_what_a_verdict_says_beside_its_tokens_is_kept(given) -> None:
    found = believed(given, Proposal.chain([1, 2]), 3, Nothing())
    assert (found.tokens, found.num_accepted, found.rejected, found.coupled) == ((1,), 0, False, True)
    assert type(found.rejected) is bool


@pytest.mark.parametrize("tokens", [(3, 0, 0), (0, 3, 0), (0, 0, 3), (-1, 0, 0), (0, -1, 0), (0, 0, -1)])
def test_no_token_of_a_verdict_lies_outside_the_vocabulary(tokens) -> None:
    with pytest.raises(TruedrawError, match="the target's are 0 to 2"):
        believed(Verdict(tokens, 2, rejected=False), Proposal.chain([1, 2]), 3, Nothing())


def test_an_error_that_says_nothing_ends_its_own_text() -> None:
    with load("tabular") as model, model.batch() as batch:
        raising, sound = (
            batch.add("the cat", speculative={"rejection_sample_method": rule}, max_tokens=3, ignore_eos=True)
            for rule in ("Raises", "token")
        )
        assert len(list(batch.completed())) == 2
    said = "a part of the run raised Mute, which does not say why (in test_foreign_parts.py, line "
    assert str(raising.error).startswith(said)
    assert str(raising.error).endswith("Raises.__call__)")
    assert sound.error is None


def test_an_engine_by_its_name(tmp_path) -> None:
    folder = write_folder(tmp_path / "tiny", tiny_config(), random_tensors(tiny_config()))
    with load(folder, engine="Mine", threads=1, cache=tmp_path / "cache") as model:
        assert model.engine.numerics == "reference"
        assert len(model.generate("hello", max_tokens=3, ignore_eos=True).choices[0].tokens) == 3
    with pytest.raises(BadParameter, match="weights: got 'int8', but the engine Mine has no such setting"):
        load(folder, engine="Mine", weights="int8")
    with pytest.raises(BadParameter, match="runs no model from a file; choose one of: openvino, pytorch, Mine"):
        load(folder, engine="WithoutFiles")


ODD_ROWS = {
    "wider than its tokens": lambda rows: np.pad(rows, ((0, 0), (0, 2))),
    "narrower": lambda rows: rows[:, 1:],
    "a row too many": lambda rows: np.concatenate([rows, rows[:1]]),
    "lists of unlike lengths": lambda rows: [[0.0], *rows.tolist()],
    "of half precision": lambda rows: rows.astype(np.float16),
    "none": None,
}


@pytest.mark.parametrize("settings", [
    {"speculative": False}, {"speculative": False, "n": 3}, {"speculative": "ngram"}, {}, {"top_p": 0.9},
], ids=str)  # fmt: skip
@pytest.mark.parametrize("odd", ODD_ROWS)
def test_an_engine_whose_rows_are_others_than_it_says_draws_no_token(odd, settings) -> None:
    class Odd(TabularEngine):
        def forward(self, works, fills=()):
            found = super().forward(works, fills)
            change = ODD_ROWS[odd]
            return [replace(each, logits=change(each.logits)) for each in found] if change else found[1:]

    with load("tabular") as toy:
        model = Model("odd", Odd(TOY_TABLE), toy.tokenizer)
        run = model.start("the cat sat the cat", max_tokens=5, ignore_eos=True, **settings)
        with pytest.raises(EngineError, match=r"the engine gave logits of these shapes and types: \["):
            list(run)
        assert not any(choice.tokens for choice in run.result().choices)


@pytest.mark.parametrize(
    "made",
    [lambda found: None, iter, lambda found: [None], lambda found: [found[0].logits]],
    ids=["nothing", "an iterator", "no scores", "arrays"],
)
def test_an_engine_that_gives_no_list_of_scores_is_told_what_to_give(made) -> None:
    class Odd(TabularEngine):
        def forward(self, works, fills=()):
            return made(super().forward(works, fills))

    with load("tabular") as toy:
        model = Model("odd", Odd(TOY_TABLE), toy.tokenizer)
        with pytest.raises(EngineError, match=r"the engine gave .*; give a list with a protocol.Scores for each text"):
            model.generate("the cat sat", max_tokens=5)


# --------------------------------------------------------------------------------------------------- what drafters do


class Counting(TableDrafter):
    """Counts its budgets down, and empties its lists when it is done."""

    def propose(self, states, budgets, randomness):
        found = super().propose(states, budgets, randomness)
        for place in range(len(budgets)):
            budgets[place] = 0
        for each in (states, budgets, randomness):
            each.clear()
        return found


class Seeded:
    def sample(self, index):
        from truedraw.sampling.randomness import PhiloxRandomness

        return PhiloxRandomness(3, index)


def test_what_a_drafter_does_to_its_lists_is_its_own_affair() -> None:
    guard = GuardedDrafter(Counting(CASE.draft), 3)
    plain = run(CASE, Seeded(), TraversalVerifier(), TableDrafter(CASE.draft), n=2)
    assert run(CASE, Seeded(), TraversalVerifier(), guard, n=2) == plain
    assert guard.fault is None


@pytest.mark.parametrize("kind", ["f2", "longdouble", ">f8", "?", "c16"])
def test_laws_of_numbers_that_no_rule_reads_end_drafting_and_not_the_text(kind) -> None:
    class Odd(TableDrafter):
        def propose(self, states, budgets, randomness):
            found = super().propose(states, budgets, randomness)
            return [Proposal(p.tokens, p.parents, tuple(law.astype(kind) for law in p.laws)) for p in found]

    guard = GuardedDrafter(Odd(CASE.draft), 3)
    (text,) = run(CASE, Seeded(), TraversalVerifier(), guard)
    assert len(text) == CASE.max_tokens
    assert "give an array of float64, or float32" in guard.fault


@pytest.mark.parametrize("kind", ["f8", "f4"])
def test_laws_of_numbers_that_rules_read(kind) -> None:
    class Usual(TableDrafter):
        def propose(self, states, budgets, randomness):
            found = super().propose(states, budgets, randomness)
            return [Proposal(p.tokens, p.parents, tuple(law.astype(kind) for law in p.laws)) for p in found]

    guard = GuardedDrafter(Usual(CASE.draft), 3)
    run(CASE, Seeded(), TraversalVerifier(), guard)
    assert guard.fault is None


class Lists(TableDrafter):
    """Says the same as its base, in something that is no Proposal of arrays."""

    def __init__(self, tables=CASE.draft, kind="list") -> None:
        super().__init__(tables)
        self.kind = kind

    def propose(self, states, budgets, randomness):
        return [self.said(proposal) for proposal in super().propose(states, budgets, randomness)]

    def said(self, proposal):
        tokens, parents = proposal.tokens, proposal.parents
        return {
            "list": tokens.tolist(),
            "nothing": None,
            "lists": Proposal(tokens.tolist(), parents.tolist(), proposal.laws),
            "no laws": Proposal(tokens, parents, None),
            "an opinion": Proposal(tokens, parents, proposal.laws, [0.5] * len(tokens)),
        }[self.kind]


SAID = {
    "list": "a text got a list; give a protocol.Proposal",
    "nothing": "a text got a NoneType; give a protocol.Proposal",
    "lists": "draft tokens are a list and their parents a list; give int64 arrays",
    "no laws": "the laws of the draft tokens are a NoneType; give a tuple",
    "an opinion": "give a float array with a number from 0 to 1 for each node",
}


@pytest.mark.parametrize("kind", SAID)
@pytest.mark.parametrize("calls", [Calls(), Calls(beside=True)])
def test_what_is_no_proposal_is_told_as_such_also_of_a_source_of_a_mix(kind, calls) -> None:
    alone, sources = GuardedDrafter(Lists(kind=kind), 3, calls), [ForeignDrafter(Lists(kind=kind), calls)]
    mixed = GuardedDrafter(MixDrafter(lambda _: sources[0], sources=["ngram"]), 3)
    for guard in (alone, mixed):
        (text,) = run(CASE, Seeded(), TraversalVerifier(), guard)
        assert len(text) == CASE.max_tokens
        assert "BadProposal" in guard.fault
        assert SAID[kind] in guard.fault


class InPlaceOfTheList(TableDrafter):
    """Gives what `made` makes of its list of proposals."""

    def __init__(self, made) -> None:
        super().__init__(CASE.draft)
        self.made = made

    def propose(self, states, budgets, randomness):
        return self.made(super().propose(states, budgets, randomness))


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda found: None, "1 texts got a NoneType; give a list with a protocol.Proposal for each"),
        (lambda found: found[0], "1 texts got a Proposal; give a list with a protocol.Proposal for each"),
        (lambda found: found * 2, "1 texts got 2 proposals; give one each"),
        (lambda found: [], "1 texts got 0 proposals; give one each"),
    ],
)
def test_what_is_no_list_of_a_proposal_for_each_text_is_told_also_of_a_source_of_a_mix(made, said) -> None:
    alone, source = GuardedDrafter(InPlaceOfTheList(made), 3), ForeignDrafter(InPlaceOfTheList(made), Calls())
    for guard in (alone, GuardedDrafter(MixDrafter(lambda _: source, sources=["ngram"]), 3)):
        (text,) = run(CASE, Seeded(), TraversalVerifier(), guard)
        assert len(text) == CASE.max_tokens
        assert said in guard.fault
