"""What a training writes at its end: whether it can be written is asked before a model is loaded."""

from __future__ import annotations

from pathlib import Path

from truedraw.distill.folders import check_output
from truedraw.distill.plan import EAGLE3, FOLDERS, PAGE, Plan
from truedraw.errors import BadFile, BadParameter
from truedraw.whole_files import behind_links, check_folder, is_writable


def check_outputs(plan: Plan) -> None:
    """Raises BadParameter, BadFile where the draft or the report beside it could not be written, or would be written
    over a text to train on."""
    from truedraw.distill.report import TITLE
    from truedraw.draft.head.file import check_ours
    from truedraw.page.document import check_ours as check_page

    output, before = plan.output, plan.head.init_from
    if before is not None and before.exists() and output.exists() and output.samefile(before):
        raise BadParameter("--output", f"{output} is the head that is trained further; name another file")
    if output.suffix == PAGE:
        raise BadParameter("--output", f"{output} is what the report would be called; give another ending")
    for text in plan.texts.documents:
        if text.exists() and any(each.exists() and each.samefile(text) for each in (output, plan.page)):
            raise BadParameter(
                "--output", f"{text} would be written over, by the draft or its report; name another file"
            )
    if any(_is_in(plan.work, each) for each in (output, plan.page)):
        raise BadParameter("--output", f"{output} would stand where {plan.work} is worked in; give another --work")
    if not is_writable(behind_links(output).parent):
        raise BadFile(f"--output {output} cannot be written; give a file in a folder that exists and may be written to")
    if plan.head.kind in FOLDERS:
        check_output(output, _folder_kind(plan.head.kind))
    else:
        check_folder(output, f"--output {output}")
        check_ours(output, "--output")
    check_folder(plan.page, f"{plan.page}, the report beside --output,")
    if not plan.overwrite:
        check_page(plan.page, TITLE)


def _is_in(work: Path, output: Path) -> bool:
    """Whether the folder that is worked in is the output, or inside it."""
    worked = behind_links(work)
    return behind_links(output) in (worked, *worked.parents)


def _folder_kind(kind: str) -> str:
    """What the card of such a folder says that it is."""
    if kind == EAGLE3:
        from truedraw.draft.eagle.card import KIND as EAGLE_KIND

        return EAGLE_KIND
    from truedraw.distill.independent.export import KIND

    return KIND
