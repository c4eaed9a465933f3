# SPDX-License-Identifier: Apache-2.0
"""Damaged copies of traces, the same ones for the same seed: cut, flipped, zeroed, doubled and missing parts.

A log is its header and slots, so half of the damage keeps to slots: that passes the first checks of a reader and
reaches what lies behind them.
"""

import pathlib
import random
import shutil

HEADER_BYTES = 4096
SLOT_BYTES = 64
WORDS = (0, 1, 0xFF, 0xFFFF, 0x7FFFFFFFFFFFFFFF, (1 << 64) - 1, 1 << 32, 0x2001, 0x0103)


def used_bytes(data):
    """Up to the last slot that holds something."""
    end = len(data.rstrip(b"\0"))
    return max((end + SLOT_BYTES - 1) // SLOT_BYTES * SLOT_BYTES, min(len(data), HEADER_BYTES))


def damage_slots(data, chance):
    """One change of whole slots or of whole words in them."""
    slots = (used_bytes(data) - HEADER_BYTES) // SLOT_BYTES
    if slots <= 0:
        return damage_bytes(data, chance)
    first = chance.randrange(slots)
    begin, end = (HEADER_BYTES + at * SLOT_BYTES for at in (first, min(slots, first + chance.randint(1, 3))))
    way = chance.randrange(6)
    if way == 0:
        return data[:begin]
    if way == 1:
        return data[:begin] + data[end:]
    if way == 2:
        return data[:begin] + bytes(end - begin) + data[end:]
    if way == 3:
        return data[:end] + data[begin:end] + data[end:]
    if way == 4:
        at = begin + chance.choice((0, 2, 6))  # kind and slots, function, result
        return data[:at] + chance.randbytes(2) + data[at + 2 :]
    at = begin + 8 * chance.randrange(SLOT_BYTES // 8)
    return data[:at] + chance.choice(WORDS).to_bytes(8, "little") + data[at + 8 :]


def damage_bytes(data, chance):
    """One change anywhere."""
    if not data:
        return chance.randbytes(80)
    at = chance.randrange(max(1, min(len(data), used_bytes(data))))
    way = chance.randrange(5)
    if way == 0:
        return data[:at]
    if way == 1:
        return data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :]
    if way == 2:
        return data[:at] + chance.randbytes(8) + data[at + 8 :]
    length = chance.randint(1, 200)
    return data[:at] + (data[at : at + length] * 2 if way == 3 else b"") + data[at + length :]


def copy_writable(trace, folder):
    shutil.copytree(trace, folder)
    for path in (folder, *folder.iterdir()):
        path.chmod(0o755)


def damaged_copy(trace, folder, seed):
    """Copies the trace directory to `folder` and damages one to three places of it."""
    chance = random.Random(seed)
    copy_writable(trace, pathlib.Path(folder))
    for _ in range(chance.randint(1, 3)):
        files = sorted(path for path in pathlib.Path(folder).iterdir() if path.is_file())
        logs = [path for path in files if path.suffix == ".log"]
        path = chance.choice(logs if logs and chance.random() < 0.7 else files)
        if chance.random() < 0.05 and len(files) > 1:
            path.unlink()
            continue
        change = damage_slots if path.suffix == ".log" and chance.random() < 0.6 else damage_bytes
        path.write_bytes(change(path.read_bytes(), chance))


def unpack_input(data, folder):
    """A fuzz input, "<name>\\n<length>\\n<bytes>" for each file, as a trace directory."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True)
    while data:
        name, _, rest = data.partition(b"\n")
        length, _, rest = rest.partition(b"\n")
        size = int(length) if length.isdigit() else len(rest)
        (folder / pathlib.Path(name.decode(errors="replace")).name).write_bytes(rest[:size])
        data = rest[size:]
