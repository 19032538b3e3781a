"""Names on the hub, against a stub of the hub on the loopback interface."""

import hashlib
import json
import subprocess
import sys
import textwrap
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from tiny_models import random_tensors, tiny_config, write_folder

import truedraw
from truedraw.errors import PullError
from truedraw.models import open_checkpoint
from truedraw.models.hub import is_hub_name

pytest.importorskip("huggingface_hub")
COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub(BaseHTTPRequestHandler):
    """Serves org/tiny; org/gated is gated; everything else does not exist."""

    folder: Path
    log: list
    broken: set

    def do_HEAD(self):
        self.answer(body=False)

    def do_GET(self):
        self.answer(body=True)

    def answer(self, body):
        path = self.path.partition("?")[0]
        self.log.append(path)
        if path.startswith("/api/models/org/tiny/tree/"):
            self.send(json.dumps([self.listed(f) for f in self.files()]).encode(), body, "application/json")
        elif path.startswith("/api/models/org/tiny"):
            siblings = [{"rfilename": file.name} for file in self.files()]
            listing = {"_id": "1", "id": "org/tiny", "modelId": "org/tiny", "sha": COMMIT, "siblings": siblings}
            self.send(json.dumps(listing).encode(), body, "application/json")
        elif path.startswith("/org/tiny/resolve/"):
            self.send(
                (self.folder / path.rpartition("/")[2]).read_bytes(),
                body,
                broken=path.rpartition("/")[2] in self.broken,
            )
        else:
            self.refuse("GatedRepo" if "gated" in path else "RepoNotFound", 403 if "gated" in path else 404)

    def files(self):
        return sorted(self.folder.iterdir())

    def listed(self, file):
        data = file.read_bytes()
        oid = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
        return {"type": "file", "oid": oid, "size": len(data), "path": file.name}

    def send(self, data, body, kind="application/octet-stream", broken=False):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("ETag", f'"{hashlib.sha1(data).hexdigest()}"')
        self.send_header("X-Repo-Commit", COMMIT)
        self.end_headers()
        if body:
            self.wfile.write(data[: len(data) // 2] if broken else data)

    def refuse(self, code, status):
        self.send_response(status)
        self.send_header("X-Error-Code", code)
        self.send_header("X-Error-Message", code)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args):
        pass


@pytest.fixture
def hub(tmp_path):
    config = tiny_config("qwen2")
    Hub.folder = write_folder(tmp_path / "served", config, random_tensors(config))
    (Hub.folder / "README.md").write_text("not needed")
    Hub.log, Hub.broken = [], set()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def fetch(endpoint, name, cache, prepare="", options=""):
    """In a process of its own: huggingface_hub reads its settings from the environment when it is imported."""
    code = f"""
        import sys
        from pathlib import Path
        {prepare}
        from truedraw.errors import TruedrawError
        from truedraw.models import open_checkpoint
        seen = []
        try:
            how = dict(cache=Path({str(cache)!r}), progress=lambda *step: seen.append(step), {options})
            found = open_checkpoint({name!r}, **how)
            print("found", found.path, found.kind, max((done for _, done, _ in seen), default=0))
        except TruedrawError as error:
            print(type(error).__name__, error)
    """
    surroundings = {
        "HF_ENDPOINT": endpoint,
        "HF_HOME": str(cache / "home"),
        "HF_HUB_DISABLE_XET": "1",
        "NO_PROXY": "*",
        "PATH": "",
        "PYTHONPATH": str(Path(truedraw.__file__).parents[1]),
    }
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], env=surroundings, capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout.strip().splitlines()[-1], done.stderr


def test_a_model_is_fetched_once_and_opens(hub, tmp_path):
    cache = tmp_path / "cache"
    said, stderr = fetch(hub, "org/tiny", cache)
    folder = cache / "models" / "org--tiny"
    assert said.startswith(f"found {folder} huggingface")
    assert stderr == ""  # a library draws no bars
    assert not (folder / "README.md").exists()
    tensors = random_tensors(tiny_config("qwen2"))
    weights = open_checkpoint(folder).weights
    for name, tensor in tensors.items():
        np.testing.assert_array_equal(weights.dense(name), tensor)
    Hub.log.clear()
    assert open_checkpoint("org/tiny", cache=cache).path == folder
    assert Hub.log == []


def test_progress_counts_bytes(hub, tmp_path):
    said, _ = fetch(hub, "org/tiny", tmp_path / "cache")
    assert int(said.rpartition(" ")[2]) >= (Hub.folder / "model.safetensors").stat().st_size


@pytest.mark.parametrize(
    ("name", "message"),
    [("org/nothing", "UnknownModel the hub has no model 'org/nothing'"), ("org/gated", "PullError org/gated is gated")],
)
def test_names_that_cannot_be_had(hub, tmp_path, name, message):
    said, _ = fetch(hub, name, tmp_path / "cache")
    assert said.startswith(message)
    assert not (tmp_path / "cache" / "models" / name.replace("/", "--")).exists()


def test_no_network(tmp_path):
    said, _ = fetch("http://127.0.0.1:9", "org/tiny", tmp_path / "cache")
    assert said.startswith("PullError org/tiny could not be fetched from the hub")


def test_an_incomplete_model_is_not_kept(hub, tmp_path):
    (Hub.folder / "tokenizer.json").unlink()
    said, _ = fetch(hub, "org/tiny", tmp_path / "cache")
    assert said.startswith("UnsupportedModel")
    assert not (tmp_path / "cache" / "models" / "org--tiny").exists()
    assert not list((tmp_path / "cache" / "models" / ".staging").rglob("*.part"))


