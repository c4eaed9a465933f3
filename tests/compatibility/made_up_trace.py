# SPDX-License-Identifier: Apache-2.0
"""A trace in which every kind of record, payload word and named value of release 0.1.0 occurs, written byte by byte.

It knows nothing of the repository's schema: it is what lies on disks of users. No call in it makes sense.
"""

import itertools
import struct

NO_API = 0xFFFF
NAME, CONTEXT, EXIT, LOSS, KERNEL, DEVICE, MEMORY_INFO, RANGE, TEXT = range(4, 13)
ALLOC, FREE, COPY, SET, LAUNCH, LIFE, SYNC, NOTE, USE, GRAPH_KERNEL, GRAPH_CHANGE = range(16, 27)
# Of each kind with fields: how many payload words it has, and which of them have how many named values.
FIELDS = {
    CONTEXT: (3, {}),
    EXIT: (2, {0: 5}),
    LOSS: (2, {0: 6}),
    DEVICE: (11, {}),
    MEMORY_INFO: (2, {}),
    RANGE: (4, {0: 10}),
    ALLOC: (11, {2: 20}),
    FREE: (4, {1: 15}),
    COPY: (17, {}),
    SET: (8, {}),
    LAUNCH: (4, {}),
    LIFE: (5, {1: 18, 2: 9}),
    SYNC: (3, {2: 14}),
    NOTE: (4, {}),
    USE: (11, {2: 13}),
    GRAPH_KERNEL: (5, {}),
    GRAPH_CHANGE: (4, {1: 5}),
}
CALLS = range(ALLOC, GRAPH_CHANGE + 1)
FLAGS = {COPY: [32], USE: [1, 2], ALLOC: [1 << 12]}
RESULTS = [1, 2, 700, 0xFFFF]


def slots(kind, order, words, flags=0, result=0):
    """A record: its first slot and those that continue it."""
    rest = [words[at : at + 7] for at in range(4, len(words), 7)]
    api, via = (0, 1) if kind in CALLS else (NO_API, NO_API)
    head = kind | 1 + len(rest) << 8 | api << 16 | flags << 32 | result << 48
    data = struct.pack("<QQQIHH4Q", head, order, 1000 + order, 0, 0, via, *(words + [0] * 4)[:4])
    for more in rest:
        data += struct.pack("<8Q", 1 | 1 << 8, *(more + [0] * 7)[:7])
    return data


def text_words(text):
    data = text.encode().ljust((len(text) + 7) // 8 * 8, b"\0")
    return list(struct.unpack(f"<{len(data) // 8}Q", data))


def records():
    """(kind, words, flags, result) in order."""
    yield NAME, [0x55, 6, *text_words("kernel")], 0, 0
    yield KERNEL, [0x55, 2, 0 | 8 << 32, 8 | 4 << 32], 0, 0
    yield TEXT, [0x99, 4, *text_words("text")], 0, 0
    yield LAUNCH, [0x55, 0, 1 | 2 << 32 | 3 << 48, 4 | 5 << 16 | 6 << 32, 0x7F0000000000], 0, 0
    for kind, (count, named) in FIELDS.items():
        plain = [0x21 + at for at in range(count)]
        plain = [1 if at in named else word for at, word in enumerate(plain)]
        yield kind, plain, 0, 0
        for position, values in named.items():
            for value in range(values):
                yield kind, [value if at == position else word for at, word in enumerate(plain)], 0, 0
        for flag in FLAGS.get(kind, []):
            yield kind, plain, flag, 0
    for result in RESULTS:
        yield FREE, [0x10, 1, 0, 0], 0, result


def write(folder):
    folder.mkdir(parents=True)
    (folder / "info").write_text(
        "format=1.4\ntool=0.1.0\nrun=1\npid=7\nhost=host\nexe=/bin/app\nargc=1\narg.0=app\ndevice=real\n"
    )
    (folder / "apis").write_text("cuCall\ncudaCall\n")
    (folder / "modules").write_text("")
    header = b"GMTLOG1\n" + struct.pack("<IIIIQQ8Q", 1, 4, 7, 7, 1, 1, *[0] * 8)
    order = itertools.count(1)
    (folder / "t7-0.log").write_bytes(
        header.ljust(4096, b"\0")
        + b"".join(slots(kind, next(order), words, flags, result) for kind, words, flags, result in records())
    )
