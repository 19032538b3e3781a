"""The whole sampling law by its definitions, in plain Python over lists: the independent twin of truedraw.sampling.

`law_at` says p after a text from the model's logits there; `text_law` enumerates the text a scenario emits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from known_laws import Scenario, lookup
from truedraw.testing.stuck import STUCK

Given = Mapping[str, Any]
IMPOSSIBLE = -math.inf

ORDERS = {
    "huggingface": ["temperature", "top_n_sigma", "top_k", "top_p", "min_p", "typical_p", "epsilon_cutoff",
                    "eta_cutoff", "xtc", "mirostat"],
    "vllm": ["temperature", "min_p", "top_k", "top_p", "top_n_sigma", "typical_p", "epsilon_cutoff", "eta_cutoff",
             "xtc", "mirostat"],
    "llama.cpp": ["top_n_sigma", "top_k", "typical_p", "top_p", "min_p", "epsilon_cutoff", "eta_cutoff", "xtc",
                  "temperature", "mirostat"],
}  # fmt: skip


class Definition:
    """p at one place. `coin` is XTC's, `mu` Mirostat's; `nudge` moves every threshold, to look at both sides of one."""

    def __init__(self, given: Given, prompt=(), output=(), end_ids=(), mu=None, coin=False, nudge=0.0) -> None:
        self.given, self.prompt, self.output = given, list(prompt), list(output)
        self.end_ids, self.mu, self.coin, self.nudge = end_ids, mu, coin, nudge

    def allows_nothing(self, logits: Sequence[float]) -> bool:
        return max(self.banned(list(logits))) == IMPOSSIBLE

    def p(self, logits: Sequence[float]) -> list[float]:
        z = self.banned(self.penalised([x + self.given.get("logit_bias", {}).get(i, 0) for i, x in enumerate(logits)]))
        order = self.given.get("sampler_order", "huggingface")
        for step in ORDERS[order] if isinstance(order, str) else order:
            z = getattr(self, step)(z)
        return softmax(z)

    def value(self, name: str, off: float) -> float:
        """A parameter, or its schedule at the number of tokens generated so far."""
        points = self.given.get("schedule", {}).get(name)
        if not points:
            return self.given.get(name, off)
        here = len(self.output)
        before = [point for point in points if point[0] <= here] or [points[0]]
        after = [point for point in points if point[0] > here] or [points[-1]]
        (t0, v0), (t1, v1) = before[-1], after[0]
        return v0 if t1 <= t0 or here <= t0 else v0 + (v1 - v0) * (here - t0) / (t1 - t0)

    def penalised(self, z: list[float]) -> list[float]:
        repetition = self.given.get("repetition_penalty", 1)
        for token in {*self.prompt, *self.output} if repetition != 1 else ():
            z[token] = z[token] / repetition if z[token] > 0 else z[token] * repetition
        for token in set(self.output):
            z[token] -= self.given.get("frequency_penalty", 0) * self.output.count(token)
            z[token] -= self.given.get("presence_penalty", 0)
        return z

    def banned(self, z: list[float]) -> list[float]:
        text = [*self.prompt, *self.output]
        allowed = self.given.get("allowed_token_ids", range(len(z)))
        gone = {i for i in range(len(z)) if i not in allowed}
        if len(self.output) < self.given.get("min_tokens", 0):
            gone |= set(self.end_ids)
        for word in map(list, self.given.get("bad_words", ())):
            if len(word) - 1 <= len(text) and text[len(text) - len(word) + 1 :] == word[:-1]:
                gone.add(word[-1])
        n = self.given.get("no_repeat_ngram", 0)
        grams = {tuple(text[i : i + n]) for i in range(len(text) - n + 1)} if n else set()
        gone |= {i for i in range(len(z)) if n and len(text) >= n - 1 and (*text[len(text) - n + 1 :], i) in grams}
        return [IMPOSSIBLE if i in gone else x for i, x in enumerate(z)]

    def temperature(self, z: list[float]) -> list[float]:
        t, span = self.value("temperature", 1.0), self.given.get("dynatemp_range", 0)
        possible = [w for w, x in zip(softmax(z), z, strict=True) if x > IMPOSSIBLE]
        if span and len(possible) == 1:
            return z
        if span:
            share = min(max(entropy(possible) / math.log(len(possible)), 0.0), 1.0)
            low, high = max(0.0, t - span), t + span
            t = low + (high - low) * share ** self.given.get("dynatemp_exponent", 1.0)
        if t == 0:
            return [0.0 if i == z.index(max(z)) else IMPOSSIBLE for i in range(len(z))]
        return [(x - max(z)) / t for x in z]

    def top_n_sigma(self, z: list[float]) -> list[float]:
        n = self.value("top_n_sigma", 0)
        possible = [x for x in z if x > IMPOSSIBLE]
        mean = math.fsum(possible) / len(possible)
        sigma = math.sqrt(math.fsum((x - mean) ** 2 for x in possible) / len(possible))
        return [x if n <= 0 or x >= max(z) - (n + self.nudge) * sigma else IMPOSSIBLE for x in z]

    def top_k(self, z: list[float]) -> list[float]:
        k = round(self.value("top_k", 0))
        return only(z, ranked(z)[:k]) if k > 0 else z

    def top_p(self, z: list[float]) -> list[float]:
        mass = self.value("top_p", 1.0)
        return only(z, until(softmax(z), ranked(z), mass + self.nudge)) if mass < 1 else z

    def min_p(self, z: list[float]) -> list[float]:
        p, ratio = softmax(z), self.value("min_p", 0.0)
        return only(z, [i for i, w in enumerate(p) if w >= min(ratio + self.nudge, 1) * max(p)]) if ratio else z

    def typical_p(self, z: list[float]) -> list[float]:
        p, mass = softmax(z), self.value("typical_p", 1.0)
        h = entropy(p)
        order = sorted((i for i, w in enumerate(p) if w), key=lambda i: (abs(-math.log(p[i]) - h), i))
        return only(z, until(p, order, mass + self.nudge)) if mass < 1 else z

    def epsilon_cutoff(self, z: list[float]) -> list[float]:
        return self.above(z, self.value("epsilon_cutoff", 0.0))

    def eta_cutoff(self, z: list[float]) -> list[float]:
        epsilon = self.value("eta_cutoff", 0.0)
        return self.above(z, min(epsilon, math.sqrt(epsilon) * math.exp(-entropy(softmax(z)))))

    def above(self, z: list[float], floor: float) -> list[float]:
        p = softmax(z)
        return only(z, [i for i, w in enumerate(p) if w >= floor + self.nudge or w == max(p)]) if floor else z

    def xtc(self, z: list[float]) -> list[float]:
        p, threshold = softmax(z), self.given.get("xtc_threshold", 0.1) + self.nudge
        top = [i for i in ranked(z) if p[i] >= threshold]
        return only(z, [i for i in range(len(z)) if i not in top[:-1]]) if self.coin else z

    def mirostat(self, z: list[float]) -> list[float]:
        if not self.given.get("mirostat"):
            return z
        p = softmax(z)
        kept = [i for i in ranked(z) if p[i] and -math.log2(p[i]) <= self.mu + self.nudge]
        return only(z, kept or ranked(z)[:1])


def next_mu(given: Given, mu: float, chance: float) -> float:
    """Mirostat 2, algorithm 2, the last two lines."""
    error = -math.log2(chance) - given.get("mirostat_tau", 5.0)
    return mu - given.get("mirostat_eta", 0.1) * error


def softmax(z: Sequence[float]) -> list[float]:
    top = max(z)
    weights = [math.exp(x - top) for x in z]
    total = math.fsum(weights)
    return [w / total for w in weights]


def entropy(p: Sequence[float]) -> float:
    return -math.fsum(w * math.log(w) for w in p if w)


def ranked(z: Sequence[float]) -> list[int]:
    """Possible tokens, the likeliest first, equal ones by id."""
    p = softmax(z)
    return sorted((i for i, w in enumerate(p) if w), key=lambda i: (-p[i], i))


def until(p: Sequence[float], order: Sequence[int], mass: float) -> list[int]:
    kept, total = [], 0.0
    for i in order:
        kept.append(i)
        total += p[i]
        if total >= mass:
            break
    return kept


def only(z: Sequence[float], kept: Sequence[int]) -> list[float]:
    return [x if i in kept else IMPOSSIBLE for i, x in enumerate(z)]


def text_law(scenario: Scenario, prompt: Sequence[int], legal=None) -> dict[tuple[int, ...], float]:
    """The law of the emitted text: at every place toss XTC's coin, then draw, until an end, the limit or STUCK.

    `legal(text)`, a grammar's, is the set of tokens that may follow.
    """
    given, law = dict(scenario.params), {}
    chance = given.get("xtc_probability", 0.0)
    open_texts = [((), 1.0, 2 * given.get("mirostat_tau", 5.0))]
    while open_texts:
        text, weight, mu = open_texts.pop()
        if len(text) == scenario.max_tokens or (text and text[-1] in scenario.end_ids):
            law[text] = law.get(text, 0.0) + weight
            continue
        if legal is not None:
            given["allowed_token_ids"] = legal(text)
        row = lookup(scenario.target, [*prompt, *text])
        logits = [math.log(w) if w else IMPOSSIBLE for w in row]
        if Definition(given, prompt, text, scenario.end_ids).allows_nothing(logits):
            law[(*text, STUCK)] = law.get((*text, STUCK), 0.0) + weight  # as often as there are coins
            continue
        for coin, part in ((True, chance), (False, 1 - chance)):
            p = Definition(given, prompt, text, scenario.end_ids, mu, coin).p(logits) if part else []
            open_texts += [
                ((*text, token), weight * part * w, next_mu(given, mu, w)) for token, w in enumerate(p) if w > 0
            ]
    return law
