# SPDX-License-Identifier: Apache-2.0
"""Traces in files that `gpumemtrace pack` has made: tar archives packed by zstd. A member is named FILE/FOLDER.

A file may come from anybody. Only regular files of traces are taken from it, and as many bytes as the command would take.
"""

import contextlib
import os
import shutil
import tarfile
import zlib
from collections.abc import Iterator

import pyarrow as pa

from gpumemtrace._command import GpumemtraceError

_MAGIC = b"\x28\xb5\x2f\xfd"
_FEW_BYTES, _MOST_TIMES = 2 << 30, 200  # as analyzer/command/pack/packed_traces.cpp
LONGEST_INFO = 1 << 20  # bytes


def is_pack(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def members(pack: str) -> dict[str, str]:
    """The file `info` of each trace, by the name of its folder."""
    found = {}
    with _opened(pack) as archive:
        for entry, folder, name in _entries(pack, archive):
            if name == "info":
                file = archive.extractfile(entry)
                assert file is not None
                found[folder] = file.read(LONGEST_INFO).decode("utf-8", "replace")
    return found


class Folders:
    """Folders of traces: those of packs are unpacked below `scratch`, all that are asked for of a pack at once."""

    def __init__(self, paths: list[str], scratch: str):
        self._wanted: dict[str, set[str]] = {}
        for path in paths:
            pack, name = os.path.split(path)
            if not os.path.isdir(path) and is_pack(pack):
                self._wanted.setdefault(pack, set()).add(name)
        self._scratch = scratch
        self._unpacked: dict[str, str] = {}

    @contextlib.contextmanager
    def folder(self, path: str) -> Iterator[str]:
        """The trace's folder; one that was unpacked is gone afterwards."""
        pack, name = os.path.split(path)
        if pack not in self._wanted:
            yield path
            return
        if pack not in self._unpacked:
            into = os.path.join(self._scratch, str(len(self._unpacked)))
            self._unpacked[pack] = into
            _unpack(pack, self._wanted[pack], into)
        folder = os.path.join(self._unpacked[pack], name)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _unpack(pack: str, wanted: set[str], into: str) -> None:
    os.mkdir(into, 0o700)
    most = _FEW_BYTES + _MOST_TIMES * os.path.getsize(pack)
    with _opened(pack) as archive:
        for entry, folder, name in _entries(pack, archive):
            if folder not in wanted:
                continue
            most -= entry.size
            if most < 0:
                raise GpumemtraceError(f"{pack} would unpack to more than a trace does")
            os.makedirs(os.path.join(into, folder), 0o700, exist_ok=True)
            file = archive.extractfile(entry)
            assert file is not None
            with open(os.path.join(into, folder, name), "xb") as output:
                shutil.copyfileobj(file, output, 1 << 20)


@contextlib.contextmanager
def _opened(pack: str) -> Iterator[tarfile.TarFile]:
    try:
        with pa.input_stream(pack, compression="zstd") as stream, tarfile.open(fileobj=stream, mode="r|") as archive:
            yield archive
    except (OSError, EOFError, tarfile.TarError, zlib.error, pa.ArrowException) as error:
        raise GpumemtraceError(f"{pack} cannot be read: {error}") from error


def _entries(pack: str, archive: tarfile.TarFile) -> Iterator[tuple[tarfile.TarInfo, str, str]]:
    for entry in archive:
        folder, _, name = entry.name.removeprefix("./").partition("/")
        if entry.isdir():
            continue
        if not entry.isreg() or not folder.startswith("gpumemtrace.") or "/" in name or name in ("", ".", ".."):
            raise GpumemtraceError(f"{pack} holds more than regular files of traces")
        yield entry, folder, name
