"""The card of the head that truedraw train eval looks at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truedraw.errors import BadFile, BadParameter
from truedraw.home_folder import expanded
from truedraw.whole_files import check_folder

if TYPE_CHECKING:
    from truedraw.bench.draft_eval.plan import Plan
    from truedraw.generate.speculation import Speculation

FLAG = "--write-card"


def card_of(plan: Plan) -> Mapping[str, Any] | None:
    """Which head was looked at, and what it says of itself; None for another drafter."""
    from truedraw.bench.draft_eval.plan import HEAD

    if plan.speculation.method != HEAD:
        return None
    path = expanded(plan.speculation.settings.get("head_path") or plan.model.drafts.head_path or "")
    card = plan.model.drafts.head(path).card
    files = [path] if path.is_file() else [each for each in path.iterdir() if each.is_file()]
    return {"file": str(path), "bytes": sum(each.stat().st_size for each in files), "card": card and asdict(card)}


def check_card(path: Path, draft: str | Path | None, speculation: Speculation) -> None:
    """Raises BadParameter, BadFile for what would not be written at the end, before anything is measured.

    draft: what the model is loaded for; a head_path counts before it.
    """
    from truedraw.bench.draft_eval.plan import HEAD

    if speculation.method != HEAD:
        raise BadParameter(FLAG, f"{speculation.method} has no card; leave it out, or evaluate a head")
    given = speculation.settings.get("head_path") or draft
    head = expanded(given) if isinstance(given, str | Path) else None
    if head is not None and head.is_dir():
        raise BadParameter(FLAG, f"{head} is a folder, which has no card to write to; leave it out")
    if path.exists() and (path.is_dir() or head is None or not head.exists() or not path.samefile(head)):
        raise BadFile(f"{FLAG} {path} is there already; give another file, or the head itself")
    check_folder(path, f"{FLAG} {path}")


def write_card(path: Path, found: Mapping[str, Any]) -> None:
    """The head that was evaluated, with these figures; raises BadFile."""
    from truedraw.bench.draft_eval.figures import figures
    from truedraw.draft.head.noting import note

    head = found["head"]
    note(Path(head["file"]), path, figures(found, head["card"]["training"]))
