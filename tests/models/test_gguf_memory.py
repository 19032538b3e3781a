"""A checkpoint lets go of its vocabulary, by far the largest part of a file's head."""

import gc

from tiny_models import random_tensors, tiny_config, write_gguf

from truedraw.models import open_checkpoint
from truedraw.models.gguf_file import GGUFFile


def _vocabularies():
    gc.collect()
    return sum(map(_is_held, gc.get_objects()))


def _is_held(thing):
    try:
        return type(thing) is GGUFFile and bool(thing.metadata)
    except ReferenceError:  # some objects are proxies of dead ones
        return False


def test_the_vocabulary_goes_with_the_tokenizers_making(tmp_path):
    config = tiny_config()
    before = _vocabularies()
    checkpoint = open_checkpoint(write_gguf(tmp_path / "m.gguf", config, random_tensors(config)))
    assert _vocabularies() == before + 1
    first = checkpoint.text.load_tokenizer()
    assert _vocabularies() == before
    assert checkpoint.weights.dense("model.norm.weight").shape == (config.hidden_size,)
    again = checkpoint.text.load_tokenizer()
    assert again.to_str() == first.to_str()
    assert _vocabularies() == before
