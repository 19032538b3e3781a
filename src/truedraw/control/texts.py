"""What is known of each running text: how it takes the drafts of each drafter, and what they last offered it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field

from truedraw.control.experience import Experience
from truedraw.control.offers import Offer, survivals
from truedraw.control.opinion import Lean, log_odds
from truedraw.control.shadow import Shadow
from truedraw.protocol import Asker, Proposal, Round

FORGET = 4  # times as many texts remembered as there are


@dataclass(slots=True)
class Text:
    """One of them, by drafter."""

    coupled: bool
    leans: dict[str, Lean] = field(default_factory=dict)
    shadows: dict[str, Shadow] = field(default_factory=dict)


class Texts:
    """Those of one controller; `known` learns from all of them."""

    def __init__(self, known: Experience) -> None:
        self._known = known
        self._texts: dict[int, Text] = {}
        self._lengths: dict[int, int] = {}  # tokens

    def among(self, present: Set[int]) -> None:
        """Samples that are here now; of others, some were cancelled."""
        if len(self._texts) > FORGET * len(present):
            self._texts = {sample: text for sample, text in self._texts.items() if sample in present}

    def length(self, askers: Sequence[Asker], present: Set[int]) -> float:
        """Tokens of those who are here, in the mean, as each was asked for last; these are just now."""
        known = {sample: tokens for sample, tokens in self._lengths.items() if sample in present}
        self._lengths = known | {asker.sample: asker.length for asker in askers}
        return sum(self._lengths.values()) / len(self._lengths)

    def offers(self, asker: Asker, made: Mapping[str, Proposal]) -> list[Offer]:
        """What was made for a text, by drafter, as far as it can be weighed."""
        text = self._texts.setdefault(asker.sample, Text(asker.coupled))
        weighed = [self._offer(text, source, proposal) for source, proposal in made.items() if len(proposal)]
        return [offer for offer in weighed if offer is not None]

    def follow(self, done: Round) -> None:
        """Learn what would have become of each offer."""
        text = self._texts.get(done.sample)
        if text is None:
            return
        for source, shadow in tuple(text.shadows.items()):
            fates = shadow.follow(done.tokens, done.forced)
            self._known.of(source, text.coupled).opinion.learn(fates, text.leans[source])
            if shadow.ended:
                del text.shadows[source]
        if done.finish_reason is not None:
            del self._texts[done.sample]

    def _offer(self, text: Text, source: str, proposal: Proposal) -> Offer | None:
        """None for an offer with laws: what was drawn to be weighed is always thrown away, and not asked for again."""
        record, lean = self._known.of(source, text.coupled), text.leans.setdefault(source, Lean())
        if any(law is not None for law in proposal.laws):
            record.is_certain = False
            return None
        if source not in text.shadows:
            text.shadows[source] = Shadow(proposal, log_odds(proposal))
        return Offer(source, survivals(proposal, record.opinion.chances(proposal, lean)), True)
