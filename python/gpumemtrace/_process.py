# SPDX-License-Identifier: Apache-2.0
"""Whether and where this process is traced."""

import glob
import os

# The folder may be shared: a link or a pipe in the place of another's file is no trace.
_CAREFULLY = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def is_traced() -> bool:
    """Whether this process was started by `gpumemtrace` and its CUDA calls are recorded."""
    return bool(os.environ.get("GPUMEMTRACE_RUN")) and "libgpumemtrace" in os.environ.get("LD_PRELOAD", "")


def trace_folder() -> str | None:
    """The folder of this process's trace; None before its first CUDA call, and where it is not traced."""
    if not is_traced():
        return None
    folder = os.environ.get("GPUMEMTRACE_DIR", os.getcwd())
    wanted = {f"pid={os.getpid()}", f"run={os.environ['GPUMEMTRACE_RUN']}"}
    for info in glob.glob(os.path.join(glob.escape(folder), "gpumemtrace.*", "info")):
        try:
            with open(os.open(info, _CAREFULLY), encoding="utf-8", errors="replace") as file:
                if wanted <= set(file.read().splitlines()):
                    return os.path.dirname(info)
        except OSError:
            continue  # of another process, which has ended meanwhile
    return None
