# SPDX-License-Identifier: Apache-2.0
"""Where the command of this package is, and running it."""

import functools
import os
import pathlib
import subprocess


class GpumemtraceError(RuntimeError):
    """What was asked for cannot be had. The message says why, and what to do."""


def command_path() -> str:
    """Path of the command; $GPUMEMTRACE_COMMAND names another one."""
    given = os.environ.get("GPUMEMTRACE_COMMAND")
    path = given or str(pathlib.Path(__file__).parent / "install" / "bin" / "gpumemtrace")
    if not os.access(path, os.X_OK):
        raise GpumemtraceError(f"'{path}' is no command; install the package again, from its wheel")
    return path


def output_of(*words: str) -> str:
    """What the command prints. Its status 1 says that there are findings."""
    done = subprocess.run([command_path(), *words], check=False, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise GpumemtraceError(done.stderr.strip() or f"'gpumemtrace {words[0]}' ended with status {done.returncode}")
    return done.stdout


@functools.cache
def finding_kinds() -> frozenset[str]:
    """The kinds of findings that the command knows: the first column of `gpumemtrace help findings`."""
    table = output_of("help", "findings").partition("\n\n")[0]
    return frozenset(line.split()[0] for line in table.splitlines())
