"""Proposals for those whose turn it is: how much each may draft, what must come, and one call for each drafter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from truedraw.generate.certain import Tokens, forced_tokens, propose
from truedraw.generate.sample import Sample, Schedule, Turn
from truedraw.protocol import NOTHING, Controller


class Order(NamedTuple):
    """What a sample is to be given."""

    sample: Sample
    budget: int  # draft tokens
    certain: Tokens  # which must come before them


def guess(controller: Controller, schedule: Schedule, turn: Turn) -> None:
    """Give every sample a proposal that has none; those whose drafter fails leave the turn."""
    fresh = [sample for sample in turn.samples if sample.proposal is None]
    if not fresh:
        return
    by_drafter: dict[int, list[Order]] = {}
    for order in orders(controller, fresh):
        if order.budget or order.certain:
            parts = order.sample.parts
            by_drafter.setdefault(id(parts.asked or parts.drafter), []).append(order)
        else:
            order.sample.proposal, order.sample.forced = NOTHING, 0
    for group in by_drafter.values():
        try:
            draft(group)
        except Exception as error:  # a plug-in's drafter may raise anything
            for order in group:
                schedule.failed(order.sample, error)
    turn.samples = [sample for sample in turn.samples if sample.proposal is not None]


def orders(controller: Controller, samples: Sequence[Sample]) -> list[Order]:
    """How much each may draft: what the controller says, for those who leave it the choice."""
    rooms = [sample.ending.room - 1 for sample in samples]
    certain = forced_tokens([sample.law for sample in samples], rooms)
    rooms = [
        min(sample.parts.most_drafted, room - len(tokens))
        for sample, room, tokens in zip(samples, rooms, certain, strict=True)
    ]
    asked = [0 if sample.parts.steady else room for sample, room in zip(samples, rooms, strict=True)]
    budgets = controller.budget(asked, [sample.number for sample in samples])
    return [
        Order(sample, room if sample.parts.steady else budget, tokens)
        for sample, room, budget, tokens in zip(samples, rooms, budgets, certain, strict=True)
    ]


def draft(group: Sequence[Order]) -> None:
    """Proposals for samples that share a drafter, in one call."""
    samples = [order.sample for order in group]
    proposals = propose(
        samples[0].parts.asked or samples[0].parts.drafter,
        [sample.draft for sample in samples],
        [order.budget for order in group],
        [sample.randomness for sample in samples],
        [order.certain for order in group],
    )
    for order, proposal in zip(group, proposals, strict=True):
        order.sample.proposal, order.sample.forced = proposal, len(order.certain)
