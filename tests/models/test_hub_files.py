"""Which files of the hub are fetched, in which order, and what becomes of those that were there."""

import json
import shutil
from hashlib import sha256
from pathlib import Path

import pytest
from hub_stub import Hub, fetch
from safetensors.numpy import save_file
from tiny_models import random_tensors, tiny_config, write_openvino

from truedraw.models import hub as hub_module
from truedraw.models import open_checkpoint
from truedraw.models.sums import SUMS, keep_others

pytest.importorskip("huggingface_hub")


def change(**values):
    path = Hub.folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def remove(name):
    (Hub.folder / name).unlink()


def cut_graph():
    graph = Hub.folder / "openvino_model.xml"
    graph.write_text(graph.read_text()[:-10])


def resolved():
    return {path.rpartition("/")[2] for path in Hub.log if "/resolve/" in path}


def model(cache):
    return cache / "models" / "org--tiny"


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda: change(architectures=["MambaForCausalLM"]), "UnsupportedModel org/tiny/config.json is of the class"),
        (lambda: change(rope_scaling={"rope_type": "yarn"}), "UnsupportedModel org/tiny/config.json: rope scaling"),
        (lambda: change(hidden_size="wide"), "BadModelFile org/tiny/config.json: hidden_size"),
        (lambda: remove("tokenizer.json"), "UnsupportedModel org/tiny has no tokenizer.json"),
        (lambda: (Hub.folder / "tokenizer.json").write_text("{"), "BadModelFile org/tiny/tokenizer.json is not JSON"),
    ],
)
def test_what_can_be_refused_without_its_weights_is(hub, tmp_path, spoil, said):
    spoil()
    found, _ = fetch(hub, "org/tiny", tmp_path)
    assert found.startswith(said)
    assert "config.json" in resolved()
    assert "model.safetensors" not in resolved()
    assert not model(tmp_path).exists()


@pytest.mark.parametrize("spoil", [lambda: remove("config.json"), cut_graph])
def test_a_graph_is_refused_without_its_weights(hub, tmp_path, spoil):
    Hub.folder = write_openvino(tmp_path / "ir", tiny_config())
    spoil()
    assert fetch(hub, "org/tiny", tmp_path)[0].startswith("BadModelFile org/tiny")
    assert "openvino_model.xml" in resolved()
    assert "openvino_model.bin" not in resolved()


def test_a_reader_that_misses_the_weights_in_its_own_words_is_asked_again_when_they_are_there(hub, tmp_path):
    prepare = """
        from truedraw.models import huggingface
        def reads(name, folder):
            if not (folder / "model.safetensors").exists():
                raise KeyError("weights")
            return huggingface.open_huggingface(name, folder)"""
    assert fetch(hub, "org/tiny", tmp_path, prepare, "open_folder=reads")[0].startswith("found")


@pytest.mark.parametrize(
    "others", [["consolidated.safetensors"], ["openvino_model.xml", "model.safetensors.index.json"]]
)
def test_of_several_weights_those_that_are_opened_are_fetched(hub, tmp_path, others):
    for other in others:
        (Hub.folder / other).write_text('{"weight_map": {"a": "other.safetensors"}}')
    assert fetch(hub, "org/tiny", tmp_path)[0].startswith(f"found {model(tmp_path)} huggingface")
    assert resolved() & {*others, "model.safetensors"} <= {"model.safetensors", "model.safetensors.index.json"}


def split(folder):
    """Its weights in two files and an index; their names."""
    tensors, parts = random_tensors(tiny_config("qwen2")), ("model-1.safetensors", "model-2.safetensors")
    places = {name: parts[number % 2] for number, name in enumerate(tensors)}
    for part in parts:
        save_file({name: each for name, each in tensors.items() if places[name] == part}, folder / part)
    (folder / "model.safetensors").rename(folder / "consolidated.safetensors")
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}))
    return parts


def test_shards_are_those_of_the_index(hub, tmp_path):
    parts = split(Hub.folder)
    assert fetch(hub, "org/tiny", tmp_path)[0].startswith("found")
    assert {name for name in resolved() if name.endswith(".safetensors")} == set(parts)
    (Hub.folder / parts[1]).unlink()
    Hub.log.clear()
    shutil.rmtree(model(tmp_path))
    assert fetch(hub, "org/tiny", tmp_path)[0].startswith("BadModelFile org/tiny lacks model-2.safetensors, which its")
    assert not resolved() & set(parts)


