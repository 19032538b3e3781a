"""The card of the head that truedraw train eval looks at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truedraw.errors import BadFile, BadParameter

if TYPE_CHECKING:
    from truedraw.bench.draft_eval.report import Plan
    from truedraw.generate.speculation import Speculation


def card_of(plan: Plan) -> Mapping[str, Any] | None:
    """Which head was looked at, and what it says of itself; None for another drafter."""
    from truedraw.bench.draft_eval.report import HEAD

    if plan.speculation.method != HEAD:
        return None
    path = Path(plan.speculation.settings.get("head_path") or plan.model.drafts.head_path or "").expanduser()
    card = plan.model.drafts.head(path).card
    files = [path] if path.is_file() else [each for each in path.iterdir() if each.is_file()]
    return {"file": str(path), "bytes": sum(each.stat().st_size for each in files), "card": card and asdict(card)}


def check_card(path: Path, head: Path | None, speculation: Speculation) -> None:
    """Raises BadParameter, BadFile for what would not be written at the end, before anything is measured."""
    from truedraw.bench.draft_eval.report import HEAD

    if speculation.method != HEAD:
        raise BadParameter("--write-card", f"{speculation.method} has no card; leave it out, or evaluate a head")
    if path.exists() and (path.is_dir() or head is None or not path.samefile(head)):
        raise BadFile(f"--write-card {path} is there already; give another file, or the head itself")
    if not path.parent.is_dir():
        raise BadFile(f"--write-card {path} cannot be written; give a file in a folder that exists")


def write_card(path: Path, found: Mapping[str, Any]) -> None:
    """The head that was evaluated, with these figures; raises BadFile."""
    from truedraw.bench.draft_eval.figures import figures
    from truedraw.draft.head.noting import note

    head = found["head"]
    note(Path(head["file"]), path, figures(found, head["card"]["training"]))
