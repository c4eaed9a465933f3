# SPDX-License-Identifier: Apache-2.0
"""Whether memory grows from step to step, and since when."""

FEWEST_STEPS = 8  # less often is no loop
FEWEST_RISES = 4
SMALLEST_GROWTH = 64 << 10  # bytes


def growth_of(values: list[int]) -> tuple[int, int] | None:
    """Since which of the steps memory grows until the end, and by how many bytes; None if it does not.

    `values` is what was alive at the end of each step. What counts is the floor: the least that was alive at a step's end
    or at any later one, to which memory comes back. It must rise again and again, never with a pause longer than an eighth
    of the steps, and in all by more than what came back at once before. A jump while the program sets up, or a single one
    later, is no growth.
    """
    floor, floors = None, []
    for value in reversed(values):
        floor = value if floor is None else min(floor, value)
        floors.append(floor)
    floors.reverse()
    rises = [i for i in range(1, len(floors)) if floors[i] > floors[i - 1]]
    longest = max(len(values) // 8, 2)
    kept = 0
    following = len(values)
    for rise in reversed(rises):
        if following - rise > longest:
            break
        following = rise
        kept += 1
    if kept < FEWEST_RISES:
        return None
    size = floors[-1] - floors[following - 1]
    most = given_back = 0
    for value in values[:following]:
        most = max(most, value)
        given_back = max(given_back, most - value)
    if size < SMALLEST_GROWTH or size <= given_back or len(values) - following < FEWEST_STEPS:
        return None
    return following, size
