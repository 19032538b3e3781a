"""One text's proposal while its sources speak, one after the other."""

from __future__ import annotations

from collections.abc import Sequence

from truedraw.draft.mix_sources import Trust, opinions
from truedraw.draft.mix_tree import Tree, Trie
from truedraw.errors import BadProposal
from truedraw.protocol import Proposal


class MixRound:
    """`draws[i]`: whether source i draws from a law, as far as is known; what is found out is entered there."""

    def __init__(self, budget: int, share: float, draws: list[bool], trusts: Sequence[Trust]) -> None:
        self._budget, self._share, self._draws, self._trusts = budget, share, draws, trusts
        self._tree, self._trie = Tree(), Trie()
        self.offered: dict[int, Proposal] = {}  # by the sources that were certain
        self._to_draw = sum(draws)  # sources that are yet to be asked

    def room(self, source: int) -> int:
        """Draft tokens that a source may propose: all of them will be kept if it draws any."""
        left = self._budget - len(self._tree)
        if not self._draws[source]:
            return left
        beside = min(len(self._trie), int(self._share * self._budget))
        share = -(-max(left - beside, 0) // max(self._to_draw, 1))
        self._to_draw -= 1
        return share

    def hear(self, source: int, proposal: Proposal, room: int) -> None:
        """What a source proposes for this room; raises BadProposal where that is certain, and more, or no tree.

        What was drawn is handed on as it is, and whoever asked for the whole looks at it: an error here would drop it.
        """
        if not len(proposal):
            return
        self._draws[source] = any(law is not None for law in proposal.laws)
        if self._draws[source]:
            self._tree.plant(proposal, opinions(proposal))
        elif len(proposal) > room:
            raise BadProposal(f"a source was asked for {room} draft tokens and proposed {len(proposal)}")
        else:
            self._trie.add(proposal, self._trusts[source].chances(proposal))
            self.offered[source] = proposal

    def ended(self) -> Proposal:
        """The tree."""
        self._tree.graft(self._trie, self._budget - len(self._tree))
        return self._tree.proposal()
