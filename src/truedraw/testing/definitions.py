"""The whole sampling law by its definitions, in plain Python over lists: an independent twin of truedraw.sampling."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from truedraw.testing.definition_parts import IMPOSSIBLE, entropy, only, ranked, softmax, until

Given = Mapping[str, Any]
"""Sampling parameters that are given, words that are bad by their ids."""
EQUAL = 12  # digits, in nats

ORDERS = {
    "huggingface": ["temperature", "top_n_sigma", "top_k", "top_p", "min_p", "typical_p", "epsilon_cutoff",
                    "eta_cutoff", "xtc", "mirostat"],
    "vllm": ["temperature", "min_p", "top_k", "top_p", "top_n_sigma", "typical_p", "epsilon_cutoff", "eta_cutoff",
             "xtc", "mirostat"],
    "llama.cpp": ["top_n_sigma", "top_k", "typical_p", "top_p", "min_p", "epsilon_cutoff", "eta_cutoff", "xtc",
                  "temperature", "mirostat"],
}  # fmt: skip
"""The steps of each `sampler_order`."""


class Definition:
    """p at one place. `coin` is XTC's, `mu` Mirostat's; `nudge` moves every threshold, to look at both sides of one.

    `lean` moves the entropy that typical_p goes by, for tokens may be as far above it as others below; None makes these
    equal, which rounding may do or not.
    """

    def __init__(
        self, given: Given, prompt: Sequence[int] = (), output: Sequence[int] = (), end_ids: Collection[int] = (),
        mu: float | None = None, coin: bool = False, nudge: float = 0.0, lean: float | None = 0.0,
    ) -> None:  # fmt: skip
        self.given, self.prompt, self.output = given, list(prompt), list(output)
        self.end_ids, self.coin, self.nudge, self.lean = end_ids, coin, nudge, lean
        self.mu = 2 * given.get("mirostat_tau", 5.0) if mu is None else mu

    def allows_nothing(self, logits: Sequence[float]) -> bool:
        """Whether the parameters ban all that the model allows."""
        return max(self.banned(list(logits))) == IMPOSSIBLE

    def p(self, logits: Sequence[float]) -> list[float]:
        """Of the logits there."""
        z = self.banned(self.penalised([x + self.given.get("logit_bias", {}).get(i, 0) for i, x in enumerate(logits)]))
        order = self.given.get("sampler_order", "huggingface")
        for step in ORDERS[order] if isinstance(order, str) else order:
            z = getattr(self, step)(z)
        return softmax(z)

    def value(self, name: str, off: float) -> float:
        """A parameter, or its schedule at the number of tokens generated so far."""
        points = self.given.get("schedule", {}).get(name)
        if not points:
            return float(self.given.get(name, off))
        here = len(self.output)
        before = [point for point in points if point[0] <= here] or [points[0]]
        after = [point for point in points if point[0] > here] or [points[-1]]
        (t0, v0), (t1, v1) = before[-1], after[0]
        return float(v0 if t1 <= t0 or here <= t0 else v0 + (v1 - v0) * (here - t0) / (t1 - t0))

    def penalised(self, z: list[float]) -> list[float]:
        """By repetition, frequency and presence."""
        repetition, presence = self.given.get("repetition_penalty", 1), self.given.get("presence_penalty", 0)
        for token in {*self.prompt, *self.output} if repetition != 1 else ():
            z[token] = z[token] / repetition if z[token] > 0 else z[token] * repetition
        for token in set(self.output):
            z[token] -= self.given.get("frequency_penalty", 0) * self.output.count(token) + presence
        return z

    def banned(self, z: list[float]) -> list[float]:
        """Without what is not allowed, and ends that come too soon, bad words and repeated n-grams."""
        text = [*self.prompt, *self.output]
        allowed = self.given.get("allowed_token_ids", range(len(z)))
        gone = {*range(len(z))}.difference(allowed)
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
        """Or the one that follows the entropy; 0 leaves the first of the largest."""
        t, span = self.value("temperature", 1.0), self.given.get("dynatemp_range", 0)
        possible = [w for w, x in zip(softmax(z), z, strict=True) if x > IMPOSSIBLE]
        if span and len(possible) == 1:
            return z
        if span:
            share = min(max(entropy(possible) / math.log(len(possible)), 0.0), 1.0)
            low, high = max(0.0, t - span), t + span
            t = low + (high - low) * share ** self.given.get("dynatemp_exponent", 1.0)
        most = max(z)
        if t == 0:
            return only([0.0] * len(z), [z.index(most)])
        return [(x - most) / t for x in z]

    def top_n_sigma(self, z: list[float]) -> list[float]:
        """Within so many standard deviations of the largest."""
        n = self.value("top_n_sigma", 0)
        if n <= 0:
            return z
        possible = [x for x in z if x > IMPOSSIBLE]
        mean = math.fsum(possible) / len(possible)
        sigma = math.sqrt(sum((x - mean) * (x - mean) for x in possible) / len(possible))  # may be infinite
        least = max(z) - (n + self.nudge) * sigma
        return [x if x >= least else IMPOSSIBLE for x in z]

    def top_k(self, z: list[float]) -> list[float]:
        """The k likeliest."""
        k = round(self.value("top_k", 0))
        return only(z, ranked(z)[:k]) if k > 0 else z

    def top_p(self, z: list[float]) -> list[float]:
        """The likeliest, of this mass."""
        mass = self.value("top_p", 1.0)
        return only(z, until(softmax(z), ranked(z), mass + self.nudge)) if mass < 1 else z

    def min_p(self, z: list[float]) -> list[float]:
        """What has at least this share of the likeliest."""
        p, ratio = softmax(z), self.value("min_p", 0.0)
        least = min(ratio + self.nudge, 1) * max(p)
        return only(z, [i for i, w in enumerate(p) if w >= least]) if ratio else z

    def typical_p(self, z: list[float]) -> list[float]:
        """Nearly average surprise first, of this mass."""
        p, mass = softmax(z), self.value("typical_p", 1.0)
        h, digits = entropy(p) + (self.lean or 0.0), EQUAL if self.lean is None else None
        far = {i: abs(-math.log(w) - h) for i, w in enumerate(p) if w}
        order = sorted(far, key=lambda i: (far[i] if digits is None else round(far[i], digits), i))
        return only(z, until(p, order, mass + self.nudge)) if mass < 1 else z

    def epsilon_cutoff(self, z: list[float]) -> list[float]:
        """What is at least this likely."""
        return self.above(z, self.value("epsilon_cutoff", 0.0))

    def eta_cutoff(self, z: list[float]) -> list[float]:
        """The same, by the entropy."""
        epsilon = self.value("eta_cutoff", 0.0)
        return self.above(z, min(epsilon, math.sqrt(epsilon) * math.exp(-entropy(softmax(z)))))

    def above(self, z: list[float], floor: float) -> list[float]:
        """What is at least this likely, or the likeliest."""
        if not floor:
            return z
        p = softmax(z)
        most = max(p)
        return only(z, [i for i, w in enumerate(p) if w >= floor + self.nudge or w == most])

    def xtc(self, z: list[float]) -> list[float]:
        """Where the coin says so, without all but the least likely of what reaches the threshold."""
        if not self.coin:
            return z
        p, threshold = softmax(z), self.given.get("xtc_threshold", 0.1) + self.nudge
        gone = {*[i for i in ranked(z) if p[i] >= threshold][:-1]}
        return [IMPOSSIBLE if i in gone else x for i, x in enumerate(z)]

    def mirostat(self, z: list[float]) -> list[float]:
        """Version 2: what surprises by at most mu bits."""
        if not self.given.get("mirostat"):
            return z
        p = softmax(z)
        kept = [i for i in ranked(z) if p[i] and -math.log2(p[i]) <= self.mu + self.nudge]
        return only(z, kept or ranked(z)[:1])


def next_mu(given: Given, mu: float, chance: float) -> float:
    """Mirostat 2, algorithm 2, the last two lines."""
    surprise = -math.log2(chance) if chance else math.inf
    error = surprise - given.get("mirostat_tau", 5.0)
    return float(mu - given.get("mirostat_eta", 0.1) * error)
