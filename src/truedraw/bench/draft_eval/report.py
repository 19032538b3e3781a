"""What a drafter is worth at one temperature, as numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from truedraw.bench.draft_eval.costs import as_shares, call_seconds, draft_seconds, pass_seconds, predicted
from truedraw.bench.draft_eval.plan import HEAD, REPLAYED, TIMED, WRITTEN, Done, Plan
from truedraw.bench.draft_eval.replay import replay
from truedraw.bench.draft_eval.rounds import (
    DEEPEST,
    MOST_NODES,
    RULES,
    Mean,
    Places,
    best_trees,
    by_position,
    candidates,
    chain_tokens,
    tree_tokens,
)
from truedraw.bench.draft_eval.texts import Text, write
from truedraw.bench.pairs import Arms, pairs
from truedraw.bench.report import report
from truedraw.control.costs import PassCosts
from truedraw.draft.head.opening import Readable
from truedraw.draft.shape import Path
from truedraw.errors import BadPrompt
from truedraw.generate.speculation import Speculation
from truedraw.protocol.able import is_able
from truedraw.sampling.params import SamplingParams


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds on this machine: of passes, and of calls of the drafter by draft tokens; of a head's network by rows."""

    passes: PassCosts | None
    chain: Mapping[int, float]
    tree: Mapping[int, float]
    calls: Mapping[str, Mapping[int, float]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """For JSON; with what the network's calls are of a plain pass."""
        rows = range(1, MOST_NODES + 2)
        known = None if self.passes is None else {count: self.passes.seconds(count) for count in rows}
        shares = None if known is None or not self.calls else as_shares(self.calls, known[1])
        return {"pass": known, "draft_chain": self.chain, "draft_tree": self.tree,
                "network": self.calls or None, "network_of_a_pass": shares}  # fmt: skip


def costs(plan: Plan, text: Text) -> Costs:
    """Measured, behind the beginning of a text."""
    target = plan.model.engine
    of_chain = draft_seconds(plan.model, text, plan.speculation, range(1, DEEPEST + 1), trees=False)
    of_tree = draft_seconds(plan.model, text, plan.speculation, range(1, MOST_NODES + 1), trees=True)
    calls = {}
    if plan.speculation.method == HEAD and is_able(target, Readable):
        head = plan.model.drafts.head(plan.speculation.settings.get("head_path"))
        calls = call_seconds(head, len(target.hidden_layers or ()) + 1, target.hidden_size)
    return Costs(pass_seconds(target), of_chain, of_tree, calls)


def evaluated(plan: Plan, params: SamplingParams, done: Done) -> dict[str, Any]:
    """Everything at the temperature of `params`, which have a seed; raises BadPrompt where texts end at once."""
    texts = write(plan.model, plan.todo, params, lambda: done(WRITTEN))
    long = [text for text in texts if len(text.tokens) > 1]
    if not long:
        raise BadPrompt("no text came to two tokens, so there is nothing to draft; give other prompts or --max-tokens")
    parts = []
    for part in replay(plan.model, texts, plan.speculation):
        parts.append(part)
        for _ in range(len(set(part.text.tolist()))):
            done(REPLAYED)
    taken = costs(plan, long[0])
    return {
        "temperature": params.temperature,
        "texts": len(texts),
        "tokens": sum(len(text.tokens) for text in texts),
        **section(Places.joined(parts), taken),
        "seconds": taken.to_dict(),
        "measured": {name: timed(plan, params, arm, done) for name, arm in plan.arms().items()} if plan.repeats else {},
    }


def section(places: Places, taken: Costs) -> dict[str, Any]:
    """Acceptance, tokens a round and predicted speed-up; the first two by category, too."""
    return {
        **acceptance(places),
        "by_category": by_category(places),
        "tokens_per_round": {rule: tokens(places, rule) for rule in RULES},
        "predicted_speedup": {rule: speedups(places, rule, taken) for rule in RULES},
    }


def by_category(places: Places) -> dict[str, Any]:
    """Of each: how many texts, acceptance, and tokens a round with the trees that are best for all of them together."""
    shapes = {rule: best_trees(places, rule) for rule in RULES}
    found = {}
    for name in dict.fromkeys(places.category.tolist()):
        mine = places.only(places.category == name)
        rounds = {rule: tokens(mine, rule, shapes[rule]) for rule in RULES}
        texts = len(set(mine.text.tolist()))
        found[name] = {"texts": texts, **acceptance(mine), "tokens_per_round": rounds}
    return found


def acceptance(places: Places) -> dict[str, Any]:
    """By position under both kinds of rules, and of the candidates for one token."""
    return {
        "places": len(places),
        "acceptance": told(by_position(places, places.chances[..., 0])),
        "match": told(by_position(places, places.matches)),
        "candidates": {rule: candidates(places, rule) for rule in RULES},
    }


def tokens(places: Places, rule: str, shapes: Sequence[Sequence[Path]] | None = None) -> dict[str, Any]:
    """A round, by draft tokens: 1 to DEEPEST in a chain, 1 to MOST_NODES in trees; those that are best by the chances
    of these places unless `shapes` are given."""
    shapes = best_trees(places, rule) if shapes is None else shapes
    return {
        "chain": told(chain_tokens(places, rule)),
        "tree": told(tree_tokens(places, rule, shapes)),
        "shape": [list(path) for path in shapes[-1]],
    }


def speedups(places: Places, rule: str, taken: Costs) -> dict[str, Any]:
    """Over plain sampling, by draft tokens, and the best of each."""
    shapes = best_trees(places, rule)
    found = {
        "chain": predicted(numbered(chain_tokens(places, rule)), taken.chain, taken.passes),
        "tree": predicted(numbered(tree_tokens(places, rule, shapes)), taken.tree, taken.passes),
    }
    return {**{name: list(each.values()) for name, each in found.items()},
            "best": {name: highest(each) for name, each in found.items()}}  # fmt: skip


def highest(found: Mapping[int, float | None]) -> dict[str, float] | None:
    """The best and its draft tokens; None where nothing is known."""
    known = {nodes: value for nodes, value in found.items() if value is not None}
    if not known:
        return None
    nodes = max(known, key=lambda each: known[each])
    return {"drafts": nodes, "speedup": known[nodes]}


def timed(plan: Plan, params: SamplingParams, speculation: Speculation, done: Done) -> dict[str, Any]:
    """End to end against plain sampling, by the pairs of `truedraw bench`."""
    found = []
    for pair in pairs(Arms(plan.model, params, speculation), plan.todo, plan.repeats):
        found.append(pair)
        done(TIMED)
    return report(found)


def numbered(values: Sequence[Mean | None]) -> dict[int, float | None]:
    """Means by draft tokens, from 1."""
    return {number: None if value is None else value.mean for number, value in enumerate(values, start=1)}


def told(values: Sequence[Mean | None]) -> list[dict[str, float | None] | None]:
    """For JSON."""
    return [None if value is None else asdict(value) for value in values]
