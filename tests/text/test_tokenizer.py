"""Ids and text: round trips, raw bytes, the tables of GGUF files, parity with transformers."""

import json
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sentence_piece import metadata, tokenizer_of
from tiny_models import (
    MERGES,
    SPECIAL,
    GGUFOptions,
    byte_tokenizer,
    byte_tokens,
    random_tensors,
    tiny_config,
    write_folder,
    write_gguf,
)
from tokenizers import AddedToken, decoders, normalizers
from tokenizers import Tokenizer as Raw
from tokenizers import models as kinds

from truedraw.errors import BadInput, BadModelFile, BadPrompt, UnsupportedModel
from truedraw.models import open_checkpoint
from truedraw.models.gguf_file import GGUFFile
from truedraw.models.gguf_tokenizer import build_tokenizer
from truedraw.models.gguf_tokens import ending_ids, token_fields, token_id
from truedraw.models.tokenizer_errors import raising
from truedraw.text import Tokenizer

ODD = [
    "",
    " ",
    "hello world 1212",
    "  two  spaces   three\n\n\nlines\t\ttabs \r\n",
    "family 👨‍👩‍👧‍👦 flag 🏳️‍🌈 skin 👍🏽",
    "e\u0301 vs é, n\u0303, \u0335\u0336",
    "שלום עולם مرحبا بالعالم",
    "漢字かな交じり文 한국어",
    "x\u00a0y\u2009z\u3000w\u200b",
    "١٢٣ ४५६ ½ ² Ⅷ 3.14159 1e-10 0x7F",
    "don't I'LL WE'VE can’t",
    "\x00\x07\x1b[0m\x7f",
    "<|im_start|>user\nhello<|im_end|>",
    "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 \U0010ffff \uffff",
    "a" * 300,
]


@pytest.mark.parametrize("text", ODD)
def test_byte_level_round_trip(byte_level, text):
    ids = byte_level.encode(text)
    assert byte_level.decode(ids, skip_special=False) == text
    assert b"".join(map(byte_level.token_bytes, ids)) == text.encode()


@pytest.mark.parametrize("text", ODD)
def test_sentence_piece_round_trip(pieces, text):
    assert pieces.decode(pieces.encode(text)) == text


@given(st.text())
def test_any_text_comes_back(byte_level, pieces, text):
    assert byte_level.decode(byte_level.encode(text), skip_special=False) == text
    if "<" not in text:  # a written control token stands apart, with its own first space
        assert pieces.decode(pieces.encode(text)) == text


def test_lone_surrogates_become_replacement_characters(byte_level):
    assert byte_level.decode(byte_level.encode("a\ud800b")) == "a\ufffdb"
    assert byte_level.decode(byte_level.encode("\ud83d\ude00")) == "😀"  # a pair is a character


def test_control_tokens_are_found_in_text_and_hidden_in_output(byte_level):
    ids = byte_level.encode("<|im_start|>hello<|im_end|>")
    assert ids == [1, byte_level.token_id("hello"), 2]
    assert byte_level.decode(ids) == "hello"
    assert [byte_level.is_special(i) for i in ids] == [True, False, True]
    assert byte_level.token_bytes(2) == b"<|im_end|>"


def with_token(content, special=False):
    raw = byte_tokenizer()
    raw.add_tokens([AddedToken(content, normalized=False, special=special)])
    return Tokenizer(raw)


def test_an_added_token_is_text_and_not_byte_characters():
    tokenizer = with_token("<é>")
    assert tokenizer.decode(tokenizer.encode("<é>")) == "<é>"
    assert len(tokenizer.encode("<é>")) == 1


@pytest.mark.parametrize("space", ["▁▁", "▁a▁"])
def test_added_tokens_of_sentence_piece_are_written_in_its_spaces(space):
    raw = Raw(kinds.BPE({"a": 0, "▁": 1}, []))
    raw.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    raw.add_tokens([AddedToken(space, normalized=False)])
    raw.add_special_tokens([AddedToken("<▁>", normalized=False, special=True)])
    tokenizer = Tokenizer(raw)
    ids = [0, 2, 1, 0]
    assert tokenizer.decode(ids) == raw.decode(ids) == f"a{space.replace('▁', ' ')} a"
    assert tokenizer.token_bytes(3) == "<▁>".encode()


