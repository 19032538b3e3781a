"""An EAGLE draft against the decoder layer of transformers, changed as the papers say, on torch."""

from __future__ import annotations

import numpy as np
import pytest
from safetensors.numpy import load_file

from draft.eagle.random_eagles import EPSILON, LAYER, PlainEagle, Shape, write

pytestmark = pytest.mark.parity
torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
ROWS, CLOSE = 11, 2e-5


class Layer:
    """The last row's output of a decoder layer over rows [n, width or twice that], added to a residual."""

    def __init__(self, shape: Shape, held) -> None:
        from transformers import LlamaConfig
        from transformers.models.llama.modeling_llama import LlamaDecoderLayer, LlamaRotaryEmbedding

        config = LlamaConfig(
            hidden_size=shape.width, intermediate_size=shape.inner, num_attention_heads=shape.heads,
            num_key_value_heads=shape.kv_heads, head_dim=shape.head_dim, rms_norm_eps=EPSILON, num_hidden_layers=1,
        )  # fmt: skip
        config._attn_implementation = "eager"
        self.layer, self.rotary = LlamaDecoderLayer(config, 0).double().eval(), LlamaRotaryEmbedding(config)
        for part in "qkv":
            weight = held[f"self_attn.{part}_proj.weight"]
            getattr(self.layer.self_attn, f"{part}_proj").weight = torch.nn.Parameter(weight)
        own = {name: value for name, value in held.items() if name.split(".")[0] in ("mlp", "post_attention_layernorm")}
        own["self_attn.o_proj.weight"] = held["self_attn.o_proj.weight"]
        self.layer.load_state_dict(own, strict=False)

    def __call__(self, read, residual, places):
        places = torch.tensor(list(places))[None]
        mask = torch.full((len(read), len(read)), float("-inf"), dtype=torch.double).triu(1)[None, None]
        turn = tuple(each.double() for each in self.rotary(read[None], places))
        mixed, *_ = self.layer.self_attn(hidden_states=read[None], position_embeddings=turn, attention_mask=mask)
        y = residual + mixed[0]
        return (y + self.layer.mlp(self.layer.post_attention_layernorm(y)))[-1]


@pytest.mark.parametrize("kind", ["EAGLE", "eagle3"])
def test_the_formulas_of_these_tests_are_those_of_the_papers(tmp_path, kind) -> None:
    shape = Shape(kind, layer_ids=(1, 2, 3) if kind == "eagle3" else None, norm_before_residual=kind == "eagle3")
    folder = write(tmp_path / "eagle", shape, seed=8)
    held = {name.removeprefix(LAYER[kind]): torch.tensor(value).double() for name, value in
            load_file(folder / "model.safetensors").items()}  # fmt: skip
    rng = np.random.default_rng(2)
    rows = [rng.normal(size=(shape.vocab, shape.width)) for _ in range(2)]
    hidden, tokens = rng.normal(size=(ROWS, shape.streams, shape.target)), rng.integers(0, shape.vocab, ROWS)
    found = PlainEagle(folder, shape, *rows).logits(hidden, tokens)
    e, f = held["embed_tokens.weight"][tokens], torch.tensor(hidden).reshape(ROWS, -1)
    norm = lambda x, name: torch.nn.functional.rms_norm(x, x.shape[-1:], held[f"{name}.weight"], EPSILON)  # noqa: E731
    with torch.no_grad():
        if kind == "EAGLE":
            u = torch.cat([e, f], 1) @ held["fc.weight"].T
            said = Layer(shape, held)(u, u, range(ROWS)).numpy() @ rows[1].T
        else:
            h = norm(f @ held["fc.weight"].T, "hidden_norm")
            z = Layer(shape, held)(torch.cat([norm(e, "input_layernorm"), h], 1), h, range(ROWS))
            said = np.full(shape.vocab, -np.inf)
            ids = np.arange(shape.known) + load_file(folder / "model.safetensors")["d2t"]
            said[ids] = (norm(z, "norm") @ held["lm_head.weight"].T).numpy()
    np.testing.assert_allclose(found, said, atol=CLOSE)


@pytest.mark.parametrize("norm_output", [False, True])
@pytest.mark.parametrize("fc_norm", [False, True])
def test_norms_of_streams_and_of_states_that_are_fed_back(tmp_path, fc_norm, norm_output) -> None:
    """EAGLE-3.1, behind two drafted tokens."""
    shape = Shape("eagle3", layer_ids=(1, 2, 3), fc_norm=fc_norm, norm_output=norm_output)
    folder = write(tmp_path / "eagle", shape, seed=8)
    stored = load_file(folder / "model.safetensors")
    held = {name.removeprefix(LAYER["eagle3"]): torch.tensor(value).double() for name, value in stored.items()}
    rng = np.random.default_rng(2)
    hidden, tokens = rng.normal(size=(ROWS, shape.streams, shape.target)), [*rng.integers(0, shape.vocab, ROWS)]
    drafted, rows = [5, 17], np.zeros((shape.vocab, shape.width))
    found = PlainEagle(folder, shape, rows, rows).logits(hidden, tokens, drafted)
    norm = lambda x, name: torch.nn.functional.rms_norm(x, x.shape[-1:], held[f"{name}.weight"], EPSILON)  # noqa: E731
    chunks = torch.tensor(hidden).reshape(ROWS, -1).chunk(shape.streams, dim=-1)
    chunks = [norm(each, f"fc_norm.{number}") for number, each in enumerate(chunks)] if fc_norm else chunks
    with torch.no_grad():
        h, layer = torch.cat(chunks, -1) @ held["fc.weight"].T, Layer(shape, held)
        for token in [*drafted, None]:
            e = norm(held["embed_tokens.weight"][tokens], "input_layernorm")
            z = layer(torch.cat([e, norm(h, "hidden_norm")], 1), h[-1], range(len(h)))
            said = norm(z, "norm")
            h, tokens = torch.cat([h, (said if norm_output else z)[None]]), [*tokens, token]
    ids = np.arange(shape.known) + stored["d2t"]
    np.testing.assert_allclose(found[ids], (said @ held["lm_head.weight"].T).numpy(), atol=CLOSE)
