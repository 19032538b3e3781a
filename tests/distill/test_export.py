"""A head as its figures are measured is the head that drafts: rounded for the file, and once more where it is read."""

from __future__ import annotations

import numpy as np
import pytest

from training import as_written
from truedraw.draft.head.card import RECURRENT
from truedraw.draft.head.compiled import TargetRows
from truedraw.draft.head.file import HeadFile
from truedraw.draft.head.kinds import cell_of
from truedraw.engine.constants.matrix import Matrix

pytestmark = pytest.mark.parity
WIDTH, STREAMS, VOCAB = 64, 2, 50
TOKENS = np.arange(1, VOCAB, 2)


@pytest.fixture(scope="module")
def trained():
    import torch

    from truedraw.distill.head import Head
    from truedraw.distill.kinds.recurrent import Recurrent
    from truedraw.distill.known import Known
    from truedraw.distill.network import Sizes, normed

    network, chance = Recurrent(), torch.Generator().manual_seed(5)
    weights = network.beginning(Sizes(WIDTH, STREAMS, 2 * WIDTH), seed=4)
    weights["down"] = torch.randn(WIDTH, 2 * WIDTH, generator=chance) / WIDTH
    embedding = torch.randn(VOCAB, WIDTH, generator=chance)
    known = Known(TOKENS, normed(embedding), embedding[TOKENS], embedding[TOKENS], torch.float32)
    head = Head(network, weights, known, torch.ones(STREAMS))
    best = {f"weight.{name}": each.numpy() for name, each in weights.items()}
    return head, {**best, "tokens": TOKENS, "scale": np.ones(STREAMS, np.float32)}, embedding.numpy()


def test_what_is_measured_is_what_drafts(trained, tmp_path) -> None:
    import torch

    from truedraw.distill.export import Target, as_read, export

    head, best, embedding = trained
    path = tmp_path / "head.safetensors"
    export(path, Target("none", "0" * 32, VOCAB, WIDTH, (4,)), head, best, {"siblings": [0.5]})
    file, held = HeadFile(path), Matrix(embedding)
    assert file.card.kind == RECURRENT
    features = np.random.default_rng(6).normal(size=(4, STREAMS, WIDTH)).astype(np.float32)
    last = np.array([3, 9, 20, 40])
    _, found = cell_of(file, TargetRows(held, held), threads=1).begin(features, last)
    lost = {}
    for made in (as_read, as_written):
        read = made(head, best)
        x = read.network.begin(read.weights, torch.from_numpy(features.reshape(4, -1)))
        _, out = read.behind(x, read.known.embedded[torch.from_numpy(last)], 1)
        expected = (out @ read.known.readout.T).numpy()
        lost[made] = np.abs(found - expected).max() / np.std(expected)
    assert lost[as_read] < 0.1 < lost[as_written], lost
