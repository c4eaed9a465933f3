# SPDX-License-Identifier: Apache-2.0
"""Which releases of PyTorch cross the functions that gpumemtrace preloads: of each wheel that PyPI has for the versions that
are named, libc10 has to define one and libc10_cuda to call it, and libtorch_cpu has to call two of its own by their names.
And whether they have the Python functions that say what is
a step, a phase and a part of a model. Only these files are fetched, a part of the wheel at a time:
`wheel_symbols.py 2.4.1 2.11.0`. Status 1 if something is missing."""

import io
import json
import pathlib
import subprocess
import sys
import tempfile
import urllib.request
import zipfile

INDEX = "https://pypi.org/simple/torch/"
CROSSING = "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"
RANGES = ["_ZN5torch8autograd8profiler25record_function_enter_newERK", "_ZN2at14RecordFunction3endEv"]
BUFFER = 1 << 20
FUNCTIONS = {  # by file; analyzer/ looks for their names
    "optim/optimizer.py": ["def profile_hook_step(", "def wrapper("],
    "nn/modules/module.py": ["def _call_impl("],
    "nn/modules/container.py": ["class Sequential("],
    "autograd/function.py": ["class BackwardCFunction(", "def apply("],
    "autograd/profiler.py": ["class record_function("],
    "autograd/graph.py": ["def _engine_run_backward("],
}


class RemoteFile(io.RawIOBase):
    """A file of a server that answers requests for ranges."""

    def __init__(self, url):
        self.url, self.position = url, 0
        with urllib.request.urlopen(urllib.request.Request(url, method="HEAD")) as answer:
            self.size = int(answer.headers["Content-Length"])

    def seekable(self):
        return True

    def readable(self):
        return True

    def tell(self):
        return self.position

    def seek(self, offset, whence=io.SEEK_SET):
        self.position = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self.position, io.SEEK_END: self.size}[whence]
        return self.position

    def readinto(self, buffer):
        count = min(len(buffer), self.size - self.position)
        if count <= 0:
            return 0
        headers = {"Range": f"bytes={self.position}-{self.position + count - 1}"}
        with urllib.request.urlopen(urllib.request.Request(self.url, headers=headers)) as answer:
            data = answer.read()
        buffer[: len(data)] = data
        self.position += len(data)
        return len(data)


def wheel_of(version):
    request = urllib.request.Request(INDEX, headers={"Accept": "application/vnd.pypi.simple.v1+json"})
    with urllib.request.urlopen(request) as answer:
        files = json.load(answer)["files"]
    start = f"torch-{version}-cp311-cp311-manylinux"
    return next((f["url"] for f in files if f["filename"].startswith(start) and "x86_64" in f["filename"]), None)


def has_symbol(library, kind):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "library.so")
        path.write_bytes(library)
        listed = subprocess.run(["nm", "-D", path], capture_output=True, text=True, check=True).stdout
    return f" {kind} {CROSSING}" in listed


def calls_by_name(library, start):
    """Whether it has a slot for a call of an exported function whose name begins so."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "library.so")
        path.write_bytes(library)
        listed = subprocess.run(["readelf", "-rW", path], capture_output=True, text=True, check=True).stdout
    return any("_JUMP_SLO" in line and f" {start}" in line for line in listed.splitlines())


def missing_functions(wheel):
    texts = {file: wheel.read("torch/" + file).decode() for file in FUNCTIONS}
    return [f"{file}: {word}" for file, words in FUNCTIONS.items() for word in words if word not in texts[file]]


def main():
    crosses = True
    for version in sys.argv[1:]:
        url = wheel_of(version)
        if url is None:
            sys.exit(f"PyPI has no wheel of PyTorch {version} for Python 3.11 on x86-64")
        wheel = zipfile.ZipFile(io.BufferedReader(RemoteFile(url), BUFFER))
        defined = has_symbol(wheel.read("torch/lib/libc10.so"), "T")
        called = has_symbol(wheel.read("torch/lib/libc10_cuda.so"), "U")
        print(f"{version}: libc10 {'has' if defined else 'lacks'} it, libc10_cuda {'calls' if called else 'misses'} it")
        library = wheel.read("torch/lib/libtorch_cpu.so")
        ranges = all(calls_by_name(library, name) for name in RANGES)
        print(f"{version}: libtorch_cpu {'calls' if ranges else 'misses'} those of ranges")
        missing = missing_functions(wheel)
        print(f"{version}: Python functions: {', '.join(missing) + ' missing' if missing else 'all'}")
        crosses = crosses and defined and called and ranges and not missing
    sys.exit(0 if crosses else 1)


main()
