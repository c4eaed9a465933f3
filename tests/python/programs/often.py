# SPDX-License-Identifier: Apache-2.0
"""The same line leaks again and again, so that the interpreter comes to run it by other functions of its own."""

from device import leak


def made():
    for _ in range(2):
        yield leak(500)


class Model:
    def step(self):
        return [block for block in made() if block]


for _ in range(50):
    sorted([2, 1], key=lambda number: Model().step() and number)