def test_an_added_token_keeps_the_space_that_a_normalizer_reads_as_its_part():
    raw = Raw(kinds.BPE({letter: i for i, letter in enumerate("▁abt<>")}, []))
    raw.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    raw.decoder = decoders.Sequence(steps)
    raw.add_tokens(["<tab>"])
    tokenizer = Tokenizer(raw)
    for text in ("a <tab>b", "<tab> a", "a<tab>"):
        ids = tokenizer.encode(text)
        assert tokenizer.decode(ids) == raw.decode(ids) == text


def test_a_folder_that_cuts_and_fills_up_texts_does_neither_here(tmp_path):
    config = tiny_config()
    folder = write_folder(tmp_path, config, random_tensors(config))
    raw = Raw.from_file(str(folder / "tokenizer.json"))
    before = Tokenizer.of(open_checkpoint(folder)).encode("hello world")
    raw.enable_truncation(3)
    raw.enable_padding(length=40)
    raw.save(str(folder / "tokenizer.json"))
    assert len(before) > 3
    assert Tokenizer.of(open_checkpoint(folder)).encode("hello world") == before


@pytest.mark.parametrize("written", ["<|im_start|>", {"content": "<|im_start|>"}])
def test_a_chat_template_has_the_names_that_its_folder_gives(tmp_path, written):
    """Whatever else ends a text; a token that is null there is nothing."""
    config = tiny_config()
    folder = write_folder(tmp_path, config, random_tensors(config), eos_token_id=[2, 1], bos_token_id=2)
    names = {"eos_token": written, "bos_token": None, "chat_template": "{{ bos_token }}|{{ eos_token }}"}
    (folder / "tokenizer_config.json").write_text(json.dumps(names))
    assert Tokenizer.of(open_checkpoint(folder)).chat([{"role": "user", "content": ""}]) == "|<|im_start|>"


@pytest.mark.parametrize("file", ["tokenizer_config.json", "special_tokens_map.json"])
@pytest.mark.parametrize("known", ["added_tokens", "vocabulary"])
def test_special_tokens_that_are_named_by_their_text_alone(tmp_path, file, known):
    """As transformers 5 writes them down; their ids are in tokenizer.json."""
    folder = write_folder(tmp_path, tiny_config(), random_tensors(tiny_config()))
    texts = json.loads((folder / "tokenizer.json").read_text())
    ids = {each["content"]: each["id"] for each in texts["added_tokens"]}
    if known == "vocabulary":
        texts["added_tokens"] = []
        (folder / "tokenizer.json").write_text(json.dumps(texts))
    for name in ("tokenizer_config.json", "special_tokens_map.json"):
        (folder / name).unlink(missing_ok=True)
    (folder / file).write_text(json.dumps({"eos_token": {"content": "<|im_end|>"}, "bos_token": "<|im_start|>"}))
    config = json.loads((folder / "config.json").read_text())
    ours = {key: value for key, value in config.items() if not key.endswith("token_id")}
    (folder / "config.json").write_text(json.dumps(ours))
    found = open_checkpoint(folder).text
    assert (found.bos_id, found.eos_ids) == (ids["<|im_start|>"], (ids["<|im_end|>"],))


def test_a_byte_order_mark_is_no_part_of_a_template(tmp_path):
    folder = write_folder(tmp_path, tiny_config(), random_tensors(tiny_config()))
    (folder / "chat_template.jinja").write_bytes(b"\xef\xbb\xbfhello")
    assert open_checkpoint(folder).text.chat_template == "hello"


def test_ids_are_the_same_only_where_the_same_are_special():
    assert with_token("<x>").same_ids(with_token("<x>"))
    assert not with_token("<x>").same_ids(with_token("<x>", special=True))
    assert not with_token("<x>").same_ids(with_token("<y>"))


