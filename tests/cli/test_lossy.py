import json

import pytest

from truedraw.cli.conversation import Conversation
from truedraw.cli.flags import OutputFlags
from truedraw.cli.turns import talk
from truedraw.engine.tabular import TabularEngine
from truedraw.generate.model import Model
from truedraw.generate.speculation import Speculation
from truedraw.models.toy import TOY_TABLE, toy_text
from truedraw.text import Tokenizer

TOY = ("generate", "the cat", "-m", "tabular", "--ignore-eos", "--seed", "5", "--max-tokens", "40")


def config(name, **more):
    return "--speculative-config", json.dumps({"rejection_sample_method": name, "adaptive": False, **more})


def test_a_lossy_rule_needs_its_flag(cli):
    done = cli(*TOY, *config("typical"))
    assert (done.code, done.out) == (2, "")
    assert "add allow_lossy: true" in done.err


def test_statistics_say_so_and_how_far(cli):
    lenient = cli(*TOY, *config("lenient", allow_lossy=True, lossy_options={"lenience": 1.5}))
    assert lenient.code == 0
    (line,) = [line for line in lenient.err.splitlines() if line.startswith("LOSSY")]
    assert line.startswith(
        "LOSSY, not the model's distribution (lenient, lenience 1.5): total variation a token at most 0"
    )
    typical = cli(*TOY, *config("typical", allow_lossy=True))
    assert "no useful bound exists" in typical.err
    assert "at most" not in typical.err
    skip = cli(*TOY, *config("skip", allow_lossy=True, lossy_options={"audit_rate": 0.5}))
    assert "holds with probability 0.95" in skip.err
    assert "LOSSY" not in cli(*TOY).err


NOTICE = "truedraw: notice: LOSSY, texts will not have the model's distribution: the rule skip"


def test_every_verb_says_so_whatever_else_it_prints(cli, tmp_path):
    skip = config("skip", allow_lossy=True)
    prompts, out = tmp_path / "p.jsonl", tmp_path / "o.jsonl"
    prompts.write_text('{"prompt": "the cat"}\n')
    toy = ("-m", "tabular", "--max-tokens", "4", "--ignore-eos")
    for asked in (
        (*TOY, "--no-stats"),
        ("generate", "--input", prompts, "--output", out, *toy, "--no-stats"),
        ("sweep", "the cat", "--output", tmp_path / "s.jsonl", "--temperature", "0.5,1", *toy),
        ("bench", "--limit", "1", "--json", *toy),
    ):
        done = cli(*asked, *skip)
        assert done.code == 0, done.err
        assert done.err.count(NOTICE) == 1
    done = cli("check", "--quick", *toy, *skip)
    assert (done.code, done.out) == (2, "")
    assert "skip does not keep the model's distribution, so there is nothing to certify" in done.err


def test_json_says_so(cli):
    done = json.loads(cli(*TOY, "--json", *config("skip", allow_lossy=True)).out)
    assert done["exact"] is False
    assert done["lossy"]["settings"] == {"skip_above": 0.9, "audit_rate": 0.1}
    assert {"tv_per_token", "meaning", "details", "tokens"} < set(done["lossy"])
    exact = json.loads(cli(*TOY, "--json").out)
    assert exact["exact"] is True
    assert "lossy" not in exact


def test_every_answer_of_a_conversation_says_so(capsys):
    text = toy_text()
    template = "{% for message in messages %}{{ message.content }}{% endfor %}"
    tokenizer = Tokenizer(text.load_tokenizer(), eos_ids=text.eos_ids, chat_template=template)
    spec = Speculation(rejection_sample_method="typical", allow_lossy=True)
    talked = Conversation(Model("toy", TabularEngine(TOY_TABLE), tokenizer), {"max_tokens": 5}, spec)
    talk(talked, ["the cat", "the dog"], OutputFlags(), at_terminal=False)
    assert capsys.readouterr().err.count("LOSSY, not the model's distribution (typical") == 2


@pytest.mark.parametrize("more", [(), config("skip", allow_lossy=True)])
def test_a_measurement_says_so_in_its_object(cli, more):
    for verb in (("bench", "--limit", "1", "--json"), ("bench", "many", "--json", "-n", "2", "--prompt-tokens", "2")):
        done = cli(*verb, "-m", "tabular", "--max-tokens", "4", *more)
        assert done.code == 0, done.err
        assert json.loads(done.out)["exact"] is not bool(more)
