"""Pages that run out, contexts that end, engines that are closed, settings that make no sense."""

from __future__ import annotations

import errno
import gc
import os
import re
import subprocess
import sys
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from engine.decoder import PLAIN, Decoder, RandomWeights, expected_rows, tiny_checkpoint, tiny_engine, tv
from truedraw.engine.constants.mapped import DATA
from truedraw.engine.constants.replaced import INDEX
from truedraw.engine.cpu import CPUEngine
from truedraw.engine.paged.ledger import Holder
from truedraw.engine.paged.page_memory import Tensors
from truedraw.engine.paged.pages import Claim, PagePool
from truedraw.errors import BadModelFile, BadParameter, BadPrompt, EngineError, OutOfPages, UnsupportedModel
from truedraw.models.cache import remove
from truedraw.protocol import NOTHING, Proposal, Work

PAGE_BYTES = 2 * 2 * PLAIN.num_kv_heads * 32 * PLAIN.head_dim * 4  # layers, keys and values, heads, slots, float32
TEXT = np.random.default_rng(1).integers(0, PLAIN.vocab_size, 160).tolist()


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def small(cache):
    """Room for four pages beside the scratch page, which no text shares with another."""
    return tiny_engine(cache, cache_bytes=5 * PAGE_BYTES, prefix_cache_bytes=0)


def test_out_of_pages_says_what_to_raise_and_changes_nothing(small):
    sequences = [small.open(TEXT[:40]) for _ in range(3)]
    first_two = [Work(sequence) for sequence in sequences[:2]]
    before = [scores.logits.copy() for scores in small.forward(first_two)]
    with pytest.raises(OutOfPages, match="cache_bytes") as caught:
        small.forward([Work(sequences[2])])
    assert re.search(
        rf"2 more are needed and 0 of 4 are free.* {5 * PAGE_BYTES} .* {7 * PAGE_BYTES}$", str(caught.value)
    )
    after = [scores.logits for scores in small.forward(first_two)]
    np.testing.assert_allclose(before, after, atol=1e-4)
    sequences[0].close()
    expected = expected_rows(Decoder(PLAIN, RandomWeights(PLAIN)), TEXT[:40], NOTHING)
    assert tv(small.forward([Work(sequences[2])])[0].logits, expected) < 1e-4
    for sequence in sequences:
        sequence.close()
        sequence.close()
    assert small._pool.num_free == 4


def test_a_raised_cache_suffices(cache):
    engine = tiny_engine(cache, cache_bytes=7 * PAGE_BYTES)
    assert len(engine.forward([Work(engine.open(TEXT[:40])) for _ in range(3)])) == 3


def test_forks_count_each_shared_page_once(small):
    parent = small.open(TEXT[:33])
    children = small.fork(parent, 2)
    assert small._pool.num_free == 3  # one page of 32 cached tokens, shared by three
    small.forward([Work(each) for each in (parent, *children)])
    assert small._pool.num_free == 0
    for each in (parent, *children):
        each.close()
    assert small._pool.num_free == 4


def test_writing_to_a_shared_page_copies_it_but_for_its_last_holder():
    memory = Tensors([(1, 2, 4), (3, 2, 8)], 4, 4)
    pool = PagePool(4, 2, memory)
    mine: list[int] = []
    pool.reserve([Claim(mine, 0, 2)])
    memory.tensors[0][mine[0]] = 7
    yours = list(mine)
    pool.share(yours)
    assert pool.missing([Claim(mine, 1, 2), Claim(yours, 1, 2)]) == 1
    pool.reserve([Claim(mine, 1, 2), Claim(yours, 1, 2)])
    assert mine != yours
    assert (memory.tensors[0][mine[0]] == 7).all()
    assert (memory.tensors[0][yours[0]] == 7).all()
    assert pool.num_free == 1


