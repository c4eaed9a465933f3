# SPDX-License-Identifier: Apache-2.0
"""Recorded traces, and one of them that grows as if its process still ran."""

import pathlib

FIXTURES = pathlib.Path(__file__).resolve().parents[1] / "fixtures"
SLOT, FIRST_SLOT = 64, 4096  # bytes


def trace_in(fixture):
    return next(path for path in pathlib.Path(fixture).iterdir() if path.name.startswith("gpumemtrace."))


class GrowingTrace:
    """Half of a trace's only log, without its end."""

    def __init__(self, source, folder):
        self._source = source
        self.path = pathlib.Path(folder, source.name)
        self.path.mkdir()
        (self._log,) = source.glob("*.log")
        for path in source.iterdir():
            if path.name not in ("complete", self._log.name):
                (self.path / path.name).write_bytes(path.read_bytes())
        (self.path / "incomplete").touch()
        data = self._log.read_bytes()
        self._half = FIRST_SLOT + (len(data) - FIRST_SLOT) // (2 * SLOT) * SLOT
        (self.path / self._log.name).write_bytes(data[: self._half])

    def finish(self):
        """Writes the rest, and how the process ended."""
        with open(self.path / self._log.name, "r+b") as file:
            file.seek(self._half)
            file.write(self._log.read_bytes()[self._half :])
        (self.path / "complete").write_bytes((self._source / "complete").read_bytes())