def test_every_byte_has_its_token(byte_level, pieces):
    found = {byte_level.token_bytes(i) for i in range(byte_level.vocab_size)}
    assert {bytes([byte]) for byte in range(256)} <= found
    assert [pieces.token_bytes(3 + byte) for byte in range(256)] == [bytes([byte]) for byte in range(256)]


def test_ids_without_a_token(byte_level):
    assert byte_level.token_bytes(byte_level.vocab_size + 5) == b""
    with pytest.raises(BadInput, match="count from 0"):
        byte_level.token_bytes(-1)


def test_a_half_character_is_replaced(byte_level):
    ids = byte_level.encode("é")
    assert byte_level.decode(ids[:1]) == "\ufffd"


def test_sentence_piece_merges_by_score(pieces):
    names = {i: name for name, i in pieces._tokenizer.get_vocab().items()}
    assert [names[i] for i in pieces.encode("hello world", add_special=False)] == ["▁hello", "▁wor", "ld"]
    assert pieces.encode("hello")[0] == 1  # BOS, which this family adds unless the file says no
    assert [names[i] for i in pieces.encode("é", add_special=False)] == ["▁", "<0xC3>", "<0xA9>"]


def test_sentence_piece_space_before_a_text(pieces, tmp_path):
    world = pieces.encode("world", add_special=False)
    assert pieces.decode(world) == "world"
    assert pieces.decode(world, continues=True) == " world"
    bare = tokenizer_of(tmp_path / "m.gguf", add_space_prefix=False, add_bos_token=False)
    assert bare.decode(bare.encode(" world")) == " world"
    assert 1 not in bare.encode("world")
    assert b"".join(map(bare.token_bytes, bare.encode("world"))) == b"world"


def test_sentence_piece_never_makes_an_unused_piece(pieces, tmp_path):
    whole, unused = pieces.token_id("▁hello"), 5
    types = metadata()["tokenizer.ggml.token_type"]
    types[whole] = unused
    other = tokenizer_of(tmp_path / "m.gguf", token_type=types)
    assert pieces.encode("hello") == [1, whole]
    assert other.encode("hello") == [1, other.token_id("▁hel"), other.token_id("lo")]


def test_an_end_token_is_added_where_the_file_says_so(tmp_path):
    framed = tokenizer_of(tmp_path / "m.gguf", add_eos_token=True).encode("hello")
    assert (framed[0], framed[-1]) == (1, 2)


@pytest.mark.parametrize(
    ("pre", "text", "words"),
    [
        ("smollm", "ab 123", ["ab", "Ġ", "1", "2", "3"]),
        ("gpt-2", "ab 123's", ["ab", "Ġ123", "'s"]),
        ("llama-bpe", "ab 12345\n\nc", ["ab", "Ġ", "123", "45", "ĊĊ", "c"]),
        ("qwen2", "ab 123 I'LL", ["ab", "Ġ", "1", "2", "3", "ĠI", "'LL"]),
        ("default", "a+b 1234", ["a", "+", "b", "Ġ", "123", "4"]),
    ],
)
def test_word_rules(tmp_path, pre, text, words):
    tokenizer = build_tokenizer(GGUFFile(tmp_path, _bpe_metadata(pre=pre), {}))
    found = [word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(text)]
    assert found == words


def test_llama3_takes_whole_words_and_adds_bos(tmp_path):
    table = _bpe_metadata(pre="llama-bpe", merges=["h e"])  # "hello" is a token that no merges reach
    assert build_tokenizer(GGUFFile(tmp_path, table, {})).encode("hello").tokens == ["<|im_start|>", "hello"]
    other = build_tokenizer(GGUFFile(tmp_path, _bpe_metadata(pre="gpt-2", merges=["h e"]), {}))
    assert other.encode("hello").tokens == ["he", "l", "l", "o"]


def test_qwen2_composes_characters(tmp_path):
    tokenizer = Tokenizer(build_tokenizer(GGUFFile(tmp_path, _bpe_metadata(pre="qwen2"), {})))
    assert tokenizer.decode(tokenizer.encode("e\u0301")) == "é"


