"""How much to draft, and what is known of every round."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence as Seq
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from truedraw.protocol.arrays import Ints, Origin
from truedraw.protocol.drafting import Proposal

TopLogprobs = tuple[tuple[int, float], ...]
"""The likeliest tokens of a place and the natural logs of their probabilities by the model, in descending order."""


@dataclass(frozen=True, slots=True)
class Round:
    """What a reader may want to know of one round of one sample; every statistic is computed from these."""

    sample: int  # its number, which no two running samples share
    tokens: tuple[int, ...]  # what was committed, after the stop rules
    origins: tuple[Origin, ...]
    logprobs: tuple[float, ...]  # natural log of the model's probability, before the transforms
    sampling_logprobs: tuple[float, ...]  # natural log of p, after them
    drafted: int
    accepted: int  # as the verifier counted, the stop rules not applied
    forced: int = 0  # tokens among `tokens` that had to come; neither drafted nor accepted counts them
    draft_seconds: float = 0.0  # that drafters took for this text, its share of a call for several
    late_seconds: float | None = None  # of these, what it took who was asked by a decision; None: nobody was
    engine_seconds: float = 0.0  # the round's share of its pass
    seconds: float = 0.0  # both, and the round's share of all that is nobody's own
    pass_rows: int = 0  # rows of the pass that scored it, those of all texts
    padding_rows: int = 0  # that the engine computed beside them; both are what its seconds were spent on
    source: str = ""  # which of its drafters drafted, "" = none
    finish_reason: str | None = None  # "stop", "length" or "interrupted" in the sample's last round
    top_logprobs: tuple[TopLogprobs, ...] = ()  # of the places of `tokens`, as many as the job asked for


@dataclass(frozen=True, slots=True)
class Asker:
    """One running sample before its drafts are drawn."""

    sample: int  # its number, as Round.sample will have it
    room: int  # draft tokens at most
    sources: tuple[str, ...]  # the drafters it can have them from, by name
    worths: Mapping[str, Seq[tuple[float, int]]] = field(default_factory=dict)  # of sources that tell it, see Shapes
    coupled: bool = False  # whether the rule is: a drafter may draw from a law under one kind, and not under the other
    length: int = 0  # tokens of its text


@dataclass(frozen=True, slots=True)
class Choice:
    """What a sample gets: nodes of a proposal that its asker was offered, or tokens still to be drafted by a source."""

    source: str = ""  # "" = nothing, which is plain sampling
    nodes: Ints | None = None  # [kept] of the proposal that `source` offered, in its order
    tokens: int = 0  # to be drafted by `source`, which was not asked before
    then: tuple[str, ...] = ()  # who is asked for as many, in this order, while `source` has none


@dataclass(frozen=True, slots=True)
class Stand:
    """What is decided for a text, one that is alone or one of several, for rounds to come."""

    rounds: int  # from the next one on
    source: str = ""  # as in Choice; where tokens are drafted and it is "", the only one that there is
    tokens: int = 0  # to be drafted in each of them
    rest: int = 0  # what Rests says of the first of them


class Controller(Protocol):
    """How much to draft, and by whom. It decides in two steps, so that drafts that cost nothing can be weighed.

    Nothing that was sampled is ever weighed (algorithm L2), neither its values nor how much of it there is: a proposal
    that has laws is taken whole or not at all, and which of the two is settled before it is drawn.
    """

    def budget(self, askers: Seq[Asker]) -> list[dict[str, int]]:
        """For each running sample the draft tokens that some of its sources shall offer; {} = none."""
        ...

    def choose(
        self, askers: Seq[Asker], offers: Seq[Mapping[str, Proposal]], seconds: Mapping[str, float]
    ) -> list[Choice]:
        """What each takes of the offers, by source, that `budget` asked for, or what is to be drafted instead.

        `seconds` are what each source took for all its offers.
        """
        ...

    def observe(self, rounds: Seq[Round]) -> None:
        """Learn from what happened."""
        ...


@runtime_checkable
class HearsPrompts(Protocol):
    """A controller that wants to know of passes that scored nobody, of which there are no rounds. Optional."""

    def prompts(self, rows: int) -> None:
        """One computed so many rows of prompts; it is called in place of `observe`."""
        ...


@runtime_checkable
class Rests(Protocol):
    """A controller that knows beforehand whom it is not going to ask. Optional; it saves the asking."""

    def rest(self, samples: Seq[int]) -> Seq[int]:
        """For each of these samples the rounds, beginning with the present one, in which nothing is drafted for it.

        It is called first in every round. The round goes on with `budget` and `choose` for those who have 0, if there
        are any, and `observe` follows. Rounds behind the present one are a guess, by which drafters listen or doze.
        """
        ...


@runtime_checkable
class Stands(Protocol):
    """A controller that knows what it will decide. Optional; such rounds may be computed one behind the other, before
    anybody is told of them.
    """

    def stands(self, samples: Seq[int]) -> Seq[Stand] | None:
        """For each of the texts of its next rounds, for as many rounds. Asked before a round begins, or in one that was
        weighed, of those behind it; it changes nothing. None: that round has to be weighed.

        Of each round `rest`, `budget`, `choose` and `observe` are called later as ever, but for offers: those are there
        already, as was said here.
        """
        ...
