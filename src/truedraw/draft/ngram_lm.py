"""An n-gram model as drafter: what followed the last few tokens, as a law, from counts on file and the text itself.

Where prompt lookup hands over one continuation as certain, which is kept with probability p(x), this hands over a law q
that was drawn from, and sum(min(p, q)) is kept (Leviathan et al., 2211.17192): at temperatures above 0 that is several
times as much for the same counts. q is smoothed by interpolated absolute discounting, see ngram_lm_blend.py; then the
target's law is applied to its logarithm, or a law of the draft's own (knobs.py), as to the logits of any draft model.

On file are the counts of texts that were given, or that the model has written before: `truedraw ngrams build`. The
run's own text is counted while it grows, with its prompt.

Exactness. A round is exact for whatever q it uses, as long as the tokens were drawn from just that q with noise that
nothing has seen before, and q stays as it is until the verdict. Here q is a function of what was written before the
round, of this text and, with `ngram_lm_online` "prompt" or "all", of others. So given all that has happened in the run,
the texts of the others included, a round goes on with this text by the target's law; for any two functions f, g of
finished texts, the product of E[f | this text so far] and E[g | that text so far] is a martingale over the rounds of
both, and samples remain independent, whatever they learn from one another. It would not be so if a token that another
text has drawn were handed over as drawn from q: here every token is drawn anew. Under coupled verification a text does
not depend on drafts at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from truedraw.draft.growing import Draws
from truedraw.draft.growth import Growth
from truedraw.draft.growth import Place as Growing
from truedraw.draft.knobs import Knobs
from truedraw.draft.model import sample_method
from truedraw.draft.ngram_lm_counts import MOST_ORDER
from truedraw.draft.ngram_lm_source import NgramSource, Opinion, Place, known_law
from truedraw.draft.ngram_lm_texts import CountedTexts
from truedraw.draft.siblings import Known, Settled
from truedraw.draft.site import Models, unrolls
from truedraw.draft.suffix_settings import TEXT
from truedraw.draft.tempering import OwnLaw, Tempering
from truedraw.draft.trees import Trees, TreesOfText
from truedraw.errors import BadParameter
from truedraw.protocol import Law, Proposal, Randomness, Scores, SparseLaw

FALLING = (0.25, 0.12, 0.08, 0.05, 0.03)
"""Chances of candidates at one place before anything is known, each given that none before it was kept: those of the
shipped counts at temperature 1."""
DEEPEST = 6  # tokens of the longest path of a draft


class NgramLMState:
    """protocol.DraftState: where a text stands, its length, and the law that drafts are drawn from there.

    What `is_counted` goes on is seen by all who read the same counts. `level` is the target's largest logit of late.
    """

    dozes = True  # see protocol.Dozes

    def __init__(
        self, source: NgramSource, place: Place, length: int, law: OwnLaw, trees: TreesOfText, *, is_counted: bool
    ) -> None:
        self.source, self.place, self.length, self.law = source, place, length, law
        self.level = 0.0
        self.drafted: Proposal | None = None
        self._is_counted, self.trees = is_counted, trees

    def commit(self, tokens: Sequence[int], scores: Scores | None = None) -> None:
        """The text goes on."""
        if self.drafted is not None:
            self.trees.learn(tokens, self.drafted, scores)
            self.drafted = None
        if scores is not None and self.law.is_due():
            self._learn(scores)
        move = self.source.written if self._is_counted else self.source.behind
        self.place = move(self.place, tokens)
        self.length, self.law = self.length + len(tokens), self.law.after(tokens)
        if scores is not None:
            self.level = float(scores.logits[0].max())

    def worths(self, nodes: int) -> Sequence[tuple[float, int]] | None:
        """protocol.Shapes: tokens that each of so many nodes is worth, and its level."""
        return self.trees.worths(nodes)

    def ahead(self, tokens: Sequence[int]) -> NgramLMState:
        """protocol.LooksAhead: the same counts, which the tokens do not enter."""
        state = NgramLMState(self.source, self.place, self.length, self.law, self.trees, is_counted=False)
        state.commit(tokens)
        state.level = self.level
        return state

    def _learn(self, scores: Scores) -> None:
        """What the target said here, beside what the counts say."""
        opinion, vocab = self.source.opinion(self.place), self.source.vocab_size
        if opinion is not None:
            self.law.learn(scores.logits[0], lambda law: known_law(opinion, law, vocab, self.level), opinion.tokens)


class NgramLMDrafter:
    """protocol.Drafter over n-grams, for a target of `vocab_size` tokens. Raises BadParameter and BadFile.

    ngram_lm_order: tokens of the longest n-grams, the drafted one included.
    ngram_lm_path: a file of counts, made by `truedraw ngrams build` with the target's own tokenizer; None: the counts
    that come with truedraw for models of this tokenizer, where there are some; "" = none of them.
    ngram_lm_online: which texts are counted while they grow: "none", "text" (each for itself), "prompt" (those of one
    prompt for one another) or "all".
    `tempering`: what is known of the best temperature, which then is tuned; None: drafts have the target's.
    `siblings`: what is known of how often candidates are kept. `trees`: whether the rule
    takes more than chains.
    """

    def __init__(  # noqa: PLR0913 - what a run gives, all but the first by name
        self,
        vocab_size: int,
        *,
        ngram_lm_order: int = MOST_ORDER,
        ngram_lm_path: str | Path | None = None,
        ngram_lm_online: str = TEXT,
        models: Models | None = None,
        knobs: Knobs | None = None,
        coupled: bool = False,
        trees: bool = False,
        tempering: Tempering | None = None,
        siblings: Known = Settled,
    ) -> None:
        self._texts = CountedTexts(
            vocab_size, order=ngram_lm_order, path=ngram_lm_path, online=ngram_lm_online, models=models
        )
        self._source = self._texts.source
        self.knobs = knobs or Knobs()
        self.method = sample_method(self.knobs, coupled)
        self._tempering = tempering
        narrow = unrolls(models.target if models else None)
        self._trees = Trees(siblings(FALLING), DEEPEST, self.knobs.draft_siblings, chains=not trees, narrow=narrow)

    def open(self, tokens: Sequence[int], law: Law) -> NgramLMState:
        """A text behind its prompt, which is counted with it."""
        place, own = self._texts.place(tokens), OwnLaw.of(law, self.knobs, self._tempering)
        counted = self._texts.is_counting
        return NgramLMState(self._source, place, len(tokens), own, self._trees.of_text(), is_counted=counted)

    def propose(
        self, states: Sequence[Any], budgets: Sequence[int], randomness: Sequence[Randomness]
    ) -> list[Proposal]:
        """A tree of draws a state."""
        return [self._draft(*each) for each in zip(states, budgets, randomness, strict=True)]

    def _draft(self, state: NgramLMState, budget: int, randomness: Randomness) -> Proposal:
        draws = Draws(self.method, randomness, state.length)
        growth, spots = Growth(state.trees.levels(budget), state.law.now()), [state.place]
        while places := growth.wanted():
            spots = self._source.reached(spots, places)
            opinions = [self._source.opinion(spot) for spot in spots]
            growth.grow([self._q(*each, state.level) for each in zip(opinions, places, strict=True)], draws)
        state.drafted = growth.ended()
        return state.drafted

    def _q(self, opinion: Opinion | None, place: Growing, level: float) -> SparseLaw | None:
        """The law to draw from, None where there is to be none."""
        if opinion is None or self.knobs.ends(opinion.logits):
            return None
        try:
            known = known_law(opinion, place.law, self._source.vocab_size, level)
        except BadParameter:  # the target's law rules out all that is known
            return None
        rising = opinion.tokens.argsort()
        return SparseLaw(opinion.tokens[rising], known[rising], self._source.vocab_size)
