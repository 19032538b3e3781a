"""Texts of the target to prompts that nothing is trained on, one at each temperature, and what it knows along them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from truedraw.distill.asking import answered, opening
from truedraw.distill.clock import Clock
from truedraw.distill.comparison.told import PROMPTS
from truedraw.distill.comparison.wanted import Wanted, folder_of
from truedraw.distill.computing import Computed, compute
from truedraw.distill.evaluation import CHAIN, MEASURED
from truedraw.distill.plan import Tell
from truedraw.distill.preparing import MEGABYTE, text_settings
from truedraw.distill.rows import Rows
from truedraw.distill.store import Shape, Store
from truedraw.distill.texts import NAME, Record, checked, read_texts
from truedraw.distill.work_journal import WorkJournal
from truedraw.errors import BadParameter, BadPrompt
from truedraw.generate.derived_seeds import seed_after
from truedraw.generate.request import Request

if TYPE_CHECKING:
    from truedraw.generate.model import Model

SEEDS = 1 << 48  # test texts are this far from those that are trained on


def test_rows(model: Model, wanted: Wanted, shape: Shape, tell: Tell) -> Rows:
    """All texts that came to the chain that is measured, of each prompt at each temperature.

    What was written and computed before a kill is kept. Raises BadPrompt where no text is long enough, BadParameter
    where there is no room for all: those that end first are the short ones.
    """
    plan, engine = wanted.plan, model.engine
    asked = list(wanted.prompts or ())
    settings = {**text_settings(model, plan), "kind": "draft test texts", "temperatures": list(MEASURED),
                "prompts": asked, "documents": []}  # fmt: skip
    folder = folder_of(plan.work, "test", settings)
    with WorkJournal(folder / NAME, settings, plan.overwrite) as journal:
        journal.renew()
        done = {tuple(record["key"]) for record in checked(journal.records(), folder / NAME)}
        for record in _written(model, wanted, done, tell):
            journal.append(record)
    layers = {**settings, "kind": "draft test features", "layers": list(getattr(engine, "hidden_layers", None) or ())}
    with Store(folder, shape, layers, plan.overwrite) as store:
        tokens = sum(len(text.answer) for text in read_texts(folder))
        limit = (plan.limits.disk_bytes, Clock(0.0, None), tell, tokens)
        _check_all(compute(engine, read_texts(folder), store, limit), plan.limits.disk_bytes)
    found = Rows(folder, shape, all_held=True)
    found.check_tokens(engine.vocab_size)
    if not found.followed(CHAIN).any():
        raise BadPrompt(f"no text to the prompts of --test-prompts came to more than {CHAIN} tokens; give others")
    return found


def _check_all(found: Computed, most: int) -> None:
    if found.needed_bytes is not None:
        raise BadParameter(
            "--feature-bytes",
            f"{most:,} bytes do not hold the answers to --test-prompts; give {-(-found.needed_bytes // MEGABYTE)}M or "
            "more, or fewer prompts; what is there is kept",
        )


def _written(model: Model, wanted: Wanted, done: set[tuple[int, int]], tell: Tell) -> Iterator[Record]:
    """Those that are not there yet, in order of completion; prompts that no context holds, and empty texts are left
    out."""
    requests = [each for each in _requests(model, wanted) if each.key not in done]
    for number, (_, record) in enumerate(answered(model, requests), start=1):
        tell(PROMPTS, number / len(requests), f"{number} of {len(requests)} texts")
        if record is not None and len(record["answer"]) > CHAIN:
            yield {**record, "seconds": 0.0}


def _requests(model: Model, wanted: Wanted) -> Iterator[Request]:
    texts = wanted.plan.texts
    for number, text in enumerate(wanted.prompts or ()):
        prompt = opening(model, text)
        if prompt is None:
            continue
        for place, temperature in enumerate(MEASURED):
            seed = seed_after(texts.seed, SEEDS + number * len(MEASURED) + place)
            params = {"temperature": temperature, "max_tokens": texts.answer_tokens, "seed": seed}
            yield Request(prompt, params, False, (number, place))
