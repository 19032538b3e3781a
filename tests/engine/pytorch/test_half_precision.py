"""The PyTorch engine in half precision: what is kept of the float32 model, and models that cannot be run so."""

from __future__ import annotations

import numpy as np
import pytest

from engine.pytorch.families import VOCAB, farthest, open_family, random_model, write_family
from truedraw.engine.pytorch.casting import cast
from truedraw.engine.pytorch.options import Options
from truedraw.errors import BadParameter
from truedraw.protocol import Proposal, Work

pytestmark = pytest.mark.parity
torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

TEXT = np.random.default_rng(3).integers(0, VOCAB, 60).tolist()
TABLE = "model.embed_positions.weights"
HALF = Options(dtype="bfloat16", cache_bytes=1)


def refuse() -> None:
    raise RuntimeError("no kernel\nfor that")


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("family", ["a table of positions", "linear attention"])
def test_tables_that_must_have_the_type_of_the_weights(family, dtype, tmp_path) -> None:
    model = write_family(tmp_path, family)
    engine = open_family(tmp_path, dtype=dtype)
    works = [Work(engine.open(TEXT), Proposal.chain([1, 2])), Work(engine.open(TEXT[:20])), Work(engine.open(TEXT[:3]))]
    assert farthest(model, engine, works) < 0.02
    engine.close()


@pytest.mark.parametrize("family", ["a table of positions", "linear attention"])
def test_tables_get_the_types_that_they_have_in_transformers(family, tmp_path) -> None:
    model, fails = write_family(tmp_path, family), iter([True, False])
    cast(model, HALF, lambda: refuse() if next(fails) else None)
    own = transformers.AutoModelForCausalLM.from_pretrained(tmp_path, dtype=torch.bfloat16, trust_remote_code=False)
    assert types(model) == types(own)
    assert torch.bfloat16 in types(model).values()


def types(model) -> dict[str, object]:
    return {name: table.dtype for name, table in (*model.named_parameters(), *model.named_buffers())}


def test_tables_of_a_model_that_runs_stay_as_they_are() -> None:
    model = random_model("a table of positions")
    cast(model, HALF, lambda: None)
    assert types(model)[TABLE] == torch.float32


def test_what_cannot_be_run_so_is_refused() -> None:
    with pytest.raises(
        BadParameter, match=r"dtype: a XGLM\w* of .* run in bfloat16 on cpu \(no kernel for that\); give"
    ):
        cast(random_model("a table of positions"), HALF, refuse)


def test_in_float32_there_is_nothing_to_try() -> None:
    cast(random_model("llama"), Options(cache_bytes=1), refuse)


def test_a_device_without_memory_is_no_matter_of_types() -> None:
    def fill() -> None:
        raise torch.OutOfMemoryError("all of it")

    with pytest.raises(torch.OutOfMemoryError):
        cast(random_model("llama"), HALF, fill)