def test_user_defined_tokens_are_seen(tmp_path):
    types = [3, 3, 4] + [1] * (len(byte_tokens()) - 3)
    tokens = [*byte_tokens()[:2], "<|seen|>", *byte_tokens()[3:]]
    table = _bpe_metadata(token_type=types, tokens=tokens, eos_token_id=0)
    tokenizer = Tokenizer(build_tokenizer(GGUFFile(tmp_path, table, {})))
    assert tokenizer.encode("a<|seen|>") == [tokenizer.token_id("a"), 2]
    assert tokenizer.decode([2]) == "<|seen|>"


@pytest.mark.parametrize("name", ["<|b:x|>", "b:1", "$A", "$0", "$B:1"])
@pytest.mark.parametrize("ends", [False, True])
def test_tokens_around_a_text_may_have_any_name(tmp_path, name, ends):
    """Also those that mean something in a template of the tokenizers package."""
    tokens = [*byte_tokens()[:1], name, f"{name}e", *byte_tokens()[3:]]
    table = _bpe_metadata(tokens=tokens, add_bos_token=True, add_eos_token=ends)
    tokenizer = Tokenizer(build_tokenizer(GGUFFile(tmp_path, table, {})))
    assert tokenizer.encode("a") == [1, tokenizer.token_id("a")] + [2] * ends
    assert tokenizer.encode("", add_special=True) == [1] + [2] * ends


@pytest.mark.parametrize("name", ["<|im_end|>", "</s>", "<end_of_turn>", "[EOT]", "<|return|>"])
@pytest.mark.parametrize("kind", [3, 4])
def test_what_ends_a_text_by_its_name_is_hidden_and_ends_it(tmp_path, name, kind):
    """Also where a file has it as user-defined, and another one as its end, as conversions of chat models had it."""
    types = [3, 3, kind] + [1] * (len(byte_tokens()) - 3)
    tokens = [*byte_tokens()[:2], name, *byte_tokens()[3:]]
    file = GGUFFile(tmp_path, _bpe_metadata(token_type=types, tokens=tokens, eos_token_id=0), {})
    tokenizer = Tokenizer(build_tokenizer(file))
    assert ending_ids(token_fields(file))[-1] == 2
    assert tokenizer.encode(f"a{name}") == [tokenizer.token_id("a"), 2]
    assert tokenizer.decode([*tokenizer.encode("a"), 2]) == "a"


def test_a_word_with_such_a_name_ends_nothing(tmp_path):
    types = [3, 3, 1] + [1] * (len(byte_tokens()) - 3)
    file = GGUFFile(tmp_path, _bpe_metadata(token_type=types, eos_token_id=0), {})
    assert 2 not in ending_ids(token_fields(file))
    assert Tokenizer(build_tokenizer(file)).decode([2]) == "<|im_end|>"


@pytest.mark.parametrize("kind", [1, 4])
def test_the_named_end_is_a_special_token_of_whatever_type(tmp_path, kind):
    types = [3, 3, kind] + [1] * (len(byte_tokens()) - 3)
    tokens = [*byte_tokens()[:2], "<|fin|>", *byte_tokens()[3:]]
    tokenizer = Tokenizer(build_tokenizer(GGUFFile(tmp_path, _bpe_metadata(token_type=types, tokens=tokens), {})))
    assert tokenizer.encode("a<|fin|>") == [tokenizer.token_id("a"), 2]
    assert tokenizer.decode([2]) == ""


def test_a_word_that_the_file_names_as_its_begin_stays_a_word(tmp_path):
    word = byte_tokens().index("a")
    tokenizer = Tokenizer(build_tokenizer(GGUFFile(tmp_path, _bpe_metadata(bos_token_id=word), {})))
    assert tokenizer.decode(tokenizer.encode("bab")) == "bab"