def test_where_there_is_a_graph_nothing_else_is_fetched(hub, tmp_path):
    write_openvino(Hub.folder, tiny_config())
    assert fetch(hub, "org/tiny", tmp_path)[0].startswith(f"found {model(tmp_path)} openvino")
    assert "model.safetensors" not in resolved()


def test_all_files_are_of_one_commit(hub, tmp_path):
    fetch(hub, "org/tiny", tmp_path)
    assert len({path.split("/")[4] for path in Hub.log if "/resolve/" in path}) == 1


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
def test_what_holds_something_else_than_the_hub_says_is_not_kept(hub, tmp_path, name):
    """As long as it should be, and no less readable."""
    whole = (Hub.folder / name).read_bytes()
    told = {"size": len(whole), "sha256": sha256(whole).hexdigest(), "pointerSize": 130}
    Hub.stored = {name: told}
    (Hub.folder / name).write_bytes(
        whole[:-9] + b" " * 9 if name.startswith("model") else whole.replace(b" ", b"\t", 1)
    )
    said = fetch(hub, "org/tiny", tmp_path)[0]
    assert said.startswith(f"PullError org/tiny: {name} has the sha256 ")
    assert said.endswith(f", and the hub says {told['sha256']}; nothing was kept, try again")
    assert not model(tmp_path).exists()
    (Hub.folder / name).write_bytes(whole)
    assert fetch(hub, "org/tiny", tmp_path)[0].startswith("found")


def test_too_little_room_is_said_before_the_weights_are_fetched(hub, tmp_path):
    """As of the model named, with what it needs."""
    with (Hub.folder / "model.safetensors").open("ab") as file:
        file.truncate(5 << 20)
    prepare = "import shutil; shutil.disk_usage = lambda path: __import__('types').SimpleNamespace(free=3 << 20)"
    said, _ = fetch(hub, "org/tiny", tmp_path, prepare)
    assert said.startswith("PullError org/tiny needs 5 MiB to be fetched")
    assert "has 3 MiB free" in said
    assert "model.safetensors" not in resolved()


def test_the_template_for_tools_is_part_of_a_model(hub, tmp_path):
    """As long as the model has it, and with what somebody wrote beside it or into it."""
    templates = Hub.folder / "additional_chat_templates"
    templates.mkdir()
    (templates / "tool_use.jinja").write_text("tools")
    (templates / "old").mkdir()
    for other in ("README.md", "old/tool_use.jinja"):
        (templates / other).write_text("not needed")
    fetch(hub, "org/tiny", tmp_path)
    here, verify = model(tmp_path) / templates.name, "verify=True, notice=lambda said: sys.stderr.write(said)"
    assert [(each.name, each.read_text()) for each in here.iterdir()] == [("tool_use.jinja", "tools")]
    assert open_checkpoint(model(tmp_path)).text.tool_template == "tools"
    (here / "mine.jinja").write_text("mine")
    (here / "tool_use.jinja").write_text("edited")
    said = fetch(hub, "org/tiny", tmp_path, options=verify)[1]
    assert said.endswith("what it held is kept in additional_chat_templates/tool_use.jinja.edited")
    assert {each.name: each.read_text() for each in here.iterdir()} == {
        "mine.jinja": "mine", "tool_use.jinja": "tools", "tool_use.jinja.edited": "edited",
    }  # fmt: skip
    shutil.rmtree(templates)
    (model(tmp_path) / "config.json").write_text("{}")
    fetch(hub, "org/tiny", tmp_path, options=verify)
    assert open_checkpoint(model(tmp_path)).text.tool_template is None
    assert (here / "mine.jinja").read_text() == "mine"


