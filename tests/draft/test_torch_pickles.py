"""Pickles within files of torch.save that would take very long, or much memory, or say nothing of a tensor."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections import OrderedDict

import numpy as np
import pytest

from draft.torch_files import Made, Stored, torch_file
from truedraw.draft.torch_file import read_torch
from truedraw.errors import BadFile

TOWER = b")" + b"2\x86" * 40  # a tuple of a tuple twice, and so on: a hash, or a repr, of it takes 2**40 steps
KEPT = b")" + b"q\x00h\x00\x86" * 40  # the same by what is remembered
START, END = b"\x80\x02}", b"."
NAME = b"X\x01\x00\x00\x00a"
READ = """
import sys
from pathlib import Path
from truedraw.draft.torch_file import read_torch
from truedraw.errors import BadFile
try:
    read_torch(Path(sys.argv[1]))
except BadFile as error:
    print(error)
"""


def written(folder, pickled: bytes):
    path = folder / "medusa_lm_head.pt"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("m/data.pkl", pickled)
    return path


@pytest.mark.parametrize(("pickled", "said"), [
    (START + TOWER + b"K\x01s" + END, "pickle opcode 0x32, which torch does not write"),
    (START + KEPT + b"K\x01s" + END, "a tuple stands where a name should"),
    (START + b"(" + KEPT + b"K\x01u" + END, "a tuple stands where a name should"),
    (START + b"(" + NAME + b"K\x01" + KEPT + b"K\x01u" + END, "a tuple stands where a name should"),
    (START + NAME + b"(" + NAME + KEPT + NAME + b"tQs" + END, "something else than text"),
    (START + NAME + KEPT + b"Qs" + END, "something else than text"),
    (b"\x80\x02ccollections\nOrderedDict\n]" + KEPT + b"K\x01\x86a\x85R" + END, "is made with items in it"),
    (b"\x80\x04\x8f(" + KEPT + b"\x90" + END, "pickle opcode 0x8f"),
    (b"\x80\x02(" + KEPT + b"K\x01d" + END, "pickle opcode 0x64"),
    (START + NAME + b"ctorch._utils\n_rebuild_tensor_v2\n((" + NAME + b"ctorch\nFloatStorage\n" + NAME + b"tQK\x00"
     + KEPT + KEPT + b"tRs" + END, "whose shape is no list"),
], ids=range(10))  # fmt: skip
def test_tuples_within_tuples_are_refused_at_once(tmp_path, pickled, said) -> None:
    """In a process of its own: nothing interrupts a hash."""
    command = [sys.executable, "-c", READ, str(written(tmp_path, pickled))]
    found = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert said in found.stdout


@pytest.mark.parametrize(("pickled", "said"), [
    (b"\x80\x05\x96" + b"\xff" * 7 + b"\x0f.", "pickle opcode 0x96"),
    (b"\x80\x02\x8b\xff\xff\xff\x7f.", "pickle opcode 0x8b"),
    (START, "it ends too early"), (b"", "it ends too early"), (START + b"\x94", "it ends too early"),
    (START + b"K\x01K\x02s.", "a int stands where a name should"),
], ids=range(6))  # fmt: skip
def test_a_reason_is_always_given(tmp_path, pickled, said) -> None:
    how = (
        r"is damaged, or no file of torch's \({}\); fetch"
        if "ends" in said
        else r"without torch \([^)]*{}[^)]*\); where"
    )
    with pytest.raises(BadFile, match=how.replace("{}", said)):
        read_torch(written(tmp_path, pickled))


@pytest.mark.parametrize(("offset", "shape", "strides"), [
    (0, (1,) * 9, (1,) * 9), (0, (1 << 63,), (1,)), (0, ["2", "2"], (2, 1)), (0, ((2,), 2), (2, 1)), (0.5, (2,), (1,)),
    (0, (2,), (1.0,)), (0, "4", (1,)), (None, (2,), (1,)),
])  # fmt: skip
def test_a_shape_is_a_few_whole_numbers(tmp_path, offset, shape, strides) -> None:
    tensor = Made("torch._utils._rebuild_tensor_v2", (Stored("FloatStorage", "0", 4), offset, shape, strides))
    held = {"a": np.zeros(4, np.float32)}
    path = torch_file(tmp_path / "medusa_lm_head.pt", held, spoil=lambda _: {"a": tensor})
    with pytest.raises(BadFile, match="whose shape is no list of a few whole numbers"):
        read_torch(path)


class Versioned(OrderedDict):
    """As torch's own dictionaries of a state are: they have an attribute besides their items."""

    def __reduce__(self):
        return OrderedDict, (), {"_metadata": OrderedDict(version=1)}, None, iter(self.items())


def test_versions_beside_the_tensors_are_passed_over(tmp_path) -> None:
    held = {"a": np.arange(4, dtype=np.float32)}
    path = torch_file(tmp_path / "medusa_lm_head.pt", held, spoil=Versioned)
    np.testing.assert_array_equal(read_torch(path)["a"].dense(), held["a"])
