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

_ALONE = ("begin", "snapshot")  # questions that need nothing of what was asked before


class Follower:
    """Starts the command at the first question, and again in a process that was forked since."""

    def __init__(self, *options: str):
        self._options = options
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._of_parents: list[subprocess.Popen[str] | None] = []
        os.register_at_fork(after_in_child=self._begin_anew)

    def ask(self, question: str) -> dict[str, Any]:
        """The answer, as docs/follow.md says. Raises GpumemtraceError if there is none. The next question has a new
        follower then; one that needs nothing of the earlier questions has it at once."""
        with self._lock:
            is_new = self._process is None
            line, words = self._answer(question)
            if not line and not is_new and question in _ALONE:
                line, words = self._answer(question)
            if not line:
                raise GpumemtraceError(words)
            return json.loads(line)

    def _answer(self, question: str) -> tuple[str, str]:
        """The line, or an empty one and why."""
        if self._process is None:
            self._process = self._start()
        process = self._process
        try:
            process.stdin.write(json.dumps({"do": question}) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except OSError:
            line = ""
        return (line, "") if line else ("", self._last_words(process))

    def close(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        for pipe in (process.stdin, process.stdout, process.stderr):
            try:
                pipe.close()
            except OSError:
                continue  # what was left to write is not needed
        process.wait()

    def _begin_anew(self) -> None:
        """In a forked process. The parent's pipes stay as they are: another thread may have been writing to one."""
        self._lock = threading.Lock()
        self._of_parents.append(self._process)
        self._process = None

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
        try:
            _, errors = process.communicate()
        except OSError:  # what was left to write
            process.wait()
            errors = process.stderr.read()
        status = process.returncode
        how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
        return errors.strip() or f"'gpumemtrace follow' {how}"


_of_this_process = Follower()
atexit.register(_of_this_process.close)


def ask(question: str) -> dict[str, Any]:
    return _of_this_process.ask(question)
