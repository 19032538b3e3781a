"""What comes before training: texts, and what the target knows and says at each of their tokens."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from truedraw.distill.clock import Clock
from truedraw.distill.computing import Computed, check_readout, compute
from truedraw.distill.folders import make_work
from truedraw.distill.further import check_init
from truedraw.distill.gathering import fitting, gather
from truedraw.distill.plan import FEATURES, SHARES, TEXTS, TRAINING, WHOLE_SHARES, Plan, Tell
from truedraw.distill.rows import Rows
from truedraw.distill.store import Shape, Store
from truedraw.distill.tables import Tables, tables_of
from truedraw.distill.texts import NAME, Gathered, Text, check_stored, prompts_of, read_texts
from truedraw.distill.watching import Keeping
from truedraw.errors import BadFile, BadParameter

if TYPE_CHECKING:
    from truedraw.generate.model import Model

FEWEST_ROWS = 5  # of a text: a row to begin at, and a chain of four behind it
MEGABYTE = 1 << 20
WHOLE = "whole"  # where in --work features of whole texts lie
LEAST_TRAINING = 0.2  # of the budget: what is trained in any case, however long the stages before took


class Prepared(NamedTuple):
    """What is trained on, and what it took."""

    tables: Tables
    data: Rows
    texts: Gathered
    done: Computed


def prepared(model: Model, plan: Plan, tell: Tell) -> Prepared:
    """All that comes before training. Raises BadFile, among others, where features are of other tokens than texts."""
    found = not_compared(model, plan, tell)
    check_stored(plan.work, found.data.by_text())
    return found


def not_compared(model: Model, plan: Plan, tell: Tell) -> Prepared:
    """The same for who compares rows with their texts while these are read."""
    tables = tables_of(model.engine, model.name)
    make_work(plan.work)
    check_readout(model.engine, tables)
    check_init(plan.head, model)
    texts, done = _written_and_seen(model, plan, tell)
    return enough(Prepared(tables, _rows(plan.work, model, plan, tables), texts, done), plan)


def prepared_whole(model: Model, plan: Plan, tell: Tell) -> Prepared:
    """The same with features of prompts as well as answers: each text as one that follows its first token.

    They are computed, and kept apart from those of answers alone, which a head may have left in the same place.
    """
    tables = tables_of(model.engine, model.name)
    folder = plan.work / WHOLE
    make_work(folder)
    check_readout(model.engine, tables)
    settings, limit = text_settings(model, plan), plan.limits.seconds
    wanted = fitting(plan, shape_of(model))
    seconds = {stage: None if limit is None else limit * share for stage, share in WHOLE_SHARES.items()}
    texts = gather(model, wanted, plan.work, settings, (seconds[TEXTS], tell), plan.overwrite)
    done = _seen_whole(model, plan, settings, (_more(seconds, texts), tell))
    return enough(Prepared(tables, _rows(folder, model, plan, tables), texts, done), plan)


def _rows(folder: Path, model: Model, plan: Plan, tables: Tables) -> Rows:
    """Of the store in `folder`; given prompts, and documents that are the same, are held out as a whole.

    Raises BadFile for a damaged store.
    """
    prompts = prompts_of(plan.work) if plan.texts.are_given else None
    data = Rows(folder, shape_of(model), prompts=prompts)
    data.check_tokens(len(tables.embedding))
    hold_out_enough(data, plan)
    return data


def hold_out_enough(data: Rows, plan: Plan) -> None:
    """Where documents that are held out are all too short to measure on: longer ones instead. Raises BadFile."""
    if plan.texts.documents and not data.is_enough(FEWEST_ROWS):
        data.hold_out(prompts_of(plan.work, FEWEST_ROWS + 1))


def enough(found: Prepared, plan: Plan) -> Prepared:
    """Raises BadParameter where so few features had no room for more or so few tokens were asked for, BadFile where
    there is too little text."""
    (_, data, texts, done), wanted = found, plan.texts.tokens
    if done.needed_bytes is not None and not data.is_enough(FEWEST_ROWS):
        most, each = plan.limits.disk_bytes, data.shape.row_bytes
        raise BadParameter(
            "--feature-bytes",
            f"{most:,} bytes hold {most // each:,} tokens of text at {each:,} bytes each, too few to train on; give "
            f"{-(-done.needed_bytes // MEGABYTE)}M, which holds all that is there, or more; the texts are kept",
        )
    if wanted is not None and texts.tokens >= wanted and done.all_texts and not data.is_enough(FEWEST_ROWS):
        raise BadParameter(
            "--tokens",
            f"{wanted:,} are reached with too few texts, {data.num_texts}: at least two of more than {FEWEST_ROWS} "
            "tokens are needed; give more, or leave it out",
        )
    data.check(FEWEST_ROWS)
    return found


def _more(seconds: dict[str, float | None], texts: Gathered) -> float | None:
    """For features of whole texts, with what the texts left over."""
    first, second = seconds[TEXTS], seconds[FEATURES]
    return None if first is None or second is None else second + max(first - texts.seconds, 0.0)


def _seen_whole(model: Model, plan: Plan, settings: dict[str, Any], limit: tuple[float | None, Tell]) -> Computed:
    engine: Any = model.engine
    (seconds, tell), most = limit, plan.limits.disk_bytes
    of_features = {**settings, "kind": "draft features of whole texts", "layers": list(engine.hidden_layers)}
    rows = sum(len(text.answer) for text in whole_texts(plan.work))
    with Store(plan.work / WHOLE, shape_of(model), of_features, plan.overwrite) as store:
        return compute(engine, whole_texts(plan.work), store, (most, Clock(store.seconds, seconds), tell, rows))


def whole_texts(folder: Path) -> Iterator[Text]:
    """Texts of a run, each as what follows its first token."""
    for text in read_texts(folder):
        yield Text(text.prompt[:1], [*text.prompt[1:], *text.answer], text.temperature)


def text_settings(model: Model, plan: Plan) -> dict[str, Any]:
    """What decides which texts come."""
    from truedraw.models.fingerprint import fingerprint

    texts = plan.texts
    for path in texts.documents:
        if not path.is_file():
            why = "it is no regular file" if path.exists() else "there is no such file"
            raise BadFile(f"{path} cannot be read: {why}; give files with text")
    return {
        "kind": "draft texts",
        **plan.identity,
        "tokenizer": model.tokenizer.fingerprint,
        "hidden_size": getattr(model.engine, "hidden_size", None),
        "seed": texts.seed,
        "temperatures": list(texts.temperatures),
        "answer_tokens": texts.answer_tokens,
        "prompts": None if texts.prompts is None else list(texts.prompts),
        "openers": None if texts.openers is None else list(texts.openers),
        "documents": [fingerprint([path], named=False) for path in texts.documents],
    }


def _written_and_seen(model: Model, plan: Plan, tell: Tell) -> tuple[Gathered, Computed]:
    """Texts, and features of them: those of texts that are written now are kept meanwhile, the others computed."""
    engine: Any = model.engine
    settings = text_settings(model, plan)
    of_features = {**settings, "kind": "draft features", "layers": list(engine.hidden_layers)}
    with Store(plan.work, shape_of(model), of_features, plan.overwrite) as store:
        most = plan.limits.disk_bytes
        seconds = None if plan.limits.seconds is None else plan.limits.seconds * SHARES[TEXTS]
        if not plan.overwrite and (before := _there(plan)):
            limit = (most, Clock(store.seconds, for_features(plan, None)), tell, before)
            compute(engine, read_texts(plan.work), store, limit)
        keeping = Keeping(store, most)
        wanted = fitting(plan, store.shape)
        texts = gather(model, wanted, plan.work, settings, (seconds, tell), plan.overwrite, keeping)
        limit = (most, Clock(store.seconds, for_features(plan, texts)), tell, texts.tokens)
        return texts, compute(engine, read_texts(plan.work), store, limit)


def _there(plan: Plan) -> int:
    """Tokens of texts of an earlier run; a kill may have come before what was seen of the last ones was kept."""
    return sum(len(text.answer) for text in read_texts(plan.work)) if (plan.work / NAME).exists() else 0


def for_features(plan: Plan, texts: Gathered | None) -> float | None:
    """Seconds for those that are not there yet, with what the texts left over; None: they are not written yet."""
    seconds = plan.limits.seconds
    if seconds is None:
        return None
    if texts is None:
        return seconds * (SHARES[FEATURES] + SHARES[TRAINING] / 2)
    return max(seconds * (SHARES[TEXTS] + SHARES[FEATURES]) - texts.seconds, seconds * SHARES[FEATURES])


def left(plan: Plan, found: Prepared) -> float | None:
    """Seconds to train in."""
    seconds, texts, done = plan.limits.seconds, found.texts, found.done
    return None if seconds is None else max(seconds - texts.seconds - done.seconds, seconds * LEAST_TRAINING)


def shape_of(model: Model) -> Shape:
    """Of the hidden states that its engine returns with a row."""
    engine: Any = model.engine
    return Shape(len(engine.hidden_layers) + 1, engine.hidden_size)
