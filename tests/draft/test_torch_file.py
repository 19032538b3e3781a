"""Files of torch.save are read without torch and without running anything; what is damaged is refused in one line."""

from __future__ import annotations

import zipfile
from collections import OrderedDict

import numpy as np
import pytest

from draft.torch_files import Made, Stored, torch_file
from truedraw.draft.torch_file import read_torch
from truedraw.errors import BadFile

RNG = np.random.default_rng(0)
FLOATS = {"a": RNG.normal(size=(3, 5)).astype(np.float32), "b.weight": RNG.normal(size=7).astype(np.float16)}
MAPS = {"d2t": np.arange(9) - 4, "few": np.arange(3, dtype=np.int32), "t2d": np.arange(6) % 2 == 0,
        "bytes": np.arange(4, dtype=np.uint8)}  # fmt: skip


def test_floats_and_maps_are_read_as_they_are_asked_for(tmp_path, monkeypatch) -> None:
    path, read = torch_file(tmp_path / "x.bin", {**FLOATS, **MAPS}), []
    whole = zipfile.ZipFile.read
    monkeypatch.setattr(zipfile.ZipFile, "read", lambda self, name: (read.append(name), whole(self, name))[1])
    found = read_torch(path, integers=True)
    assert read == ["archive/data.pkl"]
    for name, values in FLOATS.items():
        np.testing.assert_array_equal(found[name].dense(), values)
    for name, values in MAPS.items():
        np.testing.assert_array_equal(found[name].integers(), values)
    assert [each.dtype for each in found.values()] == ["F32", "F16", "I64", "I32", "BOOL", "U8"]
    assert len(read) == 1 + len(found)


@pytest.mark.parametrize("name", MAPS)
def test_maps_have_to_be_asked_for(tmp_path, name) -> None:
    with pytest.raises(BadFile, match=r"a tensor of (I64|I32|U8|BOOL) among its floats"):
        read_torch(torch_file(tmp_path / "x.pt", {name: MAPS[name]}))


@pytest.mark.parity
def test_torch_writes_such_files(tmp_path) -> None:
    import torch

    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        whole = torch.randn(3, 6, 4).to(dtype)  # a view into a larger storage
        said = {"view": whole[1], "own": torch.nn.Parameter(torch.randn(5).to(dtype))}
        torch.save(OrderedDict(said), tmp_path / "x.pt")
        for name, tensor in read_torch(tmp_path / "x.pt").items():
            np.testing.assert_array_equal(tensor.dense(), said[name].detach().float().numpy())


@pytest.mark.parity
def test_torch_writes_such_maps(tmp_path) -> None:
    import torch

    said = {name: torch.tensor(values) for name, values in MAPS.items()}
    torch.save(said, tmp_path / "x.bin")
    found = read_torch(tmp_path / "x.bin", integers=True)
    assert [each.dtype for each in found.values()] == ["I64", "I32", "BOOL", "U8"]
    for name, values in MAPS.items():
        np.testing.assert_array_equal(found[name].integers(), values)


def test_numbers_that_were_changed_are_noticed(tmp_path) -> None:
    path = torch_file(tmp_path / "x.bin", {"a": np.full(50, 3.0, np.float32), "d2t": np.full(50, 9)})
    path.write_bytes(path.read_bytes().replace(np.float32(3).tobytes() * 9, np.float32(4).tobytes() * 9)
                     .replace(np.int64(9).tobytes() * 9, np.int64(8).tobytes() * 9))  # fmt: skip
    found = read_torch(path, integers=True)
    with pytest.raises(BadFile, match="Bad CRC-32"):
        found["a"].dense()
    with pytest.raises(BadFile, match="Bad CRC-32"):
        found["d2t"].integers()


def test_a_file_that_became_shorter(tmp_path) -> None:
    path = torch_file(tmp_path / "x.bin", {"a": np.zeros(50, np.float32)})
    found = read_torch(path)
    torch_file(path, {"a": np.zeros(7, np.float32)})
    with pytest.raises(BadFile, match=r"x\.bin cannot be read without torch .*torch\.load\('x\.bin'.*'x\.safetensors'"):
        found["a"].dense()
    for other in ({"b": np.zeros(3, np.float32)}, None):  # with another folder within, or no torch's file
        if other is None:
            path.write_bytes(b"nothing")
        else:
            torch_file(tmp_path / "y.bin", other, folder="other").replace(path)
        with pytest.raises(BadFile, match=DAMAGED):
            found["a"].dense()


