"""Reading /proc/self/smaps: sizes, changed pages, paths with spaces, and systems without it."""

from pathlib import Path

import pytest

from truedraw.engine import mappings
from truedraw.engine.mappings import own_mappings, read_smaps

TEXT = """\
00400000-00403000 r-xp 00000000 08:01 1234                               /opt/my lib/libé.so (deleted)
Size:                 12 kB
Rss:                   8 kB
Anonymous:             4 kB
VmFlags: rd ex mr mw me sd
7f0000000000-7f0080000000 rw-p 00000000 00:00 0
Size:            2097152 kB
Rss:                  64 kB
Anonymous:            64 kB
VmFlags: rd wr mr mw me nr nh
7ffc00000000-7ffc00001000 rw-p 00000000 00:00 0                          [stack]
Rss:                   4 kB
"""


def test_a_mapping_is_read_whole():
    library, cache, stack = read_smaps(TEXT)
    assert (library.path, library.permissions, library.is_file) == ("/opt/my lib/libé.so (deleted)", "r-xp", True)
    assert (library.num_bytes, library.resident_bytes, library.anonymous_bytes) == (12288, 8192, 4096)
    assert (cache.path, cache.num_bytes, cache.resident_bytes) == ("", 2 << 30, 65536)
    assert "nh" in cache.flags
    assert "nh" not in library.flags
    assert (stack.path, stack.is_file, stack.anonymous_bytes) == ("[stack]", False, 0)


def test_what_ends_a_line_elsewhere_may_stand_in_a_path():
    (found,) = read_smaps(TEXT.partition("7f0000000000")[0].replace("my lib", "my\x0blib\u2028here"))
    assert (found.path, found.resident_bytes) == ("/opt/my\x0blib\u2028here/libé.so (deleted)", 8192)


def test_nothing_of_nothing():
    assert list(read_smaps("")) == []


def test_none_where_the_system_does_not_tell(monkeypatch, tmp_path):
    monkeypatch.setattr(mappings, "SMAPS", tmp_path / "smaps")
    assert own_mappings() == []


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="needs Linux")
def test_the_own_process_is_there():
    found = own_mappings()
    assert any("x" in mapping.permissions and mapping.is_file for mapping in found)
    assert sum(mapping.resident_bytes for mapping in found) > 1 << 20