def test_a_branch_shares_whole_pages_and_copies_the_slots_before_it():
    memory = Tensors([(1, 2, 4), (3, 2, 8)], 4, 6)
    pool = PagePool(6, 2, memory)
    pages: list[int] = []
    pool.reserve([Claim(pages, 0, 4)])
    memory.tensors[1][pages] = 7
    branch, other, third = (Holder(pool.ledger) for _ in range(3))
    pool.branch(branch, pages, 3, 5)
    assert branch.pages[0] == pages[0]
    assert not {*branch.pages[1:]} & {*pages}
    assert (memory.tensors[1][branch.pages[1], :, 0] == 7).all()
    assert (memory.tensors[1][branch.pages[1], :, 1] == 0).all()
    pool.branch(other, pages, 4, 6)
    with pytest.raises(OutOfPages, match="one more is needed"):
        pool.branch(third, pages, 4, 6)
    for each in (branch, other, third):
        each.give_back()
        each.give_back()
    pool.release(pages)
    assert pool.num_free == 5


def test_a_cache_without_a_page(cache):
    with pytest.raises(BadParameter, match=f"at least {2 * PAGE_BYTES}"):
        tiny_engine(cache, cache_bytes=PAGE_BYTES)


def test_the_context_can_be_filled_to_its_last_token(cache):
    engine = tiny_engine(cache)
    limit = PLAIN.context_length
    sequence = engine.open(TEXT[: limit - 2])
    scores = engine.forward([Work(sequence, Proposal.chain([1, 2]))])[0]
    sequence.commit([1, 2])
    again = engine.forward([Work(sequence)])[0]
    np.testing.assert_allclose(again.logits[0], scores.logits[2], atol=1e-4)
    with pytest.raises(EngineError, match=f"{limit + 1} tokens is longer .* {limit}"):
        sequence.commit([1])
    assert len(sequence.tokens) == limit
    with pytest.raises(EngineError, match="draft less"):
        engine.forward([Work(sequence, Proposal.chain([1]))])


def test_wide_trees_may_have_more_nodes_than_the_context_has_room(cache):
    engine = tiny_engine(cache)
    sequence = engine.open(TEXT[: PLAIN.context_length - 1])
    siblings = Proposal(np.arange(9), np.full(9, -1), (None,) * 9)
    assert engine.forward([Work(sequence, siblings)])[0].logits.shape == (10, PLAIN.vocab_size)


@pytest.mark.parametrize(
    ("tokens", "error"), [([], BadPrompt), ([0] * 161, BadPrompt), ([96], EngineError), ([-1], EngineError)]
)
def test_prompts_that_cannot_be_opened(small, tokens, error):
    with pytest.raises(error):
        small.open(tokens)


@pytest.mark.parametrize(
    "proposal",
    [
        Proposal(np.array([1, 2]), np.array([1, -1]), (None, None)),
        Proposal(np.array([1]), np.array([0]), (None,)),
        Proposal(np.array([1]), np.array([-2]), (None,)),
        Proposal(np.array([1, 2]), np.array([-1]), (None, None)),
        Proposal.chain([96]),
    ],
)
def test_proposals_that_are_no_trees_of_tokens(small, proposal):
    sequence = small.open([1, 2])
    with pytest.raises(EngineError):
        small.forward([Work(sequence, proposal)])


def test_strangers_and_doubles_in_a_pass(small, cache):
    other = tiny_engine(cache)
    with pytest.raises(EngineError, match="opened it"):
        small.forward([Work(other.open([1]))])
    sequence = small.open([1])
    with pytest.raises(EngineError, match="only once"):
        small.forward([Work(sequence), Work(sequence)])
    sequence.close()


def test_closed_texts_and_engines(cache):
    engine = tiny_engine(cache)
    sequence = engine.open([1])
    sequence.close()
    for use in (
        lambda: sequence.commit([1]),
        lambda: engine.fork(sequence, 1),
        lambda: engine.forward([Work(sequence)]),
    ):
        with pytest.raises(EngineError, match="closed"):
            use()
    engine.close()
    engine.close()
    with pytest.raises(EngineError, match="closed"):
        engine.open([1])


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"numerics": "fast"}, "invariant, native, runtime, rowwise, reference"),
        ({"weights": "int2"}, "auto, int8, int4, stored"),
        ({"hidden_layers": (2,)}, "0 to 1"),
        ({"threads": 0}, "1 to 4096"),
        ({"threads": 99_999_999_999}, "1 to 4096"),
        ({"threads": 10**40}, "1 to 4096"),
        ({"threads": "2"}, "1 to 4096"),
        ({"prefix_cache_bytes": -1}, "0 switches it off"),
        ({"prefix_cache_bytes": 1.5}, "0 switches it off"),
        ({"cache_bytes": 8 << 20, "prefix_cache_bytes": 9 << 20}, "part of cache_bytes, 8388608; give at most that"),
        ({"cache_bytes": 10**400}, "this machine has .* of memory"),
        ({"cache_bytes": 100 << 40}, "this machine has .* of memory"),
        ({"cache_bytes": -1}, "whole number, bytes"),
        ({"cache_bytes": 2.5e9}, "whole number, bytes"),
        ({"cache_bytes": 0}, "holds no page"),
    ],
)
def test_settings_out_of_range(tmp_path, options, named):
    with pytest.raises(BadParameter, match=named):
        tiny_engine(tmp_path, **options)


