# SPDX-License-Identifier: Apache-2.0
"""Questions about this process while it runs. `gpumemtrace follow` answers them from the trace on disk."""

import atexit
import json
import os
import subprocess
import threading
from typing import Any

from gpumemtrace._command import GpumemtraceError, command_path
from gpumemtrace._process import is_traced


class Follower:
    """Starts the command at the first question, and again in a process that was forked since."""

    def __init__(self, *options: str):
        self._options = options
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._asked_by: int | None = None

    def ask(self, question: str) -> dict[str, Any]:
        """The answer, as docs/follow.md says. Raises GpumemtraceError if there is none."""
        with self._lock:
            process = self._running()
            try:
                process.stdin.write(json.dumps({"do": question}) + "\n")
                process.stdin.flush()
                line = process.stdout.readline()
            except OSError:
                line = ""
            if not line:
                raise GpumemtraceError(self._last_words(process))
            return json.loads(line)

    def close(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        for pipe in (process.stdin, process.stdout, process.stderr):
            try:
                pipe.close()
            except OSError:
                continue  # what was left to write is not needed
        if self._asked_by == os.getpid():
            process.wait()

    def _running(self) -> "subprocess.Popen[str]":
        if self._asked_by != os.getpid():
            self.close()  # it follows the parent
        if self._process is None:
            self._process, self._asked_by = self._start(), os.getpid()
        return self._process

    def _start(self) -> "subprocess.Popen[str]":
        if not is_traced():
            raise GpumemtraceError("this process is not traced; start it with 'gpumemtrace python3 ...'")
        pipe = subprocess.PIPE
        return subprocess.Popen(
            [command_path(), "follow", *self._options, str(os.getpid())],
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            text=True,
            encoding="utf-8",
        )

    def _last_words(self, process: "subprocess.Popen[str]") -> str:
        self._process = None
        _, errors = process.communicate()
        return errors.strip() or f"'gpumemtrace follow' ended with status {process.returncode}"


_of_this_process = Follower()
atexit.register(_of_this_process.close)


def ask(question: str) -> dict[str, Any]:
    return _of_this_process.ask(question)
