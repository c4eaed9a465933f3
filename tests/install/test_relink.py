# SPDX-License-Identifier: Apache-2.0
"""The command is linked with another elfutils, and works: copies of the archives in which a text was changed.

test_relink.py --relink SCRIPT --dw LIBDW --elf LIBELF --trace FOLDER"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

# A message of each library, and what it becomes.
TEXTS = {
    "dw": (b"no DWARF information\0", b"no dwarf information\0"),
    "elf": (b"invalid file descriptor\0", b"wrong   file descriptor\0"),
}


def changed_copy(archive, old, new, folder):
    data = pathlib.Path(archive).read_bytes()
    if old not in data:
        sys.exit(f"{archive} has no text '{old.decode()}'")
    copy = folder / f"other-{pathlib.Path(archive).name}"
    copy.write_bytes(data.replace(old, new))
    return copy


def output(*command, **options):
    done = subprocess.run([str(word) for word in command], check=False, capture_output=True, text=True, **options)
    if done.returncode not in (0, 1):  # 1: the report has findings
        sys.exit(f"{command} ended with {done.returncode}: {done.stderr}")
    return done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("relink", "dw", "elf", "trace"):
        parser.add_argument(f"--{name}", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gpumemtrace-relink-") as name:
        folder = pathlib.Path(name)
        relinked = folder / "gpumemtrace"
        environment = {**os.environ, "GMT_RELINK_OUTPUT": str(relinked)}
        for library, (old, new) in TEXTS.items():
            copy = changed_copy(getattr(options, library), old, new, folder)
            environment[f"GMT_RELINK_{library.upper()}"] = str(copy)
        linked = subprocess.run(["sh", options.relink], check=False, capture_output=True, text=True, env=environment)
        if linked.returncode != 0:
            sys.exit(f"it does not link:\n{linked.stderr}")
        data = relinked.read_bytes()
        for old, new in TEXTS.values():
            if new not in data or old in data:
                sys.exit(f"it does not contain the other library: '{new.decode()}'")
        if "gpumemtrace" not in output(relinked, "--version"):
            sys.exit("it does not say its version")
        if "SUMMARY: " not in output(relinked, "report", options.trace):
            sys.exit("it writes no report")
    return 0


if __name__ == "__main__":
    sys.exit(main())
