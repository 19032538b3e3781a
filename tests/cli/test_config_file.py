import json
import os

import pytest

TOY = 'model = "tabular"\njson = true\nignore-eos = true\n'


@pytest.fixture
def config(tmp_path):
    def write(text):
        path = tmp_path / "truedraw.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def tokens(done):
    assert done.code == 0, done.err
    return json.loads(done.out)["stats"]["tokens"]


def test_flag_before_environment_before_file_before_default(cli, config, monkeypatch):
    path = config(TOY + "max_tokens = 3\n")
    assert tokens(cli("generate", "the", "--config", path)) == 3
    monkeypatch.setenv("TRUEDRAW_MAX_TOKENS", "4")
    assert tokens(cli("generate", "the", "--config", path)) == 4
    assert tokens(cli("generate", "the", "--config", path, "--max-tokens", 5)) == 5


def test_an_error_says_where_a_value_stands_that_nobody_typed(cli, config, monkeypatch):
    path = config('model = "tabular"\nseed = "x"\n')
    assert cli("generate", "the", "--config", path).err.rstrip().endswith(f"(got 'x') (from --config {path})")
    monkeypatch.setenv("TRUEDRAW_SEED", "y")
    assert cli("generate", "the", "--config", path).err.rstrip().endswith("(got 'y') (from TRUEDRAW_SEED)")
    assert cli("generate", "the", "--config", path, "--seed", "z").err.rstrip().endswith("(got 'z')")


@pytest.mark.parametrize(
    ("flag", "value"), [("top-p", 0), ("n", 0), ("logit-bias", "1=x"), ("min-tokens", 999), ("cache-bytes", "x")]
)
def test_an_error_about_what_a_value_means_says_where_it_stands(cli, config, monkeypatch, flag, value):
    path = config(f'model = "tabular"\n{flag} = {json.dumps(value)}\n')
    assert cli("generate", "the", "--config", path).err.rstrip().endswith(f"(from --config {path})")
    twin = "TRUEDRAW_" + flag.replace("-", "_").upper()
    monkeypatch.setenv(twin, str(value))
    assert cli("generate", "the", "--config", path).err.rstrip().endswith(f"(from {twin})")
    typed = cli("generate", "the", "--config", path, f"--{flag}", value)
    assert (typed.code, "from" in typed.err) == (2, False)


@pytest.mark.parametrize(
    ("typed", "other"),
    [
        (("--best-of", 2), ("n", "3")),
        (("--min-tokens", 5), ("max-tokens", "3")),
        (("--top-p", 0.5), ("mirostat", "2")),
        (("--temperature", 0.5), ("schedule", "temperature=0:1,5:0.5")),
        (("--regex", "a"), ("grammar", 'start: "a"')),
    ],
)
def test_an_error_about_two_parameters_says_where_the_other_one_stands(cli, monkeypatch, typed, other):
    name, twin = other[0].replace("-", "_"), "TRUEDRAW_" + other[0].replace("-", "_").upper()
    monkeypatch.setenv(twin, other[1])
    assert f"({name} from {twin})" in cli("generate", "the", "-m", "tabular", *typed).err


def test_an_error_that_lists_all_steps_says_of_none_where_it_stands(cli, monkeypatch):
    monkeypatch.setenv("TRUEDRAW_TEMPERATURE", "0.5")
    steps = cli("generate", "the", "-m", "tabular", "--sampler-order", "x").err
    assert ("temperature" in steps, "TEMPERATURE" in steps) == (True, False)


def test_a_key_of_a_speculative_config_is_not_taken_for_the_flag_of_its_name(cli, monkeypatch):
    monkeypatch.setenv("TRUEDRAW_MODEL", "tabular")
    done = cli("generate", "the", "--speculative-config", '{"method": "model", "model": 5}')
    assert (done.code, "TRUEDRAW_MODEL" in done.err) == (2, False)


def test_an_error_about_a_key_of_a_speculative_config_says_where_it_stands(cli, config, monkeypatch):
    whole, path = '{"num_speculative_tokens": -1}', config("spec-tokens = -1\n")

    def said(*more):
        return cli("generate", "the", "-m", "tabular", *more).err.rstrip()

    assert said("--config", path).endswith(f"0 or more (from --config {path})")
    monkeypatch.setenv("TRUEDRAW_SPECULATIVE_CONFIG", whole)
    assert said("--config", path).endswith("0 or more (from TRUEDRAW_SPECULATIVE_CONFIG)")
    monkeypatch.delenv("TRUEDRAW_SPECULATIVE_CONFIG")
    monkeypatch.setenv("TRUEDRAW_SPEC_TOKENS", "-1")
    assert said("--config", path).endswith("0 or more (from TRUEDRAW_SPEC_TOKENS)")
    assert said("--speculative-config", whole).endswith("0 or more")