def test_a_file_that_somebody_edited_is_kept_and_told_of(hub, tmp_path):
    verify = "verify=True, notice=lambda said: sys.stderr.write(said)"
    fetch(hub, "org/tiny", tmp_path)
    config, fetched = model(tmp_path) / "config.json", (Hub.folder / "config.json").read_text()
    for edit, place in (("{}", "config.json.edited"), ("[]", "config.json.edited.2")):
        config.write_text(edit)
        found, said = fetch(hub, "org/tiny", tmp_path, options=verify)
        assert found.startswith("found")
        assert said.startswith(
            "org/tiny: fetched anew, for it was not as it had been fetched: config.json; what it held"
        )
        assert said.endswith(f" is kept in {place}")
        assert (config.read_text(), config.with_name(place).read_text()) == (fetched, edit)
    assert config.with_name("config.json.edited").read_text() == "{}"
    weights = model(tmp_path) / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-9] + bytes(9))
    said = fetch(hub, "org/tiny", tmp_path, options=verify)[1]
    assert said == "org/tiny: fetched anew, for it was not as it had been fetched: model.safetensors"
    assert fetch(hub, "org/tiny", tmp_path, options=verify)[1] == ""


def test_the_old_folder_is_whole_until_the_new_one_is_in_its_place(tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    (old / "notes" / "deep").mkdir(parents=True)
    new.mkdir()
    for name in ("mine.txt", "notes/deep/a", "config.json"):
        (old / name).write_text(name)
    (old / "link").symlink_to("nowhere")
    (new / "config.json").write_text("new")
    assert keep_others(old, new, ["config.json", "gone.json", "big.safetensors"]) == ["config.json.edited"]
    assert sorted(each.name for each in old.rglob("*")) == ["a", "config.json", "deep", "link", "mine.txt", "notes"]
    assert [(new / name).read_text() for name in ("mine.txt", "notes/deep/a")] == ["mine.txt", "notes/deep/a"]
    assert (new / "link").is_symlink()
    assert ((new / "config.json").read_text(), (new / "config.json.edited").read_text()) == ("new", "config.json")


def test_what_was_fetched_is_no_part_of_a_later_state(hub, tmp_path):
    """A template, or weights that count before those of an index, which the model has no more."""
    template = Hub.folder / "chat_template.jinja"
    template.write_text("old")
    fetch(hub, "org/tiny", tmp_path)
    (model(tmp_path) / "mine.safetensors").write_bytes(b"head")
    (model(tmp_path) / "config.json").write_text("{}")
    template.unlink()
    split(Hub.folder)
    assert fetch(hub, "org/tiny", tmp_path, options="verify=True")[0].startswith("found")
    names = {file.name for file in model(tmp_path).iterdir()}
    assert not names & {"chat_template.jinja", "model.safetensors"}
    assert {"mine.safetensors", "config.json.edited", "model.safetensors.index.json"} <= names


@pytest.mark.parametrize("sums", [None, "", "{}"])
def test_where_nobody_knows_what_was_fetched_texts_are_kept_aside(tmp_path, sums):
    old, new = tmp_path / "old", tmp_path / "new"
    for folder, texts in ((old, {"config.json": "mine", "chat_template.jinja": "x"}), (new, {"config.json": "new"})):
        folder.mkdir()
        for name, text in (texts | {"tokenizer.json": "same"}).items():
            (folder / name).write_text(text)
    for name in ("model.safetensors", "head.safetensors"):
        (old / name).write_text(name)
    if sums is not None:
        (old / SUMS).write_text(sums)
    assert keep_others(old, new, []) == ["chat_template.jinja.edited", "config.json.edited"]
    assert sorted(file.name for file in new.iterdir()) == [
        "chat_template.jinja.edited", "config.json", "config.json.edited", "head.safetensors", "tokenizer.json",
    ]  # fmt: skip


def test_a_kill_between_two_folders_brings_the_old_one_back(tmp_path, monkeypatch):
    fresh, home, old = (tmp_path / name for name in ("fresh", "home", "old"))
    for folder in (fresh, home):
        folder.mkdir()
        (folder / "a").write_text(folder.name)
    rename = Path.rename

    def killed(path, target):
        if path == fresh:
            raise KeyboardInterrupt
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", killed)
    with pytest.raises(KeyboardInterrupt):
        hub_module._put_in_place(fresh, home, old)
    monkeypatch.undo()
    hub_module._restore(home, old)
    assert (home / "a").read_text() == "home"
    hub_module._put_in_place(fresh, home, old)
    hub_module._restore(home, old)
    assert (home / "a").read_text() == "fresh"
    assert not old.exists()


@pytest.mark.parametrize("make", [Path.touch, Path.mkdir], ids=["file", "empty folder"])
def test_what_is_no_model_in_its_place_is_replaced(hub, tmp_path, make):
    model(tmp_path).parent.mkdir()
    make(model(tmp_path))
    assert fetch(hub, "org/tiny", tmp_path)[0].startswith("found")


PATIENT = """
        from types import SimpleNamespace
        from truedraw.models import hub_client
        hub_client.time = SimpleNamespace(sleep=lambda seconds: sys.stderr.write(f"{seconds:g} "))"""


@pytest.mark.parametrize(
    ("refusals", "waited", "said"),
    [
        ([(500, {}), (503, {})], "1 2 ", "found"),
        ([(429, {"Retry-After": "7"}), (429, {})], "7 2 ", "found"),
        ([(429, {"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"})], "1 ", "found"),
        ([(429, {"Retry-After": "3600"})], "", "PullError org/tiny could not be fetched from the hub: "),
        ([(500, {})] * 3, "1 2 ", "PullError org/tiny could not be fetched from the hub: "),
        ([(400, {})], "", "PullError org/tiny could not be fetched from the hub: "),
    ],
)
def test_a_hub_that_is_busy_is_asked_again(hub, tmp_path, refusals, waited, said):
    Hub.refusals = list(refusals)
    found, stderr = fetch(hub, "org/tiny", tmp_path, PATIENT)
    assert found.startswith(said)
    assert stderr == waited
    assert Hub.refusals == []


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
@pytest.mark.parametrize(
    ("refusals", "waited", "said"),
    [
        ([(503, {}), (502, {})], "1 2 ", "found"),
        ([(500, {})] * 3, "1 2 ", "PullError org/tiny could not be fetched from the hub: "),
        ([(416, {})], "", "found"),  # to what is asked for behind the end of a file
        ([(416, {})] * 2, "", "PullError org/tiny could not be fetched from the hub: "),
        ([(400, {})], "", "PullError org/tiny could not be fetched from the hub: "),
    ],
)
def test_a_hub_that_is_busy_is_asked_again_for_a_file(hub, tmp_path, name, refusals, waited, said):
    Hub.busy = {name: list(refusals)}
    found, stderr = fetch(hub, "org/tiny", tmp_path, PATIENT)
    assert found.startswith(said)
    assert stderr == waited
    assert Hub.busy == {name: []}


def test_what_the_hub_package_logs_and_warns_of_is_not_seen(hub, tmp_path):
    prepare = """
        import huggingface_hub, warnings
        once = huggingface_hub.snapshot_download
        def chatty(*given, **more):
            huggingface_hub.logging.get_logger("huggingface_hub.utils._http").warning("Retrying")
            warnings.warn_explicit("Not enough space", UserWarning, "a.py", 1, "huggingface_hub.file_download")
            return once(*given, **more)
        huggingface_hub.snapshot_download = chatty"""
    found, stderr = fetch(hub, "org/tiny", tmp_path, prepare)
    assert (found[:5], stderr) == ("found", "")


@pytest.mark.parametrize(
    ("instead", "said"),
    [
        ({"/model.safetensors": 403}, "403 Forbidden"),
        ({"/config.json": 451}, "451"),
        ({"/api/models/org/tiny": b"<html>Log in</html>"}, "it answers with no JSON"),
    ],
)
def test_what_the_hub_said_is_told(hub, tmp_path, instead, said):
    Hub.instead = instead
    found, _ = fetch(hub, "org/tiny", tmp_path)
    assert found.startswith("PullError org/tiny could not be fetched from the hub: ")
    assert said in found
    assert "check your connection" not in found
    assert not model(tmp_path).exists()


def test_a_hub_that_answers_no_more_before_the_weights_is_no_model_without_weights(hub, tmp_path):
    prepare = """
        import huggingface_hub
        once, asked = huggingface_hub.snapshot_download, []
        def forgetful(*given, **more):
            asked.append(given)
            return str(more["local_dir"]) if len(asked) > 1 else once(*given, **more)
        huggingface_hub.snapshot_download = forgetful"""
    said = "PullError org/tiny could not be fetched from the hub: model.safetensors did not come; try again"
    found, _ = fetch(hub, "org/tiny", tmp_path, prepare)
    assert found.startswith(said)
    assert not model(tmp_path).exists()