def test_a_damaged_model_is_fetched_again_when_it_is_pulled(hub, tmp_path):
    fetch(hub, "org/tiny", tmp_path / "cache")
    weights = tmp_path / "cache" / "models" / "org--tiny" / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:-9])
    Hub.log.clear()
    assert fetch(hub, "org/tiny", tmp_path / "cache")[0].startswith("BadModelFile")
    assert Hub.log == []
    found = fetch(hub, "org/tiny", tmp_path / "cache", options="verify=True")[0]
    assert found.startswith("found")
    assert weights.read_bytes() == whole
    Hub.log.clear()
    assert fetch(hub, "org/tiny", tmp_path / "cache", options="verify=True")[0].startswith("found")
    assert Hub.log == []


def test_a_file_that_the_engine_would_open_only_later_is_looked_at_when_it_is_pulled(hub, tmp_path):
    """As one of another architecture, which this reader leaves to torch."""
    cut = Hub.folder / "model.safetensors"
    cut.write_bytes(cut.read_bytes()[:-9])
    leaves = "open_folder=lambda name, folder: N(kind='huggingface', path=folder, text=N(load_tokenizer=list))"
    said, _ = fetch(hub, "org/tiny", tmp_path / "cache", "from types import SimpleNamespace as N", leaves)
    assert said.startswith("BadModelFile")
    assert "model.safetensors has " in said
    assert not (tmp_path / "cache" / "models" / "org--tiny").exists()


def test_a_cut_tokenizer_is_not_kept(hub, tmp_path):
    cut = Hub.folder / "tokenizer.json"
    cut.write_bytes(cut.read_bytes()[:500])
    said, _ = fetch(hub, "org/tiny", tmp_path / "cache")
    assert said.startswith("BadModelFile org/tiny/tokenizer.json is not JSON")
    assert not (tmp_path / "cache" / "models" / "org--tiny").exists()


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
def test_damage_that_leaves_a_file_as_long_as_it_was_is_noticed_when_it_is_pulled(hub, tmp_path, name):
    fetch(hub, "org/tiny", tmp_path / "cache")
    file = tmp_path / "cache" / "models" / "org--tiny" / name
    whole = file.read_bytes()
    file.write_bytes(whole[:-9] + b" " * 9)
    assert fetch(hub, "org/tiny", tmp_path / "cache", options="verify=True")[0].startswith("found")
    assert file.read_bytes() == whole


def test_what_lies_beside_a_fetched_model_stays(hub, tmp_path):
    fetch(hub, "org/tiny", tmp_path / "cache")
    folder = tmp_path / "cache" / "models" / "org--tiny"
    (folder / "head.safetensors").write_text("mine")
    Hub.log.clear()
    assert fetch(hub, "org/tiny", tmp_path / "cache", options="verify=True")[0].startswith("found")
    assert Hub.log == []
    (folder / "tokenizer.json").write_text("damaged")
    assert fetch(hub, "org/tiny", tmp_path / "cache", options="verify=True")[0].startswith("found")
    assert Hub.log
    assert (folder / "head.safetensors").read_text() == "mine"


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (["a.gguf", "README.md"], "holds GGUF files (a.gguf); fetch one with `hf download org/tiny FILE"),
        ([f"{i}.gguf" for i in range(9)], "(0.gguf, 1.gguf, 2.gguf, 3.gguf, ...)"),
        (
            ["config.json", "pytorch_model.bin"],
            "neither config.json with *.safetensors nor an OpenVINO IR; a model whose",
        ),
        (["onnx/model.safetensors"], "neither config.json with *.safetensors"),
        ([], "neither config.json with *.safetensors"),
    ],
)
def test_what_no_engine_opens_is_not_fetched(hub, tmp_path, monkeypatch, files, said):
    monkeypatch.setattr(Hub, "files", lambda self: list(map(Path, files)))
    Hub.log.clear()
    found, _ = fetch(hub, "org/tiny", tmp_path / "cache")
    assert found.startswith("UnsupportedModel org/tiny holds ")
    assert said in found
    assert not [path for path in Hub.log if "/resolve/" in path]


@pytest.mark.parametrize("error", [
    "RuntimeError('odd')", "ConnectionResetError(104, 'reset')", "TimeoutError('slow')", "OSError('check failed')",
    "OSError(113, 'no route')", "__import__('socket').gaierror(-3, 'no name')", "__import__('ssl').SSLError(1, 'bad')",
])  # fmt: skip
def test_whatever_the_hub_package_raises_is_one_error(tmp_path, error):
    """It speaks HTTP with packages of its own, whose errors are theirs."""
    prepare = (
        f"import huggingface_hub; huggingface_hub.HfApi.model_info = lambda *a, **k: (_ for _ in ()).throw({error})"
    )
    said, _ = fetch("http://127.0.0.1:9", "org/tiny", tmp_path / "cache", prepare)
    assert said.startswith("PullError org/tiny could not be fetched from the hub: ")


def test_without_the_extra(tmp_path):
    said, _ = fetch("http://127.0.0.1:9", "org/tiny", tmp_path, prepare="sys.modules['huggingface_hub'] = None")
    assert said == "PullError org/tiny is a name on the hub, which needs an extra: pip install 'truedraw[hub]'"
    assert issubclass(PullError, Exception)


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("org/name", True),
        ("Org-1/na.me_2", True),
        ("name", False),
        ("a/b/c", False),
        ("./a", False),
        ("../a", False),
        ("a/", False),
    ],
)
def test_hub_names(name, is_one):
    assert is_hub_name(name) == is_one
