"""From the flags of `truedraw train` to what is to be trained, and on what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from truedraw.cli.model_flags import ModelFlags
from truedraw.cli.train_flags import LimitFlags, TextFlags
from truedraw.cli.train_outputs import default_output
from truedraw.errors import BadParameter

if TYPE_CHECKING:
    from truedraw.distill.plan import HeadPlan, Limits, Plan, Sizes, TextPlan

BUDGET = "60m"  # where nothing else says when to end
NO_OPENERS = "none"


def plan_of(own: LimitFlags, text: TextFlags, head: HeadPlan, model: ModelFlags, sizes: Sizes | None = None) -> Plan:
    """Raises BadParameter, BadFile for what is wrong before the model is loaded, and where torch is missing.

    Without `sizes` for heads alone.
    """
    from truedraw.cli.options import law_of
    from truedraw.distill.plan import FOLDERS, WORK, Plan, Sizes, beside
    from truedraw.generate.draft_head import NO_HEAD

    require_torch()
    if model.amateur is not None:
        raise BadParameter("--amateur", "a head learns one model; leave it out")
    if model.draft not in (None, NO_HEAD):
        raise BadParameter(
            "--draft", f"{model.draft} would not be trained further; leave it out, and give --init-from for that"
        )
    if head.kind in FOLDERS and sizes is None:
        raise BadParameter("--kind", f"{head.kind} is no head; choose another kind")
    output = own.output or default_output(head.kind)
    if not output.name:
        raise BadParameter("--output", f"{output} is a folder that is there already; give another name")
    work, limits = own.work or beside(output, WORK), _limits(own, text, model.threads)
    plan = Plan(output, work, _texts(text), head, limits, law_of(model), own.overwrite, sizes or Sizes())
    plan.check()
    return plan


def require_torch() -> None:
    """Raises BadParameter with what to install."""
    from importlib.util import find_spec

    if find_spec("torch") is None:
        raise BadParameter("train", "training needs torch, which is not installed; run: pip install 'truedraw[torch]'")


def chosen_layers(layers: tuple[int, ...] | None, flags: ModelFlags, head: HeadPlan) -> tuple[int, ...]:
    """As asked for, or as this kind of draft has them in a model of this depth; raises BadParameter."""
    from truedraw.distill.plan import checked_layers, default_layers
    from truedraw.generate.engine_choice import find_checkpoint
    from truedraw.models.toy import TOY_MODEL

    if flags.model == TOY_MODEL:
        raise BadParameter("--model", f"{TOY_MODEL} is a table without hidden states; give a model of files")
    count = find_checkpoint(flags.model, flags.engine, cache=flags.cache).config.num_layers
    if layers is None:
        return default_layers(count, head.kind)
    if head.further and max(layers) >= count:
        raise BadParameter(
            "--init-from", f"{head.init_from} reads layers {layers}, and this model has {count}; name another"
        )
    return checked_layers(layers, count)


def _texts(flags: TextFlags) -> TextPlan:
    from truedraw.bench.prompts import read_prompts
    from truedraw.cli.sizes import values_of
    from truedraw.distill.plan import TextPlan

    prompts = None if flags.prompts is None else tuple(each.text for each in read_prompts(flags.prompts))
    temperatures = tuple(float(values_of("--temperatures", part)[0]) for part in flags.temperatures.split(","))
    documents = tuple(flags.documents or ())
    openers = _openers(flags.openers)
    return TextPlan(flags.seed, temperatures, flags.answer_tokens, flags.tokens, prompts, openers, documents)


def _openers(given: str | None) -> tuple[str, ...] | None:
    if given is None:
        return None
    if given == NO_OPENERS:
        return ()
    found = tuple(words.strip() for words in given.split(","))
    if not all(found) or len(set(found)) < len(found):
        raise BadParameter("--openers", f"got {given!r:.60}; give several beginnings with commas between, or none")
    return found


def _limits(own: LimitFlags, text: TextFlags, threads: int | None) -> Limits:
    from truedraw.cli.sizes import bytes_of, seconds_of
    from truedraw.distill.plan import Limits

    ends = text.tokens is not None and own.steps is not None
    budget = own.budget or (None if ends else BUDGET)
    seconds = None if budget is None else seconds_of("--budget", budget)
    room = None if own.feature_bytes is None else bytes_of("--feature-bytes", own.feature_bytes)
    return Limits(seconds, own.steps, room, own.patience, threads)