@pytest.mark.parametrize(
    ("flag", "value"),
    [("engine", "nix"), ("spec-method", "nix"), ("spec-model", "nix"), ("model", "nix"), ("amateur", "nix"),
     ("speculative-config", '{"method": "nix"}'), ("speculative-config", '{"rejection_sample_method": "nix"}')],
)  # fmt: skip
def test_an_error_about_a_name_of_nothing_says_where_it_stands(cli, config, monkeypatch, flag, value):
    path = config("" if flag in ("model", "engine") else 'model = "tabular"\n')
    twin = "TRUEDRAW_" + flag.replace("-", "_").upper()
    monkeypatch.setenv(twin, value)
    assert cli("generate", "the", "--config", path).err.rstrip().endswith(f"(from {twin})")
    typed = cli("generate", "the", "--config", path, f"--{flag}", value)
    assert (typed.code, "from" in typed.err) == (2, False)


@pytest.mark.parametrize("flag", ["model", "amateur", "spec-model", "draft", "save-draft", "grammar", "json-schema"])
def test_an_error_about_a_file_says_where_it_is_named(cli, config, monkeypatch, tmp_path, flag):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    value = "./empty" if flag in ("model", "amateur", "spec-model") else "no/such.file"
    path = config(f'{flag} = "{value}"\n' + ("" if flag in ("model", "draft") else 'model = "tabular"\n'))
    assert cli("generate", "the", "--config", path).err.rstrip().endswith(f"(from --config {path})")
    twin = "TRUEDRAW_" + flag.replace("-", "_").upper()
    monkeypatch.setenv(twin, value)
    assert cli("generate", "the", "--config", path).err.rstrip().endswith(f"(from {twin})")
    typed = cli("generate", "the", "--config", path, f"--{flag}", value)
    assert (typed.code, "from" in typed.err) == (2, False)


@pytest.mark.parametrize("text", [None, "no-such-flag = 1\n"])
def test_an_error_about_a_config_file_says_where_it_is_named(cli, config, monkeypatch, tmp_path, text):
    path = tmp_path / "none.toml" if text is None else config(text)
    assert "from" not in cli("generate", "the", "--config", path).err
    monkeypatch.setenv("TRUEDRAW_CONFIG", str(path))
    assert cli("generate", "the").err.rstrip().endswith("(from TRUEDRAW_CONFIG)")


def test_an_error_about_two_flags_says_where_the_other_one_stands(cli, monkeypatch):
    monkeypatch.setenv("TRUEDRAW_INPUT", "prompts.jsonl")
    assert cli("generate", "the").err.rstrip().endswith("(--input from TRUEDRAW_INPUT)")


def test_a_switch_may_be_called_as_what_switches_it_off(cli, config):
    assert "rounds" in cli("generate", "the", "-m", "tabular", "--config", config("no-stats = false\n")).err
    assert not cli("generate", "the", "-m", "tabular", "--config", config("no-stats = true\n")).err
    path = config("no-stats = true\nstats = true\n")
    assert "stands there twice" in cli("generate", "the", "-m", "tabular", "--config", path).err


def test_a_byte_order_mark_is_no_part_of_the_file(cli, config):
    assert tokens(cli("generate", "the", "--config", config(f"\ufeff{TOY}max-tokens = 3\n"))) == 3


def test_the_file_itself_can_be_named_in_the_environment(cli, config, monkeypatch):
    monkeypatch.setenv("TRUEDRAW_CONFIG", str(config(TOY + "max-tokens = 6\n")))
    assert tokens(cli("generate", "the")) == 6


def test_a_verbs_own_table_counts_before_the_top(cli, config):
    path = config(TOY + "max-tokens = 3\n[generate]\nmax-tokens = 9\n[bench]\nlimit = 1\n")
    assert tokens(cli("generate", "the", "--config", path)) == 9
    bench = cli("bench", "--config", path)
    assert (json.loads(bench.out)["prompts"], json.loads(bench.out)["sampling"]["max_tokens"]) == (1, 3)


