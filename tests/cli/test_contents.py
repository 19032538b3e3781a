"""A model is what its files hold."""

import shutil
from types import SimpleNamespace

import pytest

from models.tiny_models import random_tensors, tiny_config, write_folder, write_gguf
from truedraw.cli.model_flags import ModelFlags
from truedraw.cli.options import law_of
from truedraw.errors import BadFile
from truedraw.generate.offline.journal import Journal
from truedraw.generate.offline.settings import TEXT_FILES


def test_a_moved_model_is_the_same_and_another_one_is_not(tmp_path):
    config, out = tiny_config(), tmp_path / "out.jsonl"
    (tmp_path / "b").mkdir()
    first = write_gguf(tmp_path / "m.gguf", config, random_tensors(config))
    moved = shutil.copy(first, tmp_path / "b" / "other.gguf")
    with Journal(out, law_of(ModelFlags(model=str(first)))) as journal:
        journal.append({})
    Journal(out, law_of(ModelFlags(model=str(moved)))).close()
    write_gguf(first, config, random_tensors(config, seed=1))
    with pytest.raises(BadFile, match=r"contents\.model was"):
        Journal(out, law_of(ModelFlags(model=str(first))))


@pytest.mark.parametrize("name", ["chat_template.jinja", "additional_chat_templates/tool_use.jinja", "tokenizer.json"])
def test_a_folder_with_another_template_or_tokenizer_is_another_model(tmp_path, name):
    config, out = tiny_config(), tmp_path / "out.jsonl"
    folder = write_folder(tmp_path / "m", config, random_tensors(config))
    flags = ModelFlags(model=str(folder))
    begun = law_of(flags)
    with Journal(out, begun) as journal:
        journal.append({})
    Journal(out, law_of(flags)).close()
    (folder / name).parent.mkdir(exist_ok=True)
    with (folder / name).open("a") as file:
        file.write(" ")
    with pytest.raises(BadFile, match=r"text_files\.model was"):
        Journal(out, law_of(flags))


def test_results_that_were_begun_before_templates_were_written_down_go_on(tmp_path):
    config, out = tiny_config(), tmp_path / "out.jsonl"
    flags = ModelFlags(model=str(write_folder(tmp_path / "m", config, random_tensors(config))))
    begun = law_of(flags)
    assert begun.pop(TEXT_FILES)["model"]
    with Journal(out, begun) as journal:
        journal.append({})
    Journal(out, law_of(flags)).close()


def test_the_arithmetic_counts_that_the_engine_will_choose(tmp_path, monkeypatch):
    config = tiny_config()
    model = write_gguf(tmp_path / "m.gguf", config, random_tensors(config))

    def begun(numerics):
        monkeypatch.setattr("truedraw.engine.cpu.opening.arithmetic_of", lambda *_: SimpleNamespace(name=numerics))
        return Journal(tmp_path / "out.jsonl", law_of(ModelFlags(model=str(model))))

    with begun("native") as journal:
        journal.append({})
    with pytest.raises(BadFile, match='numerics was "native", is "runtime"'):
        begun("runtime")


def test_a_run_stays_on_the_device_that_was_named_for_it(tmp_path):
    def begun(device):
        return Journal(tmp_path / "out.jsonl", law_of(ModelFlags(model="tabular", engine="pytorch", device=device)))

    with begun("cuda") as journal:
        journal.append({})
    with pytest.raises(BadFile, match='device was "cuda", is "cpu"'):
        begun("cpu")
    assert "device" not in law_of(ModelFlags(model="tabular"))


def test_the_toy_has_no_files():
    assert law_of(ModelFlags(model="tabular"))["contents"] == {"model": None, "amateur": None}
