"""Several drafters over one text (method auto): a controller chooses among them, round by round.

All of them see the text grow. What each offers is weighed by what became of its earlier offers (control/), so the
choice never depends on the fate of the token it is about.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

from truedraw.draft.chances import OwnChance
from truedraw.draft.site import Inner, close_each, hear
from truedraw.errors import BadParameter
from truedraw.protocol import NOTHING, Drafter, DraftState, Law, LooksAhead, Proposal, Randomness, Scores
from truedraw.protocol.able import is_able
from truedraw.sampling.values import shown

ALWAYS_GOOD = ("suffix", "ngram-lm")
"""Drafters that need nothing but the text: one for what repeats, one for what does not."""
WITH_HEAD = ("suffix", "head-ngram")
"""Where the target was loaded for a trained head: it and the counts make one law, which is asked once."""
WITH_ATTENTION = ("suffix", "head")
"""Where that head looks back: it knows by itself what counts could tell it, see docs/lab-notes.md."""
WITH_EAGLE = (*ALWAYS_GOOD, "eagle")
NOBODY = "none"  # the method that drafts nothing

LONGEST_TOLD = 40  # characters of a setting in a drafter's name


class Source(NamedTuple):
    """One of the drafters of a job."""

    drafter: Drafter  # the job's own
    asked: Drafter  # who proposes for these and other jobs' texts in one call


class SeveralStates:
    """protocol.DraftState: every drafter's own, None where one cannot look ahead."""

    def __init__(self, states: Mapping[str, DraftState | None]) -> None:
        self.states = states

    def commit(self, tokens: Sequence[int], scores: Scores) -> None:
        """All of them go on."""
        for state in self.states.values():
            if state is not None:
                state.commit(tokens, scores)

    def doze(self, tokens: Sequence[int], scores: Scores) -> None:
        """The same in a round behind which none of them is asked, see protocol.Dozes."""
        for state in self.states.values():
            if state is not None:
                hear(state, tokens, scores, dozing=True)

    def follow(self, tokens: Sequence[int], scores: Scores, source: str) -> None:
        """The same in a round behind which that one alone is asked."""
        for name, state in self.states.items():
            if state is not None:
                hear(state, tokens, scores, dozing=name != source)

    def ahead(self, tokens: Sequence[int]) -> SeveralStates:
        """protocol.LooksAhead, as far as each can."""
        return SeveralStates(
            {name: state.ahead(tokens) if is_able(state, LooksAhead) else None
             for name, state in self.states.items()}
        )  # fmt: skip

    def close(self) -> None:
        """Give back what they hold."""
        close_each(self.states.values())


class SeveralDrafters:
    """protocol.Drafter. Asked as one drafter, without a controller that chooses, it gives the first that has anything.

    auto_sources: the drafters, each a method's name or a speculative config; the cheaper one first.
    Raises BadParameter.
    """

    def __init__(self, inner: Inner, auto_sources: Sequence[Mapping[str, Any] | str] = ALWAYS_GOOD) -> None:
        self.sources = {name: Source(drafter := inner(config), drafter) for name, config in named(auto_sources).items()}

    @classmethod
    def of(cls, sources: Mapping[str, Source]) -> SeveralDrafters:
        """Over drafters that exist."""
        made = cls.__new__(cls)
        made.sources = dict(sources)
        return made

    @property
    def fault(self) -> str | None:
        """Which of them were switched off, and why; None while all run."""
        faults = {name: getattr(source.drafter, "fault", None) for name, source in self.sources.items()}
        return "; ".join(f"{name}: {fault}" for name, fault in faults.items() if fault) or None

    def open(self, tokens: Sequence[int], law: Law) -> SeveralStates:
        """Start all of them on a text."""
        return SeveralStates({name: source.drafter.open(tokens, law) for name, source in self.sources.items()})

    def propose(
        self, states: Sequence[Any], budgets: Sequence[int], randomness: Sequence[Randomness]
    ) -> list[Proposal]:
        """Of each state the first that is not empty; nobody is asked behind one that had something to offer."""
        found: dict[int, Proposal] = {}
        for number, (name, source) in enumerate(self.sources.items()):
            left = [i for i, state in enumerate(states) if i not in found and state.states[name] is not None]
            own = [states[i].states[name] for i in left]
            chances = [OwnChance(randomness[i], number, len(self.sources)) for i in left]
            proposals = source.drafter.propose(own, [budgets[i] for i in left], chances)
            found |= {i: proposal for i, proposal in zip(left, proposals, strict=True) if len(proposal)}
        return [found.get(i, NOTHING) for i in range(len(states))]

    def close(self) -> None:
        """Close all of them."""
        close_each(source.drafter for source in self.sources.values())


def named(configs: Sequence[Mapping[str, Any] | str], key: str = "auto_sources") -> dict[str, Mapping[str, Any]]:
    """Configs by a name for each: its method and settings. Raises BadParameter for `key`."""
    if isinstance(configs, str | bytes) or not isinstance(configs, Sequence) or not configs:
        raise BadParameter(key, f"got {shown(configs)}; give a list of methods or speculative configs")
    found: dict[str, Mapping[str, Any]] = {}
    for config in configs:
        whole = {"method": config} if isinstance(config, str) else config
        if isinstance(whole, Mapping) and "method" not in whole and "model" in whole:
            whole = {"method": "model", **whole}
        if not isinstance(whole, Mapping) or not isinstance(whole.get("method"), str):
            raise BadParameter(key, f"got {shown(config)} in it; give a method, or a config with a method")
        if whole["method"] in (NOBODY, "auto"):
            raise BadParameter(key, f"{whole['method']} drafts nothing by itself; leave it out, or name others")
        name = name_of(whole["method"], {key: value for key, value in whole.items() if key != "method"})
        if name in found:
            raise BadParameter(key, f"{name} stands there twice; name it once")
        found[name] = whole
    return found


def name_of(method: str, settings: Mapping[str, Any]) -> str:
    """What a drafter is called where its like are told apart, and what is known about it is kept."""
    told = ", ".join(f"{key}={short(value)}" for key, value in sorted(settings.items()))
    return f"{method}({told})" if told else method


def short(value: Any) -> str:
    """A setting in few characters; long ones that begin alike differ at their ends."""
    try:
        text = str(value)
    except ValueError:  # a number of more digits than Python writes out
        return shown(value)
    if len(text) <= LONGEST_TOLD:
        return text
    return f"{text[: LONGEST_TOLD // 2]}...{blake2b(text.encode(), digest_size=4).hexdigest()}"


def sources_of(drafter: Drafter, asked: Drafter | None, name: str) -> Mapping[str, Source]:
    """A job's drafters by name; `name` is that of one that stands for itself."""
    return drafter.sources if isinstance(drafter, SeveralDrafters) else {name: Source(drafter, asked or drafter)}


def state_of(state: DraftState, source: str) -> DraftState | None:
    """What one of the drafters knows of a text."""
    return state.states[source] if isinstance(state, SeveralStates) else state
