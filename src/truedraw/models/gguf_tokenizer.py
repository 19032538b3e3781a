"""A tokenizer from a GGUF's tables: byte-level BPE ("gpt2") or SentencePiece BPE with scores ("llama")."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from truedraw.errors import BadModelFile, UnsupportedModel
from truedraw.models.fields import Fields
from truedraw.models.gguf_file import GGUFFile
from truedraw.models.gguf_tokens import (
    CONTROL,
    ENDS,
    NORMAL,
    PREFIX,
    UNKNOWN,
    USER_DEFINED,
    ending_ids,
    named_id,
    table,
    token_fields,
    typed,
)
from truedraw.models.pretokenizers import WORD_RULES, WordRule

if TYPE_CHECKING:
    from tokenizers import Tokenizer

NAMED = ("bos", *ENDS, "unknown", "padding")  # tokens that have a field of their own
SWITCHES = ("add_bos_token", "add_eos_token", "add_space_prefix")
TEMPLATES = "tokenizer.chat_template", "tokenizer.chat_template.tool_use"
SHAPES = {f"{PREFIX}model": str, f"{PREFIX}pre": str, f"{PREFIX}token_type": list, **dict.fromkeys(TEMPLATES, str)} | {
    f"{PREFIX}{key}": bool for key in SWITCHES
}
"""What is looked at without further checks."""
SPACE = "▁"  # SentencePiece's visible space


def describe_tokenizer(file: GGUFFile) -> str:
    """For people: the kind and its word rule."""
    fields = token_fields(file)
    kind = fields.get("model", "none")
    return f"byte-level BPE ({fields.get('pre', 'default')})" if kind == "gpt2" else f"SentencePiece BPE ({kind})"


def check_tokenizer(file: GGUFFile) -> None:
    """Refuse at once what `build_tokenizer` would refuse for its kind or size."""
    fields = token_fields(file)
    for key, shape in SHAPES.items():
        if not isinstance(fields.values.get(key, shape()), shape):
            raise BadModelFile(f"{fields.where} holds a {key} of another type than it should be; fetch the file again")
    kind, word_rule = fields.get("model"), fields.get("pre", "default")
    if kind not in ("gpt2", "llama"):
        raise UnsupportedModel(f"{file.path} has a tokenizer of the kind {kind!r}; supported: gpt2, llama")
    if kind == "gpt2" and word_rule not in WORD_RULES:
        raise UnsupportedModel(f"{file.path} cuts words by the rule {word_rule!r}; supported: {', '.join(WORD_RULES)}")
    tokens = table(fields, "tokens", str)
    if len(set(tokens)) != len(tokens):
        raise BadModelFile(f"{file.path}: the vocabulary names a token twice; fetch the file again")
    types = fields.get("token_type", tokens)
    if len(types) != len(tokens):
        raise BadModelFile(f"{file.path}: {len(types)} types for {len(tokens)} tokens; fetch the file again")
    for key in NAMED:
        _token(fields, key, tokens)


def build_tokenizer(file: GGUFFile) -> Tokenizer:
    """Ids as in llama.cpp and in the model's own tokenizer; raises BadModelFile and UnsupportedModel."""
    check_tokenizer(file)
    fields = token_fields(file)
    if fields.get("model") == "gpt2":
        rule = WORD_RULES[fields.get("pre", "default")]
        tokenizer, adds_bos = _byte_level(fields, rule), rule.adds_bos
    else:
        tokenizer, adds_bos = _sentence_piece(fields), True
    _add_special(tokenizer, fields)
    _frame(tokenizer, fields, adds_bos)
    return tokenizer


def _byte_level(fields: Fields, rule: WordRule) -> Tokenizer:
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

    vocabulary = {token: i for i, token in enumerate(table(fields, "tokens", str))}
    merges = _pairs(fields, table(fields, "merges", str))
    tokenizer = Tokenizer(_bpe(fields, models, vocabulary, merges, ignore_merges=rule.whole_words_first))
    cuts = [pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in rule.patterns]
    bytes_ = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*cuts, bytes_])
    tokenizer.decoder = decoders.ByteLevel()
    if rule.composes:
        tokenizer.normalizer = normalizers.NFC()
    return tokenizer