def test_a_cache_may_be_smaller_than_what_is_kept_by_default(tmp_path):
    tiny_engine(tmp_path, cache_bytes=8 << 20).close()
    tiny_engine(tmp_path, cache_bytes=8 << 20, prefix_cache_bytes=8 << 20).close()


def test_another_architecture(tmp_path):
    with pytest.raises(UnsupportedModel, match="llama, qwen2, qwen3"):
        tiny_engine(tmp_path, replace(PLAIN, architecture="mamba"), RandomWeights(PLAIN))


class NoWeights:
    """Weights that must not be read."""

    def __getattr__(self, name):
        raise AssertionError(f"{name} was asked for")


def law(checkpoint, cache):
    engine = CPUEngine.load(checkpoint, numerics="reference", cache=cache, cache_bytes=8 << 20)
    logits = engine.forward([Work(engine.open(TEXT[:9]))])[0].logits.copy()
    engine.close()
    return logits


def test_a_second_start_reads_the_converted_weights_only(tmp_path):
    first = law(tiny_checkpoint(), tmp_path)
    second = law(replace(tiny_checkpoint(), weights=NoWeights()), tmp_path)
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("damage", ["truncated", "flipped", "no index", "bad index"])
def test_damaged_converted_weights_are_converted_again(tmp_path, damage):
    first = law(tiny_checkpoint(), tmp_path)
    (data,) = tmp_path.rglob(DATA)
    index = data.parent / INDEX
    content = bytearray(data.read_bytes())
    if damage == "truncated":
        data.write_bytes(content[:-100])
    elif damage == "flipped":
        content[1000] ^= 1
        data.write_bytes(content)
    elif damage == "no index":
        index.unlink()
    else:
        index.write_text('["not", "an", "index"')
    np.testing.assert_array_equal(law(tiny_checkpoint(), tmp_path), first)


