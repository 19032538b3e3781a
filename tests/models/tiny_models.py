"""Tiny random models written as GGUF files, Hugging Face folders and OpenVINO folders."""

import json
from dataclasses import dataclass, replace
from pathlib import Path

import gguf
import numpy as np
from safetensors.numpy import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from truedraw.models.layout import expected_shapes
from truedraw.protocol import ModelConfig

SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
MERGES = ("h e", "l l", "he ll", "hell o", "Ġ w", "Ġw o", "1 2")
TEMPLATE = "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
BLOCK = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
OUTER = {
    "model.embed_tokens.weight": "token_embd.weight",
    "model.norm.weight": "output_norm.weight",
    "lm_head.weight": "output.weight",
}


def byte_tokens() -> list[str]:
    """Special tokens, the 256 byte characters, the results of the merges."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    return [*SPECIAL, *alphabet, *("".join(line.split()) for line in MERGES)]


def tiny_config(architecture: str = "llama", **changes) -> ModelConfig:
    config = ModelConfig(
        architecture=architecture,
        vocab_size=len(byte_tokens()),
        context_length=128,
        hidden_size=64,
        intermediate_size=96,
        num_layers=2,
        num_heads=4,
        num_kv_heads=2,
        head_dim=16,
        rms_norm_eps=1e-5,
        rope_theta=10000.0,
        rope_scaling=None,
        tie_embeddings=True,
        qkv_bias=architecture == "qwen2",
        qk_norm=architecture == "qwen3",
    )
    return replace(config, **changes)


def random_tensors(config: ModelConfig, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {name: rng.normal(size=shape).astype(np.float32) for name, shape in expected_shapes(config).items()}


def gguf_name(name: str) -> str:
    if name in OUTER:
        return OUTER[name]
    _, _, layer, inner = name.split(".", 3)
    module, _, part = inner.rpartition(".")
    return f"blk.{layer}.{BLOCK[module]}.{part}"


def as_converted(name: str, tensor: np.ndarray, config: ModelConfig) -> np.ndarray:
    """What a converter of the llama architecture does to Q and K: halves of a head become pairs."""
    heads = {"q_proj": config.num_heads, "k_proj": config.num_kv_heads}.get(name.split(".")[-2])
    if config.architecture != "llama" or heads is None:
        return tensor
    halves = tensor.reshape(heads, 2, config.head_dim // 2, -1)
    return np.ascontiguousarray(halves.swapaxes(1, 2)).reshape(tensor.shape)


@dataclass
class GGUFOptions:
    """What a test bends."""

    kind: str = "F32"  # of the matrices
    architecture: str | None = None
    metadata: dict | None = None  # extra unsigned, float or text values
    without: tuple[str, ...] = ()  # tensors left out, by GGUF name
    extra: dict | None = None  # further tensors, by GGUF name
    tokenizer: bool = True
    pre: str = "smollm"
    tokenizer_kind: str = "gpt2"


def write_gguf(path: Path, config: ModelConfig, tensors: dict, options: GGUFOptions | None = None) -> Path:
    options = options or GGUFOptions()
    writer = gguf.GGUFWriter(path, options.architecture or config.architecture)
    _add_sizes(writer, config)
    if options.tokenizer:
        _add_tokenizer(writer, options)
    for key, value in (options.metadata or {}).items():
        add = {str: writer.add_string, float: writer.add_float32, int: writer.add_uint32, bool: writer.add_bool}
        add[type(value)](key, value)
    for name, tensor in tensors.items():
        if gguf_name(name) not in options.without:
            _add_tensor(writer, gguf_name(name), as_converted(name, tensor, config), options.kind)
    for name, tensor in (options.extra or {}).items():
        writer.add_tensor(name, tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _add_sizes(writer, config: ModelConfig) -> None:
    writer.add_context_length(config.context_length)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_heads)
    writer.add_head_count_kv(config.num_kv_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_theta)
    writer.add_key_length(config.head_dim)
    writer.add_value_length(config.head_dim)


def _add_tokenizer(writer, options: GGUFOptions) -> None:
    tokens = byte_tokens()
    writer.add_tokenizer_model(options.tokenizer_kind)
    writer.add_tokenizer_pre(options.pre)
    writer.add_token_list(tokens)
    writer.add_token_types([3 if token in SPECIAL else 1 for token in tokens])
    writer.add_token_merges(list(MERGES))
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_chat_template(TEMPLATE)


def _add_tensor(writer, name: str, tensor: np.ndarray, kind: str) -> None:
    if tensor.ndim < 2 or kind == "F32":
        writer.add_tensor(name, tensor)
        return
    quantised = gguf.GGMLQuantizationType[kind]
    writer.add_tensor(name, gguf.quants.quantize(tensor, quantised), raw_dtype=quantised)


def config_json(config: ModelConfig) -> dict:
    classes = {"llama": "LlamaForCausalLM", "qwen2": "Qwen2ForCausalLM", "qwen3": "Qwen3ForCausalLM"}
    return {
        "architectures": [classes[config.architecture]],
        "model_type": config.architecture,
        "vocab_size": config.vocab_size,
        "max_position_embeddings": config.context_length,
        "hidden_size": config.hidden_size,
        "intermediate_size": config.intermediate_size,
        "num_hidden_layers": config.num_layers,
        "num_attention_heads": config.num_heads,
        "num_key_value_heads": config.num_kv_heads,
        "head_dim": config.head_dim,
        "rms_norm_eps": config.rms_norm_eps,
        "rope_theta": config.rope_theta,
        "rope_scaling": config.rope_scaling,
        "tie_word_embeddings": config.tie_embeddings,
        "hidden_act": "silu",
        "eos_token_id": 2,
        "bos_token_id": 1,
    }


def byte_tokenizer() -> Tokenizer:
    vocabulary = {token: i for i, token in enumerate(byte_tokens())}
    tokenizer = Tokenizer(models.BPE(vocabulary, [tuple(line.split()) for line in MERGES]))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(token, normalized=False, special=True) for token in SPECIAL])
    return tokenizer


def write_folder(folder: Path, config: ModelConfig, tensors: dict, **changes) -> Path:
    """`changes` replace entries of config.json."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config_json(config) | changes))
    save_file(tensors, folder / "model.safetensors")
    byte_tokenizer().save(str(folder / "tokenizer.json"))
    return folder


def write_openvino(folder: Path, config: ModelConfig, bin_bytes: int = 64) -> Path:
    """Not a graph that runs: enough of one to be opened."""
    folder.mkdir(parents=True, exist_ok=True)
    layer = '<layer><data element_type="f32" shape="16" offset="0" size="64" /></layer>'
    (folder / "openvino_model.xml").write_text(f'<?xml version="1.0"?>\n<net name="m">{layer}</net>\n')
    (folder / "openvino_model.bin").write_bytes(bytes(bin_bytes))
    (folder / "config.json").write_text(json.dumps(config_json(config)))
    byte_tokenizer().save(str(folder / "tokenizer.json"))
    return folder