def _sentence_piece(fields: Fields) -> Tokenizer:
    from tokenizers import Tokenizer, decoders, models, normalizers

    tokens = table(fields, "tokens", str)
    unknown = _token(fields, "unknown", tokens)
    options = {"byte_fallback": True, "fuse_unk": True, "unk_token": unknown}
    vocabulary = {token: i for i, token in enumerate(tokens)}
    tokenizer = Tokenizer(_bpe(fields, models, vocabulary, _scored_merges(fields, tokens), **options))
    steps: list[decoders.Decoder] = [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()]
    visible: list[normalizers.Normalizer] = [normalizers.Replace(" ", SPACE)]
    if fields.get("add_space_prefix", True):
        visible.insert(0, normalizers.Prepend(SPACE))
        steps.append(decoders.Strip(" ", 1, 0))
    tokenizer.normalizer = normalizers.Sequence(visible)
    tokenizer.decoder = decoders.Sequence(steps)
    return tokenizer


def _scored_merges(fields: Fields, tokens: list[str]) -> list[tuple[str, str]]:
    """Every way to make a piece of two pieces, best score first: SentencePiece's greedy rule as BPE ranks."""
    scores = table(fields, "scores", float)
    if len(scores) != len(tokens):
        raise BadModelFile(f"{fields.where}: {len(scores)} scores for {len(tokens)} tokens; fetch the file again")
    types = fields.get("token_type", [NORMAL] * len(tokens))
    pieces = {token: score for token, score, kind in zip(tokens, scores, types, strict=False) if kind == NORMAL}
    ranked = sorted(pieces, key=pieces.__getitem__, reverse=True)  # stable: equal scores keep the file's order
    cuts = ((piece[:at], piece[at:]) for piece in ranked for at in range(1, len(piece)))
    return [(left, right) for left, right in cuts if left in pieces and right in pieces]


def _bpe(fields: Fields, models: Any, vocabulary: dict[str, int], merges: list[tuple[str, str]], **options: Any) -> Any:
    try:
        return models.BPE(vocab=vocabulary, merges=merges, **options)
    except Exception as error:  # the package raises bare Exception
        raise BadModelFile(f"{fields.where} has a broken vocabulary: {error}; fetch the file again") from error


def _add_special(tokenizer: Tokenizer, fields: Fields) -> None:
    """Control tokens are recognised in text and hidden in output, and so are those that end texts; other user-defined
    ones are only recognised."""
    from tokenizers import AddedToken

    tokens, marked = table(fields, "tokens", str), typed(fields.get("token_type", []))
    control = {i for i, kind in marked if kind in (UNKNOWN, CONTROL)} | {*ending_ids(fields)}
    visible = [i for i, kind in marked if kind == USER_DEFINED and i not in control]
    tokenizer.add_special_tokens([AddedToken(tokens[i], normalized=False, special=True) for i in sorted(control)])
    tokenizer.add_tokens([AddedToken(tokens[i], normalized=False) for i in visible])


def _frame(tokenizer: Tokenizer, fields: Fields, adds_bos: bool) -> None:
    """The tokens put before and after a text where the file, or else its family, says so."""
    from tokenizers import processors

    tokens = table(fields, "tokens", str)
    wanted = {"bos": fields.get("add_bos_token", adds_bos), "eos": fields.get("add_eos_token", False)}
    found = {key: named_id(fields, key, len(tokens)) for key, is_wanted in wanted.items() if is_wanted}
    # by names of ours: a template takes "a:1" and "$A" apart
    special = [{"id": key, "ids": [i], "tokens": [tokens[i]]} for key, i in found.items() if i is not None]
    if special:
        single = [name for name in ("bos", "$A", "eos") if name == "$A" or found.get(name) is not None]
        tokenizer.post_processor = processors.TemplateProcessing(single=single, special_tokens=special)


def _token(fields: Fields, key: str, tokens: list[str]) -> str | None:
    i = named_id(fields, key, len(tokens))
    return None if i is None else tokens[i]


def _pairs(fields: Fields, lines: list[str]) -> list[tuple[str, str]]:
    """The halves of each merge; raises BadModelFile for one that is not two tokens."""
    pairs: list[Any] = [tuple(line.split(" ", 1)) for line in lines]
    if {*map(len, pairs)} - {2} or not all(map(all, pairs)):
        wrong = next(line for line, pair in zip(lines, pairs, strict=True) if len(pair) != 2 or not all(pair))
        raise BadModelFile(f"{fields.where}: {wrong!r} is not a merge of two tokens; fetch the file again")
    return pairs
