# SPDX-License-Identifier: Apache-2.0
"""Kills the command that answers questions about this process."""

import os
import signal


def kill():
    killed = 0
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8") as file:
                parent = int(file.read().rpartition(")")[2].split()[1])
            with open(f"/proc/{name}/cmdline", "rb") as file:
                is_follower = b"\0follow\0" in file.read()
        except OSError:
            continue  # it has ended
        if parent == os.getpid() and is_follower:
            os.kill(int(name), signal.SIGKILL)
            killed += 1
    assert killed == 1, killed
