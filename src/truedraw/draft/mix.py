"""Several sources in one tree, each with its law.

The verifier only asks for the law of each draft given everything drawn before it (verify/traversal.py), so a tree may
hold a model's chain with branches by lookup beside it, samples of two models, or the guesses of many lookups. Why the
tree is one that it can verify is said in mix_tree.py.

Certain sources cost next to nothing and are asked for as much as there is room for: their trees are laid over one
another, and of the whole the nodes are drafted that are likeliest reached, by the product of `Proposal.confidence`
along their paths. What a source says of itself is weighed by how often its tokens, drafted or not, came to stand in
the text.

A source that draws from a law is asked for as much as will be kept, before it draws: what it drew is never cut. It has
all that certain branches leave: at most `mix_certain_share` of the budget is theirs beside it, less where they offer
less, and more where it draws less. Under coupled verification every draft is certain.

Which sources draw is not known beforehand. A source is thought to be certain until it hands over a law, and one that
does so unexpectedly keeps all that it drew: nobody asks for more than there is room left.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from truedraw.draft.chances import OwnChance
from truedraw.draft.mix_round import MixRound
from truedraw.draft.mix_sources import Trust
from truedraw.draft.several import named
from truedraw.draft.site import Inner, close_each
from truedraw.errors import BadParameter
from truedraw.protocol import DraftState, Law, LooksAhead, Proposal, Randomness, Scores
from truedraw.protocol.able import is_able
from truedraw.sampling.ranges import SHARE
from truedraw.sampling.values import shown

SOURCES = ("suffix", "ngram", "recycle")
CERTAIN = (*SOURCES, "prediction", "lookahead", "string-match")  # of ours, those that never draw from a law
CERTAIN_SHARE = 0.3
LENGTH = "num_speculative_tokens"
MODEL = "model"  # the method of a config that names a model and no method
MOST_SOURCES = 8  # so that draws of sources inside sources keep names of their own


class MixState:
    """protocol.DraftState: that of each source, None where it cannot look ahead, and what is known of the sources."""

    def __init__(self, states: Sequence[DraftState | None], draws: list[bool], trusts: Sequence[Trust]) -> None:
        self.states, self.draws, self.trusts = states, draws, trusts
        self.offered: dict[int, Proposal] = {}  # in the round under way, by the sources that were certain

    def commit(self, tokens: Sequence[int], scores: Scores) -> None:
        """Append."""
        offered, self.offered = self.offered, {}
        for source, proposal in offered.items():
            self.trusts[source].learn(proposal, tokens)
        for state in self.states:
            if state is not None:
                state.commit(tokens, scores)

    def ahead(self, tokens: Sequence[int]) -> MixState:
        """protocol.LooksAhead: of the sources that can."""
        states = [state.ahead(tokens) if is_able(state, LooksAhead) else None for state in self.states]
        return MixState(states, self.draws, self.trusts)

    def close(self) -> None:
        """Give back what the sources hold."""
        close_each(self.states)


class MixDrafter:
    """protocol.Drafter of several, each made by `inner`. Raises BadParameter.

    sources: methods by name, or speculative configs with a `method` and its settings, the best first: where a place
    can be had by several it goes to the one that is named first.
    mix_certain_share: of the draft tokens of a round, how many certain branches may take from sources that draw.
    `trees` says whether the rule takes trees of any kind; None: not known.
    """

    def __init__(
        self,
        inner: Inner,
        *,
        sources: Sequence[str | Mapping[str, Any]] = SOURCES,
        mix_certain_share: float = CERTAIN_SHARE,
        trees: bool | None = None,
    ) -> None:
        check_sources(sources)
        check_share(mix_certain_share, sources)
        check_rule(trees)
        self._share = mix_certain_share
        self._sources: list[Any] = [inner(source) for source in sources]
        self._names = [source if isinstance(source, str) else str(source.get("method", MODEL)) for source in sources]

    def open(self, tokens: Sequence[int], law: Law) -> MixState:
        """A state of every source."""
        states = []
        for name, source in zip(self._names, self._sources, strict=True):
            with named_in_errors(name):
                states.append(source.open(tokens, law))
        return MixState(states, [False] * len(states), [Trust() for _ in states])

    def propose(
        self, states: Sequence[Any], budgets: Sequence[int], randomness: Sequence[Randomness]
    ) -> list[Proposal]:
        """One tree a state; every source is asked once for all texts of which it is thought to draw, or not to."""
        rounds = [
            MixRound(budget, self._share, state.draws, state.trusts)
            for state, budget in zip(states, budgets, strict=True)
        ]
        thought = [tuple(state.draws) for state in states]
        for drawing in (False, True):
            for source in range(len(self._sources)):
                able = [i for i, draws in enumerate(thought) if draws[source] is drawing]
                self._ask(source, [(states[i], rounds[i], randomness[i]) for i in able])
        for state, each in zip(states, rounds, strict=True):
            state.offered = each.offered
        return [each.ended() for each in rounds]

    def close(self) -> None:
        """Give back what the sources hold."""
        close_each(self._sources)

    def _ask(self, source: int, texts: Sequence[tuple[MixState, MixRound, Randomness]]) -> None:
        """Source number `source`, for all texts in one call."""
        rooms = [each.room(source) for _, each, _ in texts]
        asked = [i for i, room in enumerate(rooms) if room > 0 and texts[i][0].states[source] is not None]
        if not asked:
            return
        with named_in_errors(self._names[source]):
            proposals = self._sources[source].propose(
                [texts[i][0].states[source] for i in asked],
                [rooms[i] for i in asked],
                [OwnChance(texts[i][2], source, len(self._sources)) for i in asked],
            )
            for i, proposal in zip(asked, proposals, strict=True):
                texts[i][1].hear(source, proposal, rooms[i])


@contextmanager
def named_in_errors(
    source: str, part: str = "a source of the mix", kind: type[Exception] = Exception
) -> Iterator[None]:
    """Whoever reads of an error of this kind shall know in which part of the drafter it was."""
    try:
        yield
    except kind as error:
        error.add_note(f"in {source}, {part}")
        raise


def check_rule(trees: bool | None) -> None:
    """Raises BadParameter for a rule that takes chains only."""
    if trees is False:
        raise BadParameter(
            "rejection_sample_method",
            'the method mix drafts trees, and this rule takes chains only; leave it out, or give "traversal", '
            '"recursive" or "coupled", which take every tree',
        )


def check_share(share: float, sources: Sequence[str | Mapping[str, Any]]) -> None:
    """Raises BadParameter for what is no share, or is of nothing: where every draft is certain, or there is one source.

    Whether a source of somebody else draws is not known.
    """
    SHARE.check("mix_certain_share", share)
    methods = [each["method"] for each in named(sources, "sources").values()]
    if share != CERTAIN_SHARE and (len(methods) == 1 or all(method in CERTAIN for method in methods)):
        raise BadParameter(
            "mix_certain_share",
            f"got {shown(share)}, but no source of these draws from a law beside certain ones; "
            'leave it out, or name one that does, "ngram-lm" for instance',
        )


def check_sources(sources: object) -> None:
    """Raises BadParameter unless they are names or configs of drafters, a few of them and each another one."""
    if isinstance(sources, str | Mapping) or not isinstance(sources, Sequence):
        raise BadParameter("sources", f'got {shown(sources)}; give a list of methods, as in ["suffix", "ngram"]')
    if not 1 <= len(sources) <= MOST_SOURCES:
        raise BadParameter("sources", f"got {len(sources)}; give 1 to {MOST_SOURCES} methods")
    if any(source.get(LENGTH) is not None for source in named(sources, "sources").values()):
        raise BadParameter(LENGTH, "sources of a mix share the draft tokens of a round; give their number beside them")
