# SPDX-License-Identifier: Apache-2.0
"""The command. It takes this process's place, so that signals, output and exit status are its own."""

import os
import sys

from gpumemtrace._command import GpumemtraceError, command_path


def main() -> None:
    try:
        path = command_path()
        os.execv(path, [path, *sys.argv[1:]])
    except (GpumemtraceError, OSError) as error:
        sys.exit(f"gpumemtrace: {error}")


if __name__ == "__main__":
    main()
