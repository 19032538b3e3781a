"""What a name means."""

import numpy as np
import pytest
from tiny_models import random_tensors, tiny_config, write_folder, write_gguf

from truedraw.errors import BadFile, BadInput, BadModelFile, UnknownModel, UnsupportedModel
from truedraw.models import open_checkpoint
from truedraw.models.cache import cache_root
from truedraw.models.catalogue import CATALOGUE
from truedraw.models.describe import describe, known_models
from truedraw.models.layout import num_parameters


@pytest.fixture
def model(tmp_path):
    return write_gguf(tmp_path / "m.gguf", tiny_config(), random_tensors(tiny_config()))


def test_near_names_are_suggested():
    with pytest.raises(UnknownModel, match="did you mean smollm2-135m"):
        open_checkpoint("smolm2-135")
    with pytest.raises(UnknownModel, match="the catalogue has smollm2-135m"):
        open_checkpoint("qqqq")
    assert issubclass(UnknownModel, BadInput)


@pytest.mark.parametrize("name", ["./none", "/none/at/all", "none.gguf", "a/b/c", "~/none-such/x", "org/none.gguf"])
def test_paths_that_do_not_exist(name):
    with pytest.raises(BadFile, match="there is no file or folder"):
        open_checkpoint(name)


@pytest.mark.parametrize("name", ["org/x@main", "org/x:Q4_0", "org/x/file.gguf", "https://huggingface.co/org/x"])
def test_what_names_more_than_a_model_on_the_hub_is_told_what_a_name_is(name):
    with pytest.raises(BadFile, match="on the hub is org/name, with no revision and no file"):
        open_checkpoint(name)


@pytest.mark.parametrize("name", ["", "  "])
def test_no_name_at_all(name):
    with pytest.raises(UnknownModel, match="name is empty; the catalogue has smollm2-135m"):
        open_checkpoint(name)


def test_what_is_neither_a_file_nor_a_folder():
    with pytest.raises(BadFile, match="/dev/null is neither a file nor a folder"):
        open_checkpoint("/dev/null")


def test_strings_and_paths_name_the_same_model(model):
    assert open_checkpoint(str(model)).fingerprint == open_checkpoint(model).fingerprint
    assert open_checkpoint(model).name == str(model)


def test_a_context_without_room_for_a_prompt_and_a_token(tmp_path):
    for length in (1, 2):
        config = tiny_config(context_length=length)
        write_gguf(tmp_path / f"{length}.gguf", config, random_tensors(config))
    with pytest.raises(UnsupportedModel, match="a context of one token, without room for one behind a prompt"):
        open_checkpoint(tmp_path / "1.gguf")
    assert open_checkpoint(tmp_path / "2.gguf").config.context_length == 2


def test_a_folder_with_one_gguf(model, tmp_path):
    assert open_checkpoint(tmp_path).path == model
    (tmp_path / "n.gguf").write_bytes(model.read_bytes())
    with pytest.raises(BadModelFile, match="holds 2 GGUF files, name one"):
        open_checkpoint(tmp_path)


def test_a_folder_called_like_an_entry_is_reached_by_its_path(tmp_path, monkeypatch):
    write_folder(tmp_path / "smollm2-135m", tiny_config(), random_tensors(tiny_config()))
    monkeypatch.chdir(tmp_path)
    assert open_checkpoint("./smollm2-135m").kind == "huggingface"


def test_description(model):
    facts = describe(open_checkpoint(model))
    assert facts["architecture"] == "llama"
    assert (
        facts["parameters"]
        == num_parameters(tiny_config())
        == sum(t.size for t in random_tensors(tiny_config()).values())
    )
    assert facts["quantisation"] == {"F32": 20}
    assert facts["size_bytes"] == model.stat().st_size
    assert facts["tokenizer"] == "byte-level BPE (smollm)"


def test_the_list_shows_what_is_fetched(tmp_path):
    assert [entry["path"] for entry in known_models(tmp_path)] == [None]
    write_folder(tmp_path / "models" / "org--name", tiny_config(), random_tensors(tiny_config()))
    (tmp_path / "models" / ".staging").mkdir()
    assert [entry["name"] for entry in known_models(tmp_path)] == ["smollm2-135m", "org/name"]


def test_the_cache_is_the_given_folder_or_the_users_own(tmp_path):
    assert cache_root(tmp_path) == tmp_path
    assert cache_root(None).name == "truedraw"


@pytest.mark.model
def test_the_default_model():
    checkpoint = open_checkpoint("smollm2-135m")
    config = checkpoint.config
    assert (config.num_layers, config.hidden_size, config.vocab_size) == (30, 576, 49152)
    assert (config.rope_theta, config.rope_scaling, config.tie_embeddings) == (100_000.0, None, True)
    assert checkpoint.text.eos_ids == (2, 0)
    assert checkpoint.weights.stored_as("model.layers.3.mlp.up_proj.weight") == "Q4_1"
    assert checkpoint.weights.packed("model.embed_tokens.weight").codes.shape == (49152, 576)
    assert np.isfinite(checkpoint.weights.dense("model.layers.29.self_attn.q_proj.weight")).all()
    assert describe(checkpoint)["parameters"] == 134_515_008


@pytest.mark.parity
@pytest.mark.model
def test_every_weight_equals_transformers():
    transformers = pytest.importorskip("transformers")
    checkpoint = open_checkpoint("smollm2-135m")
    path = checkpoint.path
    model = transformers.AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype="float32")
    theirs = model.state_dict()
    for name in checkpoint.weights.names():
        np.testing.assert_array_equal(checkpoint.weights.dense(name), theirs[name].numpy(), err_msg=name)


@pytest.mark.parametrize("verify", [True, False])
def test_an_entry_of_the_catalogue_brings_its_checksum_and_is_verified_on_demand(model, monkeypatch, verify):
    entry, asked = CATALOGUE["smollm2-135m"], []

    def pulled(found, **options):
        asked.append((found.name, options["verify"]))
        return model

    monkeypatch.setattr("truedraw.models.opening.pull", pulled)
    checkpoint = open_checkpoint("smollm2-135m", verify=verify)
    assert asked == [("smollm2-135m", verify)]
    assert checkpoint.sha256 == entry.file_sha256
    with pytest.raises(BadModelFile, match=r"is damaged.*models pull smollm2-135m"):
        checkpoint.check_contents()
    assert open_checkpoint(model).sha256 is None
    open_checkpoint(model).check_contents()


def test_a_file_that_cannot_be_read_is_named(model, monkeypatch):
    def refuse(*_args):
        raise PermissionError(13, "Permission denied", str(model))

    monkeypatch.setattr("truedraw.models.opening.open_gguf", refuse)
    with pytest.raises(BadModelFile, match=r"m\.gguf cannot be read: Permission denied"):
        open_checkpoint(model)
