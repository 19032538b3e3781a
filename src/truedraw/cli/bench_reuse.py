"""truedraw bench reuse: what the cache of logits saves where the same is asked again and again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

from truedraw.cli.flags import ReportFlags
from truedraw.cli.found import print_found
from truedraw.cli.grouping import flag, with_flags
from truedraw.cli.model_flags import ModelFlags

EPILOG = """Examples:

truedraw bench reuse

truedraw bench reuse -n 32 --rounds 2 --json > reuse.json
"""


@dataclass(frozen=True, slots=True)
class ReuseFlags:
    """What this verb has."""

    n: Annotated[int, flag("--n", "-n", help="Samples of each question.", min=1)] = 16
    rounds: Annotated[int, flag("--rounds", help="How often everything is asked.", min=1)] = 4
    repeats: Annotated[int, flag("--repeats", help="Runs of both arms that count.", min=1)] = 1
    seed: Annotated[int, flag("--seed", help="Of the first request.", min=0)] = 0
    logits_cache_bytes: Annotated[
        str | None,
        flag("--logits-cache-bytes", metavar="SIZE", help="Of the cache of logits, as 256M; what batches have."),
    ] = None


@with_flags
def reuse(own: ReuseFlags, model: ModelFlags, output: ReportFlags) -> None:
    """Measure repetitive work with the cache of logits, as large as a batch has it, and without.

    Eight short questions at three temperatures, many samples each, all of it several times over with fresh seeds. What
    was saved, and the memory it took, goes to stderr (not with --json), one JSON object to stdout.
    """
    from truedraw.bench.provenance import machine
    from truedraw.bench.reuse import Repetition, lines
    from truedraw.bench.reuse import reuse as measured
    from truedraw.cli.options import opened
    from truedraw.cli.sizes import bytes_of

    plan = Repetition(n=own.n, rounds=own.rounds, seed=own.seed)
    if own.logits_cache_bytes is not None:
        plan = replace(plan, cache_bytes=bytes_of("--logits-cache-bytes", own.logits_cache_bytes))
    with opened(model, configs=[]) as loaded:
        found = measured(loaded, plan, own.repeats)
        name = loaded.name
    print_found({"model": name, **found, **machine()}, lines(found), output)