def test_sentence_piece_has_usual_ids_where_a_file_has_none(pieces, tmp_path):
    """As llama.cpp has it; -1 says that there is none, and a plain piece is none."""
    absent = dict.fromkeys(("bos_token_id", "eos_token_id", "unknown_token_id"))
    file = GGUFFile(tmp_path / "m.gguf", metadata(**absent), {})
    assert [token_id(file, key) for key in ("bos", "eos", "unknown", "eot")] == [1, 2, 0, None]
    assert tokenizer_of(tmp_path / "m.gguf", **absent).encode("hello") == pieces.encode("hello")
    assert token_id(GGUFFile(tmp_path / "m.gguf", metadata(bos_token_id=-1), {}), "bos") is None
    types = [2, 1, *metadata()["tokenizer.ggml.token_type"][2:]]
    assert token_id(GGUFFile(tmp_path / "m.gguf", metadata(**absent, token_type=types), {}), "bos") is None


def test_two_tokens_of_one_text_both_have_it():
    from tokenizers import decoders, models

    raw = Raw(models.Unigram([("<unk>", 0.0), ("a", -1.0), ("<unk>", -2.0), ("▁", -3.0)], unk_id=0))
    raw.decoder = decoders.Metaspace()
    tokenizer = Tokenizer(raw)
    assert [tokenizer.token_bytes(i) for i in (0, 1, 2)] == [b"<unk>", b"a", b"<unk>"]


def test_two_texts_of_one_token_are_read_as_the_tokenizer_reads_them():
    """Its tables have an order of their own in each tokenizer."""
    from tokenizers import decoders, models

    for _ in range(30):
        raw = Raw(models.BPE(vocab={"a": 0, "b": 0, "c": 1}, merges=[]))
        raw.decoder = decoders.ByteLevel()
        assert Tokenizer(raw).token_bytes(0).decode() == raw.decode([0])


@pytest.mark.parametrize(
    ("changes", "kind", "message"),
    [
        ({"model": "t5"}, UnsupportedModel, "'t5'; supported: gpt2, llama"),
        ({"pre": "tekken"}, UnsupportedModel, "'tekken'; supported: default, gpt-2, smollm"),
        ({"tokens": None}, BadModelFile, "no tokenizer.ggml.tokens"),
        ({"merges": ["h"]}, BadModelFile, "'h' is not a merge"),
        ({"merges": ["zz yy"]}, BadModelFile, "broken vocabulary"),
        ({"tokens": ["a", "a"]}, BadModelFile, "a token twice"),
        ({"eos_token_id": 10**6}, BadModelFile, "eos_token_id is 1000000"),
        ({"model": "llama"}, BadModelFile, "no tokenizer.ggml.scores"),
        ({"model": "llama", "scores": [1.0]}, BadModelFile, "1 scores for"),
    ],
)
def test_broken_tables(tmp_path, changes, kind, message):
    with pytest.raises(kind, match=message):
        build_tokenizer(GGUFFile(tmp_path, _bpe_metadata(**changes), {}))


def test_an_unknown_word_rule_is_refused_when_the_file_is_opened(tmp_path):
    options = GGUFOptions(pre="tekken")
    with pytest.raises(UnsupportedModel, match="tekken"):
        open_checkpoint(write_gguf(tmp_path / "m.gguf", tiny_config(), random_tensors(tiny_config()), options))


def test_folder_and_gguf_agree(tmp_path):
    tensors = random_tensors(tiny_config())
    one = Tokenizer.of(open_checkpoint(write_gguf(tmp_path / "m.gguf", tiny_config(), tensors)))
    two = Tokenizer.of(open_checkpoint(write_folder(tmp_path / "m", tiny_config(), tensors)))
    assert (one.eos_ids, one.bos_id) == ((2, 0), 1)
    for text in ODD:
        assert one.encode(text) == two.encode(text)


def test_a_broken_tokenizer_json(tmp_path):
    folder = write_folder(tmp_path / "m", tiny_config(), random_tensors(tiny_config()))
    for content in (b'{"a": 1}', b"{", b'"\xff"'):
        (folder / "tokenizer.json").write_bytes(content)
        with pytest.raises(BadModelFile, match=r"tokenizer\.json"):
            Tokenizer.of(open_checkpoint(folder))


