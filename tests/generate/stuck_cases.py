"""Scenarios in which no token may follow some texts, and drafters that lead there."""

from __future__ import annotations

from enumeration import law_of
from guided import Words
from known_laws import Scenario, TableDrafter, random_table
from truedraw.draft.ngram import NgramDrafter
from truedraw.generate.ending import Ending
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import SamplingParams
from truedraw.testing.stuck import STUCK, run_or_error

PROMPT = (1,)
BEHIND_PAIR = [[0, 0, 0], [0, 0, 1], [0, 0, 2]]


def scenario(name: str, seed: int, params: dict, vocab: int = 3, **settings) -> Scenario:
    lengths = {"draft_tokens": 2, "max_tokens": 4}
    tables = random_table(vocab, 1, seed), random_table(vocab, 1, seed + 1)
    return Scenario(name, *tables, params, **{**lengths, **settings})


class Pair:
    """generate.ending.Reader: 0 0 is a stop string."""

    def __init__(self) -> None:
        self.last = -1

    def push(self, token: int) -> bool:
        found = token == self.last == 0
        self.last = token
        return found

    def finish(self) -> bool:
        return False


class EndsAtPair(Ending):
    def __init__(self, end_ids, max_tokens) -> None:
        super().__init__(end_ids, max_tokens, Pair())


class Unaware:
    """A drafter that never hears of the law, and goes on where nothing may follow."""

    def __init__(self, drafter) -> None:
        self.drafter, self.propose = drafter, drafter.propose

    def open(self, tokens, law):
        return self.drafter.open(tokens, SamplingLaw(SamplingParams()))


LIKELY = Scenario("a likely draft leads nowhere", {(): [0.3, 0.7]}, {(): [0.6, 0.4]}, {"bad_words": [[0, 0], [0, 1]]})
STUCK_SOMETIMES = [
    LIKELY,
    scenario("bad words behind a pair", 5, {"bad_words": BEHIND_PAIR}, max_tokens=3),
    scenario("bigrams once", 7, {"no_repeat_ngram": 2}, vocab=2, max_tokens=6),
    scenario("tokens once", 9, {"no_repeat_ngram": 1, "temperature": 0.7}),
    scenario("two allowed", 11, {"allowed_token_ids": [0, 2], "bad_words": [[0, 0], [0, 2]]}),
    scenario("no end yet", 13, {"min_tokens": 3, "bad_words": BEHIND_PAIR[::2]}, end_ids=(1,)),
    scenario("mirostat", 15, {"bad_words": BEHIND_PAIR, "mirostat": 2, "mirostat_tau": 0.9, "mirostat_eta": 0.8}),
    scenario("a coin of the law", 17, {"bad_words": BEHIND_PAIR, "xtc_probability": 0.4, "xtc_threshold": 0.2},
             draft_tokens=1, max_tokens=3),
    Scenario("nothing from the model", {**random_table(3, 1, 19), (2,): [0, 0, 0]}, random_table(3, 1, 20),
             draft_tokens=2, max_tokens=3),
]  # fmt: skip
NEVER_STUCK = [
    (scenario("behind the end", 21, {"bad_words": [[0, 0], [0, 1], [0, 2]]}, end_ids=(0,), max_tokens=3), Ending),
    (scenario("behind a stop string", 5, {"bad_words": BEHIND_PAIR}, max_tokens=3), EndsAtPair),
]
DRAFTERS = {
    "ends early": lambda case: TableDrafter(case.draft),
    "unaware": lambda case: Unaware(TableDrafter(case.draft)),
    "lookup": lambda case: NgramDrafter(1, 2),
}
TREE = scenario("a tree", 25, {"bad_words": [[0, 0], [0, 1]]}, vocab=2, draft_tokens=4, max_tokens=5)
DEEP_TREE = scenario("a deep tree", 27, {"bad_words": BEHIND_PAIR[:2]}, vocab=2, draft_tokens=4, max_tokens=5)


class Breaks(Words):
    """A matcher that reports an error where no word goes on, as llguidance does."""

    def deep_copy(self):
        return Breaks(self.words, self.text)

    def is_error(self) -> bool:
        return not self.next()

    def get_error(self) -> str:
        return "NoExtension"


def enumerated(case: Scenario, rule, drafter, prompt=PROMPT, ending=Ending):
    return law_of(lambda walker: run_or_error(case, walker, rule, drafter, prompt, ending))


def stuck(law) -> float:
    return sum(weight for text, weight in law.items() if text[-1] == STUCK)
