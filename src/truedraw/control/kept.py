"""What drafters take, from one load of a model to the next, where its engine can keep that.

In passes of one row of a short text, as both were measured in one process: while a machine is slow it is so for both.
It is a first estimate, which a few calls replace (experience.py), so drafters are weighed from the first round on.
"""

from __future__ import annotations

from dataclasses import replace
from math import isfinite

from truedraw.control.experience import Experience, Kind, Record
from truedraw.protocol import DraftCost, KeepsDraftCosts
from truedraw.protocol.able import is_able

ENOUGH = 8  # passes that tell what one takes; the first ones load and warm up
MOST = 64  # drafters with settings that are kept; those that nobody used this time go first
LONGEST_NAME = 200  # characters of one that is kept: five settings or so, of which long ones stand there in short
DEAREST = 100.0  # passes of a draft token, above which a number is taken for a fault; toy models come to a dozen
HOPE = 0.7  # of what it is thought to take, where it was not tried this time: else a wrong number could stay for ever


def recalled(engine: object) -> dict[Kind, DraftCost]:
    """What the engine has kept, as far as it makes sense."""
    if not is_able(engine, KeepsDraftCosts):
        return {}
    sensible = [cost for cost in engine.draft_costs() if _is_sensible(cost)]
    return {(cost.source, cost.coupled): cost for cost in sensible[:MOST]}


def remember(engine: object, known: Experience) -> None:
    """Have the engine keep what was measured since the model was loaded, and what others have had it keep meanwhile."""
    if not is_able(engine, KeepsDraftCosts) or known.costs.num_passes < ENOUGH:
        return
    unit, before = known.costs.unit, recalled(engine)
    found = {kind: _cost(kind, record, unit) or _hoped(before.get(kind)) for kind, record in known.records.items()}
    whole = {**found, **{kind: cost for kind, cost in before.items() if kind not in found}}
    costs = [cost for cost in whole.values() if cost is not None and _is_sensible(cost)][:MOST]
    if costs != [*before.values()]:
        engine.keep_draft_costs(costs)


def _cost(kind: Kind, record: Record, unit: float) -> DraftCost | None:
    """As it was measured here; the time of first calls, which load and compile, is none."""
    if not record.pace.is_measured:
        return None
    return DraftCost(*kind, *(seconds / unit for seconds in record.pace.rates))


def _hoped(cost: DraftCost | None) -> DraftCost | None:
    """One that nobody tried, though somebody might have."""
    if cost is None:
        return None
    further = None if cost.further is None else HOPE * cost.further
    return replace(cost, call=HOPE * cost.call, token=HOPE * cost.token, level=HOPE * cost.level, further=further)


def _is_sensible(cost: DraftCost) -> bool:
    seen, further = (cost.call, cost.token, cost.level), cost.further or 0.0
    return (
        all(isfinite(passes) and passes > 0 for passes in seen)
        and 0.0 <= further <= DEAREST
        and max(cost.token, cost.level) <= DEAREST
        and len(cost.source) <= LONGEST_NAME
    )
