"""Flags whose path begins with a home folder that is not known."""

import pytest


@pytest.mark.parametrize("flag", ["--cache", "--save-draft"])
def test_a_home_folder_of_nobody_is_an_error_in_words(cli, flag):
    found = cli("generate", "hi", "--model", "tabular", flag, "~nobody-of-this-name/x")
    assert found.code == 2
    assert "begins with a home folder that is not known" in found.err
