"""A hub on the loopback interface, and a process that fetches from it."""

import hashlib
import json
import subprocess
import sys
import textwrap
from http.server import BaseHTTPRequestHandler
from itertools import count
from pathlib import Path

import truedraw


class Hub(BaseHTTPRequestHandler):
    """Serves org/tiny; org/gated is gated; everything else does not exist.

    Each listing is of another commit, unless one is asked for.
    """

    folder: Path
    log: list
    broken: set
    refusals: list  # (status, headers) of the next requests of lists of files
    busy: dict  # by the name of a file: the same, of the next requests of what it holds
    instead: dict  # by how a path begins or ends: a status, or the page that is served there
    stored: dict  # by the name of a file: how the hub says that it stores it apart
    commits = count(1)

    def do_HEAD(self):
        self.answer(body=False)

    def do_GET(self):
        self.answer(body=True)

    def answer(self, body):
        path = self.path.partition("?")[0]
        self.log.append(path)
        found = [what for part, what in self.instead.items() if path.startswith(part) or path.endswith(part)]
        if found and isinstance(found[0], bytes):
            self.send(found[0], body, "text/html")
        elif found:
            self.refuse("Forbidden", found[0])
        elif body and "/resolve/" in path and self.busy.get(path.rpartition("/")[2]):
            self.refuse("Busy", *self.busy[path.rpartition("/")[2]].pop(0))
        elif path.startswith("/api/models/org/tiny") and self.refusals:
            self.refuse("Busy", *self.refusals.pop(0))
        elif path.startswith("/api/models/org/tiny/tree/"):
            self.send(json.dumps([self.listed(f) for f in self.files()]).encode(), body, "application/json")
        elif path.startswith("/api/models/org/tiny"):
            siblings = [self.told(file) for file in self.files()]
            _, _, asked = path.partition("/revision/")
            commit = asked or format(next(self.commits), "040x")
            listing = {"_id": "1", "id": "org/tiny", "modelId": "org/tiny", "sha": commit, "siblings": siblings}
            self.send(json.dumps(listing).encode(), body, "application/json")
        elif path.startswith("/org/tiny/resolve/"):
            self.send(
                (self.folder / path.split("/", 5)[5]).read_bytes(),
                body,
                broken=path.rpartition("/")[2] in self.broken,
            )
        else:
            self.refuse("GatedRepo" if "gated" in path else "RepoNotFound", 403 if "gated" in path else 404)

    def files(self):
        return sorted(each for each in self.folder.rglob("*") if not each.is_dir())

    def name_of(self, file):
        return file.relative_to(self.folder).as_posix() if file.is_absolute() else file.as_posix()

    def told(self, file):
        name = self.name_of(file)
        return {"rfilename": name, "size": size(file), "lfs": self.stored.get(name)}

    def listed(self, file):
        data = file.read_bytes()
        oid = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
        return {"type": "file", "oid": oid, "size": len(data), "path": self.name_of(file)}

    def send(self, data, body, kind="application/octet-stream", broken=False):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("ETag", f'"{hashlib.sha1(data).hexdigest()}"')
        self.send_header("X-Repo-Commit", (self.path.split("/") + [""] * 4)[4])
        self.end_headers()
        if body:
            self.wfile.write(data[: len(data) // 2] if broken else data)

    def refuse(self, code, status, headers=None):
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("X-Error-Code", code)
        self.send_header("X-Error-Message", code)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args):
        pass


def size(file):
    return file.stat().st_size if file.exists() else 0


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
