"""Every attack strays from the target's law, and what it is a change of does not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from attacks import run
from attacks.attack import SETTING, TRUNCATED, enumerated
from attacks.block_pieces import BlockTwin
from attacks.skewed import Skewed
from truedraw.draft.ngram import NgramDrafter
from truedraw.engine.tabular import TabularEngine
from truedraw.testing.trees import SHAPES, TreeDrafter
from truedraw.verify.kseq import KSeqVerifier
from truedraw.verify.traversal import TraversalVerifier

FOLDER = Path(run.__file__).parent
VISIBLE = 1e-4
ROUNDING = 1e-12
SOUND = {
    "production": enumerated(TraversalVerifier()),
    "token-wise in pieces": enumerated(Skewed()),
    "token-wise in pieces, truncated": enumerated(Skewed(), scenario=TRUNCATED),
    "block in pieces": enumerated(BlockTwin()),
    "block in pieces, looked up": enumerated(BlockTwin(), NgramDrafter(1, 1), prompt=(0, 1, 2, 0, 1)),
    "k-SEQ": enumerated(KSeqVerifier(), TreeDrafter(SETTING.draft, SHAPES[1])),
    "lookup": enumerated(drafter=NgramDrafter(1, 1), engine=TabularEngine, prompt=(0, 1, 0)),
}


@pytest.mark.parametrize("name", run.NAMES)
def test_every_attack_is_visible(name: str) -> None:
    ((_, attack),) = run.attacks([name])
    assert VISIBLE < attack.tv() <= 1
    assert attack.what


@pytest.mark.parametrize("name", SOUND)
def test_without_its_bug_it_would_be_exact(name: str) -> None:
    assert SOUND[name]() < ROUNDING


def test_the_list_is_the_folder() -> None:
    found = {path.stem for path in FOLDER.glob("*.py") if "\nATTACK = " in path.read_text(encoding="utf-8")}
    assert found == set(run.NAMES)


@pytest.mark.parametrize("command", [("-m", "attacks"), (str(FOLDER / "run.py"),)])
def test_it_runs_as_a_program(command) -> None:
    def program(*given):
        line = [sys.executable, *command, *given]
        return subprocess.run(line, capture_output=True, text=True, check=False, cwd=FOLDER.parent)

    done = program("argmax_match", "greedy_draft_as_sample")
    assert (done.returncode, done.stderr) == (0, "")
    first, _, second = done.stdout.splitlines()[:3]
    assert first.startswith("argmax_match: TV 0.")
    assert second.startswith("greedy_draft_as_sample: TV 0.")
    assert "public: transformers #32867" in done.stdout
    refused = program("nothing")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "no attack is called 'nothing'; choose from residual_from_p" in refused.stderr


@pytest.mark.skipif(os.name == "nt", reason="a pipe that nobody reads")
def test_a_reader_that_goes_away_is_no_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "attacks", "argmax_match"]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False, cwd=FOLDER.parent)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


def test_how_many_samples_a_bias_needs() -> None:
    """4.0e4 samples for a total variation of 0.02, by the normal approximation."""
    assert run.samples_to_see(0.02) == pytest.approx(3.8e4, rel=0.05)
