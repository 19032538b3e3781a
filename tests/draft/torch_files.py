"""Files as torch.save writes them, without torch, and with whatever a test wants in their pickles."""

from __future__ import annotations

import io
import pickle
import zipfile
from collections import OrderedDict

import numpy as np

STORAGES = {"float32": "FloatStorage", "float16": "HalfStorage", "int64": "LongStorage", "int32": "IntStorage",
            "uint8": "ByteStorage", "bool": "BoolStorage"}  # fmt: skip


class Made:
    """What a pickle of torch calls: pickled as that, without torch."""

    def __init__(self, name, args) -> None:
        self.name, self.args = name, args


class Writer(pickle._Pickler):
    """Pickles as torch does."""

    def save(self, thing, save_persistent_id=True):
        if isinstance(thing, Made):
            self._named(*thing.name.rsplit(".", 1))
            super().save(thing.args)
            self.write(pickle.REDUCE)
        elif isinstance(thing, type) and thing.__module__ == "torch":
            self._named("torch", thing.__name__)
        else:
            super().save(thing, save_persistent_id)

    def _named(self, module, name):
        self.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())

    def persistent_id(self, thing):
        return thing.pid if isinstance(thing, Stored) else None


class Stored:
    """Raw numbers, as a pickle speaks of them."""

    def __init__(self, kind, key, count) -> None:
        self.pid = ("storage", type(kind, (), {"__module__": "torch"}), key, "cpu", count)


def torch_file(path, held, folder="archive", spoil=None, **entry):
    """As torch.save writes a state dict; `spoil` makes something else of what the pickle says."""
    said, numbers = OrderedDict(), {}
    for key, (name, values) in enumerate(held.items()):
        strides = tuple(np.array(values.strides) // values.itemsize)
        stored = Stored(STORAGES[str(values.dtype)], str(key), values.size)
        shared = (stored, 0, values.shape, tuple(map(int, strides)), False, OrderedDict())
        said[name] = Made("torch._utils._rebuild_tensor_v2", shared)
        numbers[f"data/{key}"] = values
    said = spoil(said) if spoil else said
    stream = io.BytesIO()
    Writer(stream, 2).dump(said)
    with zipfile.ZipFile(path, "w", entry.get("compression", zipfile.ZIP_STORED)) as archive:
        archive.writestr(f"{folder}/data.pkl", stream.getvalue())
        for name, values in numbers.items():
            archive.writestr(f"{folder}/{name}", values.tobytes())
    return path