@pytest.mark.parametrize("size", [1 << 20, (1 << 32) - 2])
def test_an_entry_that_says_it_is_longer(tmp_path, size) -> None:
    """In the list at the end of the archive: there is no memory for what is not there."""
    data = bytearray(torch_file(tmp_path / "x.bin", {"a": np.zeros(50, np.float32)}).read_bytes())
    last = data.rindex(b"PK\x01\x02")
    for place in (20, 24):  # stored and whole size
        data[last + place : last + place + 4] = size.to_bytes(4, "little")
    (tmp_path / "x.bin").write_bytes(data)
    with pytest.raises(BadFile, match=rf"is said to have {size} bytes, more than are there"):
        read_torch(tmp_path / "x.bin")


class Evil:
    def __reduce__(self):
        import os

        return os.mkdir, (str(self.path),)


DAMAGED = "is damaged, or no file of torch's .*; fetch it again$"
CONVERT = r"cannot be read without torch .*convert it in its folder: python -c .*save_file.*medusa_lm_head\.safetensors"


def test_nothing_that_a_file_names_is_run(tmp_path) -> None:
    Evil.path = tmp_path / "made by a pickle"
    path = torch_file(tmp_path / "medusa_lm_head.pt", {}, spoil=lambda said: {"0.0.linear.weight": Evil()})
    with pytest.raises(BadFile, match=r"it names posix\.mkdir.*" + CONVERT.partition(".*")[2]):
        read_torch(path)
    assert not Evil.path.exists()


@pytest.mark.parametrize("spoil", [
    lambda said: [1, 2], lambda said: {"a": 3}, lambda said: {"a": OrderedDict()},
    lambda said: {"a": Made("torch._utils._rebuild_tensor_v2", (3, 0, (2,), (1,)))},
    lambda said: {"a": Made("torch._utils._rebuild_tensor_v2", ())},
    lambda said: {"a": Made("torch._utils._rebuild_tensor_v2", (Stored("FloatStorage", "0", 4), 0, (2, 2), (1, 2)))},
    lambda said: {"a": Made("torch._utils._rebuild_tensor_v2", (Stored("FloatStorage", "0", 4), 0, (-1,), (1,)))},
    lambda said: {"a": Made("torch._utils._rebuild_tensor_v2", (Stored("LongStorage", "0", 4), 0, (2,), (1,)))},
    lambda said: {"a": Made("torch._utils._rebuild_tensor_v2", (Stored("DoubleStorage", "0", 4), 0, (2,), (1,)))},
    lambda said: {"a": Made("builtins.eval", ("1",))},
    lambda said: {"a": Made("torch._utils._rebuild_tensor_v3", ())},
], ids=range(11))  # fmt: skip
def test_a_pickle_that_says_something_else(tmp_path, spoil) -> None:
    path = torch_file(tmp_path / "medusa_lm_head.pt", {"a": np.zeros(4, np.float32)}, spoil=spoil)
    with pytest.raises(BadFile, match=CONVERT):
        read_torch(path)


@pytest.mark.parametrize(("key", "offset", "said"), [("9", 0, "data/9' is missing"), ("0", 10**9, "does not lie in"),
                                                     ("0", -1, "does not lie in")])  # fmt: skip
def test_numbers_that_are_not_there_are_damage(tmp_path, key, offset, said) -> None:
    """What torch would not see is not to be converted."""
    tensor = Made("torch._utils._rebuild_tensor_v2", (Stored("FloatStorage", key, 4), offset, (2,), (1,)))
    path = torch_file(tmp_path / "x.bin", {"a": np.zeros(4, np.float32)}, spoil=lambda _: {"a": tensor})
    with pytest.raises(BadFile, match=f"{said}.*fetch it again$"):
        read_torch(path)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.",
        b"\x80\x01\0\0\0\0\0\0{",
        b"PK\x03\x04" + b"\0" * 40,
        "ein Text ✂".encode(),
    ],
)
def test_no_such_file_at_all(tmp_path, data) -> None:
    path = tmp_path / "medusa_lm_head.pt"
    path.write_bytes(data)
    with pytest.raises(
        BadFile, match=CONVERT if data.startswith(b"\x80\x02") else DAMAGED
    ):  # as torch wrote before 1.6
        read_torch(path)


@pytest.mark.parametrize("share", [0.3, 0.9, 0.999])
def test_a_cut_file_and_a_compressed_one(tmp_path, share) -> None:
    held = {"a": np.ones((40, 9), np.float32), "d2t": np.arange(300)}
    path = torch_file(tmp_path / "medusa_lm_head.pt", held)
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    with pytest.raises(BadFile, match=DAMAGED):
        read_torch(path)
    with pytest.raises(BadFile, match="is compressed, which torch does not do"):
        read_torch(torch_file(path, held, compression=zipfile.ZIP_DEFLATED))
