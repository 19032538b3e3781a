"""What a machine's kernels do not keep is not asked of them: OpenVINO's are not invariant on every processor."""

from __future__ import annotations

from typing import Any

import pytest


def need_invariance(engine: Any) -> None:
    """Skip the test where the engine has found on this machine that its logits depend on what else is in a pass."""
    if engine.invariance is not None and not engine.invariance.holds:
        pytest.skip(f"this processor's kernels are not invariant: {engine.invariance}")
