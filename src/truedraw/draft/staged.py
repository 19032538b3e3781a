"""A model that drafts, and is itself drafted for (Spector and Re, 2308.04623; Chen et al., 2312.11462): a cascade.

The middle model `model` has the law q. Its tokens are drawn by an inner round loop: the drafter `stage` proposes, one
pass of the middle model scores that, and an exact rule decides (verify/traversal.py with q in the place of p). What
such a round emits is followed by further samples of q like a text drawn from q alone, so a chain grown this way is a
chain drawn from q, however its length came about, as long as no token that was drawn is dropped for its own sake. Each
is handed over with q, the very vector that the inner rule was given, and the outer rule never learns how it was made.

Draws of the inner loop have names of their own (draft/staged_chance.py). Under coupled verification the middle model
draws with the noise of the target, by the coupled rule, and hands its tokens over as certain ones, as draft/model.py
does: then the chain is the very one that the middle model would have drawn alone, in fewer passes.

A stage may be staged itself. A stage whose states cannot look ahead drafts in the first inner round only. What it
proposes is looked at before the middle model computes anything for it; its laws are read by the inner rule.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from truedraw.draft.cached_text import CachedText, SharedPrompt
from truedraw.draft.joining import widest
from truedraw.draft.knobs import AUTO, GUMBEL, TARGET, Knobs
from truedraw.draft.mix import MODEL, named_in_errors
from truedraw.draft.mix_tree import parents
from truedraw.draft.model import close_all, sample_method
from truedraw.draft.several import NOBODY
from truedraw.draft.site import Inner, close_each
from truedraw.draft.staged_chain import Chain
from truedraw.draft.staged_rows import Middle
from truedraw.draft.staged_state import StagedState
from truedraw.draft.vocabulary import SameTokens
from truedraw.errors import BadParameter, BadProposal, OutOfPages
from truedraw.protocol import NOTHING, Engine, Law, Logits, Proposal, Randomness, Verifier
from truedraw.registry import find
from truedraw.sampling.ranges import Wholes
from truedraw.sampling.values import shown

LENGTH = "num_speculative_tokens"
NOT_THE_STAGES = ("adaptive", "rejection_sample_method", "allow_lossy", "lossy_options")
"""Keys of a speculative config that mean nothing inside a draft."""
STAGE = "the stage"
PASSES = Wholes(1, "passes of the middle model, 1 or more")
MOST = Wholes(0, "0 or more")


class StagedDrafter:
    """protocol.Drafter over the engine `model`, for a target of `vocab_size` rows. Raises BadParameter.

    stage: the drafter of the middle model, a method's name or a config of one; its num_speculative_tokens is how much
    it drafts for one pass. staged_passes: passes of the middle model a round at most, without it as many as the budget
    takes. `knobs` say how the middle model draws, as for the method model.
    """

    judges_parts = True  # the stage's drafts are seen by the inner rule alone, which takes trees

    def __init__(
        self, model: Engine, inner: Inner, *, stage: Mapping[str, Any] | str = "ngram",
        staged_passes: int | None = None, vocab_size: int | None = None, knobs: Knobs | None = None,
        coupled: bool = False,
    ) -> None:  # fmt: skip
        knobs, rows = knobs or Knobs(), vocab_size or model.vocab_size
        check(stage, staged_passes, knobs)
        method = sample_method(knobs, coupled)
        self._middle = Middle(model, SameTokens(rows), rows, knobs, method, staged_passes)
        self._stage = inner(stage)
        self._name = stage if isinstance(stage, str) else str(stage.get("method", MODEL))
        self._most: int | None = None if isinstance(stage, str) else stage.get(LENGTH)
        self._rule: Verifier = find("verifiers", "coupled" if method == GUMBEL else "traversal")()
        self._prompt: SharedPrompt | None = None
        self._open: list[CachedText] = []
        weakref.finalize(self, close_all, self._open).atexit = False  # a run that nobody ended holds pages, too

    def open(self, tokens: Sequence[int], law: Law) -> StagedState:
        """Nothing is computed yet; samples of one prompt share its pages."""
        if self._prompt is None or self._prompt.tokens != tuple(tokens):
            self._prompt = SharedPrompt(self._middle.engine, tokens, self._middle.vocabulary)
        text = CachedText(self._prompt)
        self._open.append(text)
        own = self._middle.knobs.law(law)
        with named_in_errors(self._name, STAGE):
            return StagedState(text, own, self._stage.open(tokens, own))

    def propose(
        self, states: Sequence[Any], budgets: Sequence[int], randomness: Sequence[Randomness]
    ) -> list[Proposal]:
        """At most `budget` tokens a state; one pass of the middle model an inner round, for all of them."""
        chains = [Chain(self._middle, *each) for each in zip(states, budgets, randomness, strict=True)]
        try:
            self._grow(chains, states)
            return [chain.ended() for chain in chains]
        finally:
            close_each(chain.text for chain in chains)

    def close(self) -> None:
        """Give back what all texts hold, those of the stage included."""
        close_all(self._open)
        getattr(self._stage, "close", lambda: None)()

    def _grow(self, chains: Sequence[Chain], states: Sequence[Any]) -> None:
        """All of them to their ends."""
        live = [chain for chain in chains if chain.starts()]
        for state in states:
            state.text.begun()
        while live:
            self._guess(live)
            rows = self._passed(live)
            with named_in_errors(self._name, STAGE, BadProposal):  # by the inner rule, which reads laws
                live = [chain for chain, row in zip(live, rows, strict=True) if chain.grown(row, self._rule)]

    def _guess(self, live: list[Chain]) -> None:
        """One proposal of the stage for each chain that has room behind it, in its text and in the cache.

        Room is looked for before anything is drawn. What the stage drew and what the middle model says there agree more
        often than not, so a chain that ends where a guess found no room would be no sample of q (algorithm L2).
        """
        asked = []
        for chain in live:
            chain.guess, room = NOTHING, chain.room(self._most)
            state = chain.reader() if room > 0 else None
            if state is not None:
                asked.append((chain, state, room))
                chain.guess = widest(0, room)
        while asked and not self._middle.engine.fits([chain.work() for chain in live]):
            asked.pop()[0].guess = NOTHING
        if not asked:
            return
        chains, states, rooms = zip(*asked, strict=True)
        with named_in_errors(self._name, STAGE):
            found = self._stage.propose(states, rooms, [chain.chance for chain in chains])
            for chain, guess, room in zip(chains, found, rooms, strict=True):
                check_guess(guess, room, self._middle.vocab_size)
                chain.guess = guess

    def _passed(self, live: list[Chain]) -> list[Logits]:
        """What one pass says of each chain; where the cache has no room for all, the last texts draft no further."""
        while live:
            try:
                return [each.logits for each in self._middle.engine.forward([chain.work() for chain in live])]
            except OutOfPages:
                live.pop().text.leave()
        return []


def check_guess(guess: Proposal, room: int, vocab: int) -> None:
    """Raises BadProposal for what no pass can score: too long, no tree, tokens that are none of `vocab`."""
    if len(guess) > room:
        raise BadProposal(f"a budget of {room} draft tokens was answered with {len(guess)}")
    if not len(above := parents(guess)) == len(guess.laws) == len(guess):
        raise BadProposal(f"{len(guess)} draft tokens came with {len(above)} parents and {len(guess.laws)} laws")
    for node, token in enumerate(guess.tokens.tolist()):
        if not 0 <= token < vocab:
            raise BadProposal(f"draft node {node} is token {token}; the target's tokens are 0 to {vocab - 1}")


def check(stage: Mapping[str, Any] | str, passes: int | None, knobs: Knobs) -> None:
    """The settings; raises BadParameter."""
    if knobs.siblings > 1:
        raise BadParameter("draft_siblings", "the method staged drafts chains; leave it out")
    if knobs.draft_temperature == AUTO:
        raise BadParameter("draft_temperature", f'the method staged does not tune it; give a number or "{TARGET}"')
    if passes is not None:
        PASSES.check("staged_passes", passes)
    if not isinstance(stage, str | Mapping):
        raise BadParameter("stage", f"got {shown(stage)}; give a method's name or a config with a method")
    config = {"method": stage} if isinstance(stage, str) else stage
    if config.get("method") == NOBODY:
        raise BadParameter("stage", f'{NOBODY} drafts nothing; name a method that does, or take the method "model"')
    if unused := [name for name in NOT_THE_STAGES if name in config]:
        raise BadParameter("stage", f"a stage does not use {', '.join(unused)}; leave that out")
    if config.get(LENGTH) is not None:
        MOST.check(f"stage.{LENGTH}", config[LENGTH])