WHOLE = """seed = 1
model = "tabular"
[generate]
json = true
ignore-eos = true
max-tokens = 2
[bench]
limit = 1
[bench.many]
prompt-tokens = 4
[train.eval]
repeats = 3
[models]
"""


def test_one_file_serves_all_verbs(cli, config):
    path = config(WHOLE)
    assert tokens(cli("generate", "the", "--config", path)) == 2
    many = cli("bench", "many", "-n", 2, "--max-tokens", 3, "--repeats", 1, "--config", path)
    assert many.code == 0, many.err
    assert json.loads(many.out)["prompt_tokens"] == 4
    bench = cli("bench", "--max-tokens", 3, "--config", path)
    assert bench.code == 0, bench.err
    assert json.loads(bench.out)["prompts"] == 1
    evaluation = cli("train", "eval", "nowhere.safetensors", "--draft", "other.safetensors", "--config", path)
    assert "HEAD: nowhere.safetensors is a draft" in evaluation.err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[many]\nn = 2", ["truedraw has no verb 'many'; valid ones are bench, chat, "]),
        ("[bench.many]\nlimit = 2", ["truedraw bench many has no flag 'limit'", "prompt_tokens"]),
        ("[bench]\nspeed = 3", ["truedraw bench has no flag 'speed'"]),
        ("[bench]\nmany = 3", ["bench.many is 3; [bench.many] is a table of flags"]),
        ("chat = true", ["[chat] is a table of flags, and the flag --chat stands in the table of its verb, as in"]),
        ("[train]\nbudget = '1m'", ["truedraw train has no flag 'budget'; valid ones are none"]),
        ("[train.draft]\nlimit = 3", ["truedraw train draft has no flag 'limit'"]),
        ("[train.drafts]\nlimit = 3", ["truedraw train has no verb 'drafts' (did you mean draft?); valid ones are "]),
        ("[generate.many]\nn = 3", ["truedraw generate has no verb 'many'; valid ones are none"]),
        ("[bench.many]\nn = true", ["n is True"]),
    ],
)
def test_unknown_names_are_refused_with_the_whole_command(cli, config, text, words):
    done = cli("bench", "many", "-m", "tabular", "--config", config(text))
    assert (done.code, done.out) == (2, "")
    (line,) = done.err.splitlines()
    for word in words:
        assert word in line


def test_a_flag_may_be_called_as_a_verb_of_another_group(cli, config):
    path = config('draft = "other.safetensors"\n')
    done = cli("train", "eval", "nowhere.safetensors", "-m", "tabular", "--config", path)
    assert "--draft other.safetensors; give one of them" in done.err


def test_the_grid_of_a_sweep_is_a_list_or_a_text(cli, config):
    for grid in ("[0.5, 1]", '"0.5,1"', '["0.5", 1]'):
        path = config(f'model = "tabular"\n[sweep]\ntemperature = {grid}\nn = 1\nmax-tokens = 2\n')
        done = cli("sweep", "the", "--config", path)
        assert done.code == 0, done.err
        assert [json.loads(line)["temperature"] for line in done.out.splitlines()] == [0.5, 1]
    refused = cli("sweep", "the", "-m", "tabular", "--config", config("[sweep]\ntemperature = [1, true]\n"))
    assert "temperature is [1, True]; give a number, a text or a list of them" in refused.err


@pytest.mark.parametrize(
    "text",
    [
        '[train.compare]\nlosses = "kl,tv"',
        "[models.list]\njson = true",
        '[index.build]\nformat = "text"',
        "[tune]\nforce = true",
    ],
)
def test_a_flag_is_called_as_it_is_typed(cli, config, text):
    assert tokens(cli("generate", "the", "--config", config(f"{TOY}max-tokens = 2\n{text}\n"))) == 2


def test_the_other_name_of_a_flag_is_the_same_flag(cli, config):
    for name in ("try", "candidate"):
        done = cli("tune", "-m", "tabular", "--config", config(f'[tune]\n{name} = \'{{"method": "nobody"}}\''))
        assert "no drafter is called 'nobody'" in done.err
    done = cli("tune", "-m", "tabular", "--config", config("[tune]\nforce = true\noverwrite = true"))
    assert "overwrite stands there twice" in done.err


