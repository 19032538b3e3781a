"""An MTP layer against transformers' own decoder layer of qwen2 behind its fusion, on torch."""

from __future__ import annotations

import numpy as np
import pytest

from draft.eagle.random_mtp import SHAPES, PlainMtp, mtp_tensors

pytestmark = pytest.mark.parity
torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
ROWS, CLOSE = 11, 2e-5
FUSION = ("token_layernorm", "hidden_layernorm", "final_layernorm", "input_proj")


def layer_of(config, held):
    """The layer without its fusion, and its rotary positions."""
    from transformers import Qwen2Config
    from transformers.models.qwen2.modeling_qwen2 import Qwen2DecoderLayer, Qwen2RotaryEmbedding

    settings = Qwen2Config(
        hidden_size=config.hidden_size, intermediate_size=config.intermediate_size, num_hidden_layers=1,
        num_attention_heads=config.num_heads, num_key_value_heads=config.num_kv_heads, head_dim=config.head_dim,
        rms_norm_eps=config.rms_norm_eps, rope_parameters={"rope_type": "default", "rope_theta": config.rope_theta},
    )  # fmt: skip
    settings._attn_implementation = "eager"
    layer = Qwen2DecoderLayer(settings, 0).double().eval()
    layer.load_state_dict({name: value for name, value in held.items() if name.split(".")[0] not in FUSION})
    return layer, Qwen2RotaryEmbedding(settings)


@pytest.mark.parametrize("name", SHAPES)
def test_the_formulas_of_these_tests_are_those_of_the_architecture(name) -> None:
    config, rng = SHAPES[name], np.random.default_rng(2)
    tensors = mtp_tensors(config, seed=8)
    held = {name.split(".", 3)[3]: torch.tensor(value).double() for name, value in tensors.items()}
    layer, rotary = layer_of(config, held)
    rows = [rng.normal(size=(config.vocab_size, config.hidden_size)) for _ in range(2)]
    hidden, tokens = rng.normal(size=(ROWS, config.hidden_size)), rng.integers(0, config.vocab_size, ROWS)

    def norm(x, part):
        return torch.nn.functional.rms_norm(x, x.shape[-1:], held[f"{part}.weight"], config.rms_norm_eps)

    e = torch.tensor(rows[0][tokens])
    e[0] = 0.0
    with torch.no_grad():
        both = torch.cat([norm(torch.tensor(hidden), "hidden_layernorm"), norm(e, "token_layernorm")], -1)
        u, places = (both @ held["input_proj.weight"].T)[None], torch.arange(ROWS)[None]
        turn = tuple(each.double() for each in rotary(u, places))
        mask = torch.full((ROWS, ROWS), float("-inf"), dtype=torch.double).triu(1)[None, None]
        found = layer(u, position_embeddings=turn, attention_mask=mask)
        z = (found[0] if isinstance(found, tuple) else found).reshape(ROWS, -1)[-1]
        said = (norm(z, "final_layernorm")).numpy() @ rows[1].T
    plain = PlainMtp(config, tensors, *rows).logits(hidden, tokens)
    np.testing.assert_allclose(plain, said, atol=CLOSE)
