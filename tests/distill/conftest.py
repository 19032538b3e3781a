"""A store of features that no model computed, small enough to know by heart."""

import numpy as np
import pytest

from truedraw.distill.checkpoint import read_checkpoint, write_checkpoint
from truedraw.distill.plan import Limits
from truedraw.distill.store import ROW, Shape, Store
from truedraw.distill.tables import Tables

VOCAB = 12
SHAPE = Shape(2, 8)
SETTINGS = {"model": "none"}


def text_of(number, rows):
    """Features, rows and temperature of one text; the numbers say where they are from."""
    chance = np.random.default_rng(number)
    features = chance.normal(size=(rows, *SHAPE)).astype(np.float32)
    laws = np.zeros(rows, ROW)
    laws["token"] = chance.integers(0, VOCAB, rows)
    laws["top"] = chance.integers(0, VOCAB, rows)
    return features, laws, (1.0, 0.7, 1.0)[number % 3]


def tables(tied=True):
    chance = np.random.default_rng(9)
    embedding, output = chance.normal(size=(2, VOCAB, SHAPE.width)).astype(np.float32)
    return Tables(embedding, embedding if tied else output)


def quiet(*_):
    """Nobody is told."""


def run(training, steps, of=None):
    """It, after `steps` of a run that is to have `of` of them."""
    limits = Limits(seconds=None, steps=of or steps, patience=1000)
    if of is None:
        training.run(limits, None, quiet)
        return training
    count = 0

    def stop(*_):
        nonlocal count
        count += 1
        if count == steps:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        training.run(limits, None, stop)
    return training


@pytest.fixture
def fill(tmp_path):
    """fill(texts, rows) -> the folder of a store with so many texts of so many rows."""

    def filled(texts, rows, start=0):
        with Store(tmp_path, SHAPE, SETTINGS) as store:
            for number in range(start, start + texts):
                features, laws, temperature = text_of(number, rows)
                store.append(features, laws, temperature, seconds=float(number + 1))
        return tmp_path

    return filled


def without_an_array(training, kind):
    """The checkpoint of a training loses one of this kind, whose name is returned."""
    arrays, facts = read_checkpoint(training.path)
    name = f"{kind}{min(training.learner.weights)}"
    write_checkpoint(training.path, {each: arrays[each] for each in arrays if each != name}, facts)
    return name
