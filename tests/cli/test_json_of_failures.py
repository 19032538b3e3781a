"""What a script can rely on with --json, as the head of docs/cli.md says."""

import json

import pytest

from truedraw.errors import EngineError

TOY = ("-m", "tabular", "--json", "--ignore-eos", "--max-tokens", 40)


@pytest.fixture
def failing(before_each_pass):
    """failing(5): the fifth pass from now on, and each behind it, fails."""

    def begin(number):
        def fail(count):
            if count >= number:
                raise EngineError("no further")

        before_each_pass(fail)

    return begin


@pytest.mark.parametrize(
    ("verb", "number", "results"),
    [(("generate", "the"), 1, 0), (("generate", "the"), 5, 1), (("generate", "the", "-n", 3), 5, 1),
     (("bench", "--limit", 2), 1, 0), (("bench", "--limit", 10), 300, 1)],
)  # fmt: skip
def test_whole_values_on_stdout_and_the_error_in_the_last_line_of_stderr(cli, failing, verb, number, results):
    failing(number)
    done = cli(*verb, *TOY)
    found = [json.loads(line) for line in done.out.splitlines()]
    assert (done.code, len(found)) == (2, results)
    assert done.err.splitlines()[-1] == "truedraw: error: no further"
    for each in found:
        assert each.get("error", {}).get("message") == "no further" or each["complete"] is False