def test_a_full_disk_leaves_nothing_behind(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("truedraw.engine.constants.writing.Writing.array", full)
    with pytest.raises(EngineError, match=r"the disk is full; free some space"):
        law(tiny_checkpoint(), tmp_path)
    assert not list(tmp_path.rglob(DATA))
    monkeypatch.undo()
    law(tiny_checkpoint(), tmp_path)


@pytest.fixture
def read_only(tmp_path, monkeypatch):
    """A cache folder in which nothing can be made, also for a user who may do anything."""
    mkdir = Path.mkdir

    def refuse(path, *args, **more):
        if path.is_relative_to(tmp_path / "cache"):
            raise PermissionError(errno.EACCES, "Permission denied")
        mkdir(path, *args, **more)

    monkeypatch.setattr(Path, "mkdir", refuse)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path / "cache"


def test_in_a_folder_that_may_not_be_written_to_weights_are_converted_for_now(read_only, tmp_path, cache):
    engine = tiny_engine(read_only)
    assert engine.not_kept == f"{read_only / 'converted'}: Permission denied"
    assert os.name == "nt" or not list(tmp_path.glob("truedraw-*"))
    found = engine.forward([Work(engine.open(TEXT[:9]))])[0].logits.copy()
    engine.close()
    del engine
    gc.collect()
    assert not list(tmp_path.glob("truedraw-*"))
    np.testing.assert_array_equal(found, law(tiny_checkpoint(), cache))


def test_where_no_temporary_folder_is_either_that_is_said(read_only, monkeypatch):
    """As in a container with a root folder that is read-only."""

    def none():
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/tmp']")

    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr("tempfile._get_default_tempdir", none)
    with pytest.raises(EngineError, match=r"neither in .*cache.* nor in a temporary folder: No usable temporary"):
        tiny_engine(read_only)


@pytest.mark.parametrize("damage", ["unreadable", "flipped"])
def test_weights_of_another_user_that_cannot_be_replaced_are_converted_for_now(tmp_path, monkeypatch, damage):
    first = law(tiny_checkpoint(), tmp_path)
    (data,) = tmp_path.rglob(DATA)
    entry, content = data.parent, data.read_bytes()
    data.write_bytes(content[:-1] + bytes([content[-1] ^ 1]) if damage == "flipped" else b"")
    monkeypatch.setattr("truedraw.engine.constants.store.remove", lambda path: None if path == entry else remove(path))
    engine = tiny_engine(tmp_path)
    assert engine.not_kept == f"{tmp_path / 'converted'}: Permission denied"
    np.testing.assert_array_equal(engine.forward([Work(engine.open(TEXT[:9]))])[0].logits, first)
    engine.close()


def test_where_no_folder_can_be_written_both_are_named(read_only, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("truedraw.engine.constants.writing.Writing.array", full)
    with pytest.raises(EngineError, match=r"neither in .*cache.*Permission denied nor in .*the disk is full"):
        tiny_engine(read_only)


def test_a_file_is_compared_with_its_checksum_before_it_is_converted_and_not_again(tmp_path):
    model = tmp_path / "model.gguf"
    model.write_bytes(b"damaged")
    checkpoint = replace(tiny_checkpoint(), path=model, sha256="0" * 64)
    with pytest.raises(BadModelFile, match=r"model.gguf is damaged: .*`truedraw models pull tiny` fetches it anew"):
        law(checkpoint, tmp_path)
    assert not list(tmp_path.rglob(DATA))
    law(replace(checkpoint, sha256=sha256(b"damaged").hexdigest()), tmp_path)
    law(checkpoint, tmp_path)  # what is converted is good, and the file is not read again


def test_a_file_that_the_disk_does_not_give_back_is_named(tmp_path, monkeypatch):
    def broken(*_):
        raise OSError(errno.EIO, "Input/output error")

    model = tmp_path / "model.gguf"
    model.write_bytes(b"weights")
    monkeypatch.setattr("hashlib.file_digest", broken)
    with pytest.raises(BadModelFile, match=r"model\.gguf cannot be read: Input/output error"):
        law(replace(tiny_checkpoint(), path=model), tmp_path)


@pytest.mark.skipif(os.name == "nt", reason="POSIX limits")
def test_memory_that_the_system_does_not_give_is_said_with_what_it_gives():
    code = """
import resource
from truedraw.engine.paged.page_memory import Tensors
from truedraw.errors import BadParameter
resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
try:
    Tensors([(1, 32, 8)], 2, (64 << 30) // 512)
except BadParameter as error:
    print(error)
try:
    Tensors([(1, 32, 8)], 2, 10**30)
except BadParameter as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    first, second = done.stdout.splitlines()
    assert re.fullmatch(r"cache_bytes: 68719476736 bytes cannot be set aside \(.*\); give at most \d+", first)
    assert (1 << 30) < int(first.rpartition(" ")[2]) < 8 << 30
    assert "give at most" in second


def test_unrolled_trees_give_their_pages_back(cache):
    engine = tiny_engine(cache, numerics="runtime", cache_bytes=8 * PAGE_BYTES)  # 16 pages of 16-bit values
    sequence = engine.open(TEXT[:40])
    siblings = Proposal(np.arange(5), np.full(5, -1), (None,) * 5)
    free = engine._pool.num_free
    engine.forward([Work(sequence, siblings)])
    assert free - engine._pool.num_free == 2
    wide = Proposal(np.arange(20), np.full(20, -1), (None,) * 20)
    with pytest.raises(OutOfPages, match="cache_bytes"):
        engine.forward([Work(sequence, wide)])
    assert free - engine._pool.num_free == 2
    sequence.close()
    assert engine._pool.num_free == free
