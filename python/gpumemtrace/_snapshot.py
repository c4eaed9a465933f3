# SPDX-License-Identifier: Apache-2.0
"""What this process holds now."""

import dataclasses
from typing import Any

from gpumemtrace import _follower
from gpumemtrace._report import Stack, stack_of


@dataclasses.dataclass(frozen=True)
class LiveBlocks:
    """Blocks that one line allocated and that are alive.

    `family` is the kind of memory ("device memory", "pinned host memory"). `device` is its number, None for memory of
    the host. `range` names the NVTX ranges that were open at the first of them, `owner` a library that is known to
    keep such blocks ("PyTorch's caching allocator"); both may be None.
    """

    bytes: int
    blocks: int
    family: str
    device: int | None
    range: str | None
    owner: str | None
    stack: Stack


@dataclasses.dataclass(frozen=True)
class LiveTensors:
    """Tensors of PyTorch that one line made and that are alive: blocks inside those of its cache.

    `owner` is what keeps them as long as the process lives ("PyTorch's cuBLAS workspace"), None where the program does.
    `model_part` is the part of a model that they were made in ("layer4.*.conv3"), None outside of one.
    """

    bytes: int
    blocks: int
    device: int | None
    owner: str | None
    stack: Stack
    model_part: str | None


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """`live_bytes` and `peak_bytes` are of device memory. `blocks` has all kinds, those of most bytes first.

    `tensors` lie inside of `blocks`, and are no part of the sums.
    """

    live_bytes: int
    peak_bytes: int
    blocks: list[LiveBlocks]
    tensors: list[LiveTensors]
    json: dict[str, Any] = dataclasses.field(repr=False)


def snapshot() -> Snapshot:
    """The blocks that are alive in this process, by call stack; none before its first CUDA call.

    The command reads them from the trace, so CUDA is not asked and no call waits. The first snapshot of a process
    reads the whole trace, later ones what is new. Raises GpumemtraceError if the process is not traced.
    """
    answer = _follower.ask("snapshot")
    blocks = [_live_blocks(one) for one in answer["blocks"]]
    tensors = [live_tensors(one) for one in answer["tensors"]]
    return Snapshot(answer["live_bytes"], answer["peak_bytes"], blocks, tensors, answer)


def live_tensors(one: dict[str, Any]) -> LiveTensors:
    stack = stack_of(one["stack"])
    return LiveTensors(one["bytes"], one["blocks"], one["device"], one["owner"], stack, one["model_part"])


def _live_blocks(one: dict[str, Any]) -> LiveBlocks:
    return LiveBlocks(
        one["bytes"],
        one["blocks"],
        one["family"],
        one["device"],
        one["range"],
        one["owner"],
        stack_of(one["stack"]),
    )
