# SPDX-License-Identifier: Apache-2.0
"""Programs by name: `@program` registers a function, `main()` runs the one that the command line names."""

import sys

_programs = {}


def program(function):
    _programs[function.__name__] = function
    return function


def main():
    """Exit status: 0 the program ran, 2 no such program. Without a name it lists them, one a line."""
    if len(sys.argv) < 2:
        print("\n".join(_programs))
        return 0
    if sys.argv[1] not in _programs:
        print(f"no program {sys.argv[1]}; there are: {', '.join(_programs)}", file=sys.stderr)
        return 2
    _programs[sys.argv[1]]()
    print(f"{sys.argv[1]}: done")
    return 0
