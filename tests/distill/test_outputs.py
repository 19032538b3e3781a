"""What a training writes at its end, looked at before it begins."""

from dataclasses import replace
from pathlib import Path

import pytest

from truedraw.distill.folders import CONFIG
from truedraw.distill.outputs import check_outputs
from truedraw.distill.plan import FOLDERS, HeadPlan, Plan, TextPlan
from truedraw.distill.report import to_html
from truedraw.errors import BadFile, BadParameter
from truedraw.page.document import document

KINDS = ("recurrent", "attentive", "medusa", "hydra", "parallel", "transformer", "eagle3")


@pytest.fixture(params=KINDS)
def plan_to(request, tmp_path):
    """plan_to(output, work) of each kind."""
    return lambda output, work=tmp_path / "own.work": Plan(output, work, head=HeadPlan(kind=request.param))


def test_what_can_be_written(tmp_path, plan_to):
    check_outputs(plan_to(tmp_path / "own.safetensors"))
    (tmp_path / "own.html").write_text(to_html({"model": "<a> model"}, [], []))
    (tmp_path / "own.work").mkdir()
    check_outputs(plan_to(tmp_path / "own.safetensors"))
    check_outputs(plan_to(tmp_path / "own.work" / "own.safetensors"))
    assert {path.name for path in tmp_path.iterdir()} == {"own.html", "own.work"}


def test_an_output_that_cannot_be_written(tmp_path, plan_to):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / CONFIG).write_text("{}")
    for output in (tmp_path / "full", Path("/dev/full")):
        with pytest.raises(BadFile, match=f"{output} (cannot be written: it is no regular file|is there already)"):
            check_outputs(plan_to(output))
    with pytest.raises(BadFile, match="own cannot be written; give a file in a folder that exists"):
        check_outputs(plan_to(tmp_path / "nowhere" / "own"))


@pytest.mark.parametrize("leads_to", ["nowhere/own", "own"])
def test_a_link_to_where_nothing_can_be_written(tmp_path, plan_to, leads_to):
    (tmp_path / "own").symlink_to(tmp_path / leads_to)
    plan = plan_to(tmp_path / "own")
    if leads_to == "own" and plan.head.kind not in FOLDERS:  # in a circle: a file takes its place
        check_outputs(plan)
        return
    with pytest.raises(BadFile, match=r"own (cannot be written; give a file in a folder that exists|is there already)"):
        check_outputs(plan)


def test_a_report_that_cannot_be_written(tmp_path, plan_to):
    (tmp_path / "own.html").mkdir()
    with pytest.raises(BadFile, match=r"own\.html, the report beside --output, cannot be written: it is no regular"):
        check_outputs(plan_to(tmp_path / "own"))


@pytest.mark.parametrize("there", ["a page", "<title>Draft for a letter</title>", document("Certificate", "")])
def test_no_page_but_an_earlier_report_is_written_over(tmp_path, plan_to, there):
    page, plan = tmp_path / "own.html", plan_to(tmp_path / "own.safetensors")
    page.write_text(there)
    with pytest.raises(BadFile, match=r"own\.html is there already and is no report of ours; give another --output"):
        check_outputs(plan)
    check_outputs(replace(plan, overwrite=True))
    page.write_bytes(b"")
    check_outputs(plan)


def test_only_the_ending_of_a_head_gives_way_to_that_of_a_report(tmp_path, plan_to):
    names = {"own.safetensors": "own.html", "own": "own.html", "own.a": "own.a.html", "v1.5.safetensors": "v1.5.html"}
    assert {name: plan_to(tmp_path / name).page.name for name in names} == names


@pytest.mark.parametrize("output", ["own.work", "own", "own.safetensors"])
def test_an_output_where_the_work_lies(tmp_path, plan_to, output):
    work = {"own": tmp_path / "own" / "work", "own.safetensors": tmp_path / "own.html"}.get(output, tmp_path / output)
    with pytest.raises(BadParameter, match=f"--output: .*{output} would stand where .* is worked in; give another"):
        check_outputs(plan_to(tmp_path / output, work))


@pytest.mark.parametrize("text", ["own.html", "own.safetensors"])
def test_no_text_to_train_on_is_written_over(tmp_path, plan_to, text):
    """By the draft, or by its report, which no flag names."""
    (tmp_path / text).write_text("a corpus")
    plan = plan_to(tmp_path / "own.safetensors")
    with pytest.raises(BadParameter, match=f"--output: .*{text} would be written over, by the draft or its report"):
        check_outputs(replace(plan, texts=TextPlan(documents=(tmp_path / text,))))


def test_no_file_but_an_earlier_head_is_written_over(tmp_path, plan_to):
    output = tmp_path / "own.safetensors"
    output.write_bytes(b"the model's weights")
    with pytest.raises(BadFile, match=r"own.safetensors is there already and is no dra"):
        check_outputs(plan_to(output))
    assert output.read_bytes() == b"the model's weights"
