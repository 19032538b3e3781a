"""What has compiled the kernels computes the same bits as what finds them compiled."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
import hashlib, sys
from pathlib import Path
from engine.decoder import PLAIN, RandomWeights, tiny_engine
from truedraw.protocol import Proposal, Work
engine = tiny_engine(Path(sys.argv[1]), PLAIN, RandomWeights(PLAIN, seed=2), numerics="native", threads=1)
text = [7919 * place % PLAIN.vocab_size for place in range(120)]
for length in (1, 5, 33, 70):
    work = Work(engine.open(text[:length]), Proposal.chain(text[length : length + 40]))
    print(hashlib.sha256(engine.forward([work])[0].logits.tobytes()).hexdigest())
"""


@pytest.mark.slow
def test_a_process_that_compiles_has_the_bits_of_those_that_load(tmp_path) -> None:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "kernels"), "PYTHONPATH": os.pathsep.join(sys.path)}
    runs = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM, str(tmp_path / str(number))],
            env=environment, capture_output=True, text=True, check=True, timeout=600,
        )
        for number in range(2)
    ]  # fmt: skip
    assert len(runs[0].stdout.split()) == 4
    assert runs[0].stdout == runs[1].stdout
