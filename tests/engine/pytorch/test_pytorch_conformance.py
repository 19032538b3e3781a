"""The suite that every engine passes, over the families, and over models that remember nothing between passes."""

from __future__ import annotations

import pytest

from engine.pytorch.families import MAIN, open_family, write_family
from truedraw.testing import engine_checks

pytestmark = pytest.mark.parity
pytest.importorskip("torch")
pytest.importorskip("transformers")

CLOSE = 1e-5  # total variation
CACHE_BYTES = 512 << 10  # so little that passes without room are tried
FAMILIES = (*MAIN, "sliding window", "recurrent")
PLACE: dict = {}


@pytest.fixture(autouse=True, scope="module")
def folders(tmp_path_factory):
    for family in FAMILIES:
        PLACE[family] = tmp_path_factory.mktemp("model")
        write_family(PLACE[family], family)


def checks(family):
    return engine_checks(lambda: open_family(PLACE[family], cache_bytes=CACHE_BYTES), CLOSE)


@pytest.mark.parametrize(
    "check", [pytest.param(check, id=f"{family}: {check}") for family in FAMILIES for check in checks(family)]
)
def test_families(check) -> None:
    check()