def test_the_losses_of_a_comparison_are_told_as_they_are_typed(cli, config):
    done = cli("train", "compare", "-m", "tabular", "--config", config("[train.compare]\nloss = 'kl'"))
    assert "no flag 'loss' (did you mean losses?)" in done.err


def test_lists_and_single_values(cli, config):
    for stop in ('" sat"', '[" sat", " ran"]'):
        done = cli("generate", "the cat", "--config", config(TOY + f"stop = {stop}\nmax-tokens = 500\n"))
        assert json.loads(done.out)["choices"][0]["finish_reason"] == "stop"
    done = cli("generate", "the cat", "--config", config(TOY + "stop-token-ids = [3, 4]\nseed = 1\n"))
    assert json.loads(done.out)["choices"][0]["token_ids"][-1] in (3, 4)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("temprature = 1", ["'temprature'", "(did you mean temperature?); valid ones are allowed_token_ids, "]),
        ("max-token = 1", ["no flag 'max-token'", "did you mean max_tokens?"]),
        ("[generat]\nseed = 1", ["truedraw has no verb 'generat' (did you mean generate?); valid ones are bench, "]),
        ("[bench.mny]\nn = 2", ["truedraw bench has no verb 'mny' (did you mean many?)"]),
        ("[speculative-config]\nmethod = 'ngram'", ["speculative-config is {'method': 'ngram'}", "a text"]),
        ("[generate]\nlimit = 3", ["generate", "'limit'"]),
        ("[bench]\nspeed = 3", ["bench", "'speed'", "repeats"]),
        ("[models]\nx = 3", ["models", "'x'"]),
        ("config = 'other.toml'", ["'config'"]),
        ("generate = 3", ["generate is 3"]),
        ("temperature = true", ["temperature is True", "a number"]),
        ("temperature = [1]", ["temperature is [1]"]),
        ("temperature = 2020-01-01", ["temperature"]),
        ("temperature = 'hot'", ["--temperature", "'hot'"]),
        ("temperature = nan", ["temperature", "nan"]),
        ("max-tokens = 2.5", ["--max-tokens", "2.5"]),
        ("json = 'yes'", ["json is 'yes'", "true or false"]),
        ("stop = [1, true]", ["stop is [1, True]"]),
        ("numerics = 'fast'", ["--numerics"]),
        ("temperature = ", ["is not TOML"]),
        pytest.param("stop = " + "[" * 2000 + "]" * 2000, ["is not TOML: it is nested too deeply"], id="nested"),
        (b"model = 'caf\xe9'", ["not UTF-8"]),
    ],
)
def test_bad_files(cli, config, text, words):
    done = cli("generate", "the", "-m", "tabular", "--config", config(text))
    assert (done.code, done.out) == (2, "")
    (line,) = done.err.splitlines()
    for word in words:
        assert word in line


def test_a_file_that_is_missing(cli, tmp_path):
    for path in (tmp_path / "missing.toml", tmp_path):
        done = cli("generate", "the", "-m", "tabular", "--config", path)
        assert done.code == 2
        assert "cannot be read" in done.err


@pytest.mark.skipif(os.name == "nt", reason="needs devices")
def test_a_device_is_no_config_file(cli, monkeypatch):
    said = "--config /dev/zero cannot be read: it is a device"
    assert said in cli("generate", "the", "-m", "tabular", "--config", "/dev/zero").err
    monkeypatch.setenv("TRUEDRAW_CONFIG", "/dev/zero")
    done = cli("generate", "the", "-m", "tabular")
    assert done.code == 2
    assert said in done.err


def test_a_flag_under_both_its_spellings_is_refused(cli, config):
    done = cli("generate", "the", "--config", config(TOY + "top_k = 1\ntop-k = 5\n"))
    assert done.code == 2
    assert "top_k stands there twice" in done.err


def test_a_second_file_is_not_passed_over(cli, tmp_path) -> None:
    one, two = tmp_path / "one.toml", tmp_path / "two.toml"
    one.write_text("max-tokens = 3")
    two.write_text("seed = 1")
    for given in (("--config", one, "--config", two), (f"--config={one}", "--config", two)):
        done = cli("generate", "the", "-m", "tabular", *given)
        assert done.code == 2
        assert "--config: given more than once" in done.err
    drawn = ("generate", "-m", "tabular", "--config", one)
    assert cli(*drawn, "--", "--config").code == 0
    assert cli(*drawn, "the", "--stop", "--config").code == 0