@pytest.mark.parametrize("decoder", [None, decoders.WordPiece(), decoders.CTC()])
def test_other_decoders_are_refused(decoder):
    raw = Raw(kinds.BPE())
    if decoder is not None:
        raw.decoder = decoder
    with pytest.raises(UnsupportedModel, match="decoder"):
        Tokenizer(raw)


@pytest.mark.model
def test_smollm2_ids():
    """Ids that llama.cpp and transformers give for the same file."""
    tokenizer = Tokenizer.of(open_checkpoint("smollm2-135m"))
    assert tokenizer.encode("Hello world 123") == [19556, 905, 216, 33, 34, 35]
    assert tokenizer.encode("<|im_start|>user\nhi<|im_end|>\n") == [1, 4093, 198, 6004, 2, 198]
    for text in ODD:
        kept = text.translate(dict.fromkeys(map(ord, "\x07\x1b\x00\x7f\U0010ffff")))  # some bytes have no token
        assert tokenizer.decode(tokenizer.encode(kept), skip_special=False) == kept


@pytest.mark.parity
@pytest.mark.model
def test_parity_with_transformers():
    """Same file, same ids. transformers forgets that this family sets digits apart; the model's own file does so."""
    transformers = pytest.importorskip("transformers")
    from tokenizers import pre_tokenizers

    checkpoint = open_checkpoint("smollm2-135m")
    ours, path = Tokenizer.of(checkpoint), Path(checkpoint.path)
    theirs = transformers.AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    theirs.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    for text in ODD + _random_texts(2000):
        ids = theirs.encode(text)
        assert ours.encode(text) == ids
        assert ours.decode(ids, skip_special=False) == theirs.decode(ids, clean_up_tokenization_spaces=False)
        assert ours.decode(ids) == theirs.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]
    for prompt in (True, False):
        expected = theirs.apply_chat_template(messages, tokenize=False, add_generation_prompt=prompt)
        assert ours.chat(messages, add_generation_prompt=prompt) == expected


def _random_texts(count):
    rng = random.Random(0)
    spans = [(0x20, 0x7F), (0, 0x3000), (0x3000, 0xD800), (0x1F300, 0x1FB00)]
    return ["".join(chr(rng.randrange(*rng.choice(spans))) for _ in range(rng.randrange(1, 40))) for _ in range(count)]


def _bpe_metadata(**changes):
    tokens = byte_tokens()
    values = {
        "model": "gpt2",
        "pre": "smollm",
        "tokens": tokens,
        "token_type": [3 if token in SPECIAL else 1 for token in tokens],
        "merges": list(MERGES),
        "bos_token_id": 1,
        "eos_token_id": 2,
    }
    return {f"tokenizer.ggml.{key}": value for key, value in (values | changes).items()}


def test_an_id_far_beyond_all_others_takes_no_memory(byte_level):
    raw = json.loads(byte_level.to_json())
    raw["model"]["vocab"]["<far>"] = 300_000_000
    with pytest.raises(BadModelFile, match="one of them the id 300000000; fetch it again"):
        Tokenizer(Raw.from_str(json.dumps(raw)))


@pytest.mark.parametrize("broken", ["unknown token", "frame"])
def test_a_text_that_a_tokenizer_has_no_way_to_write_is_refused(broken):
    parts = json.loads(byte_tokenizer().to_str())
    if broken == "frame":  # of a token that it does not say the id of
        single = [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
        parts["post_processor"] = {"type": "TemplateProcessing", "single": single, "pair": [], "special_tokens": {}}
    else:
        parts["model"]["unk_token"] = "<unk>"
        parts["pre_tokenizer"] = None
    tokenizer = Tokenizer(Raw.from_str(json.dumps(parts)))
    with pytest.raises(BadPrompt, match="cannot read the text: "):
        tokenizer.encode("hello 世")


def test_no_memory_is_no_fault_of_a_text() -> None:
    with pytest.raises(MemoryError), raising(BadPrompt):
        raise MemoryError
    with pytest.raises(BadPrompt, match="RuntimeError"), raising(BadPrompt):
        raise RuntimeError
