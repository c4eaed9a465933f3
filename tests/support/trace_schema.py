# SPDX-License-Identifier: Apache-2.0
"""The records of a trace as trace/records.def has them, and the enumerations of trace/vocabulary.def and
trace/object_classes.def, by name.

RECORDS["alloc"].fields["address"].word       numbers of payload words; of a field or of its other names
enumeration("UseClass").GRAPH_NODE            kGraphNode, as a number
"""

import enum
import pathlib
import re

TRACE = pathlib.Path(__file__).resolve().parents[2] / "trace"
FIRST_WORDS, MORE_WORDS = 4, 7  # of a record's first slot, and of each further one
STRING = r'"((?:[^"\\]|\\.)*)"'
ROW = re.compile(r"^(RECORD|FIELD|ALIAS|REST|END_RECORD)\((.*)\)$")


class Field:
    """One payload word: its number, name, form, column of `dump` and meaning; `other_names` are (name, form, when)."""

    def __init__(self, word, name, form, column, since, meaning):
        self.word, self.name, self.form, self.column, self.since = int(word), name, form, column, int(since)
        self.meaning, self.other_names = meaning, []


class RecordType:
    """One kind of record; `name` as in trace/format.h without its k, `what` in the words of `dump` and of the tests."""

    def __init__(self, name, number, what, since, meaning):
        self.name, self.number, self.what, self.since, self.meaning = name, int(number), what, int(since), meaning
        self.in_order, self.fields = [], {}  # fields in their order; by all of their names
        self.rest = None  # (name, form, since, meaning) of the words behind them

    @property
    def is_call(self):
        return 16 <= self.number < 30


def words_of(row):
    """What stands between the commas of a row; strings without their quotes."""
    found = re.findall(rf"{STRING}|([^,\s][^,]*)", row)
    return [string or word.strip() for string, word in found]


def read_records(path=TRACE / "records.def"):
    records = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        row = ROW.match(line)
        if not row:
            if line and not line.startswith("//"):
                raise ValueError(f"{path}:{number}: no row: {line}")
            continue
        words = words_of(row[2])
        if row[1] == "RECORD":
            record = RecordType(*words)
            records[record.what] = record
        elif words[0] != record.name:
            raise ValueError(f"{path}:{number}: {words[0]} inside {record.name}")
        elif row[1] == "FIELD":
            field = Field(*words[1:])
            if field.word != len(record.in_order) or field.name in record.fields:
                raise ValueError(f"{path}:{number}: out of order, or twice")
            record.in_order.append(field)
            record.fields[field.name] = field
        elif row[1] == "ALIAS":
            field = record.fields[words[2]]
            field.other_names.append((words[1], words[3], words[4]))
            record.fields[words[1]] = field
        elif row[1] == "REST":
            record.rest = (words[1], words[2], int(words[3]), words[4])
    return records


class Enumeration:
    """An enumeration of a table; `values` are (member, number, word of `dump`, since, meaning)."""

    def __init__(self, name, meaning):
        self.name, self.meaning, self.values = name, meaning, []


def read_enumerations():
    return read_file(TRACE / "vocabulary.def") | read_file(TRACE / "object_classes.def")


def read_file(path):
    found = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        row = re.match(r"GMT_(ENUM|VALUE|END_ENUM|OBJECT)\((.*)\)$", line)
        if not row:
            if line and not line.startswith(("//", "#")):
                raise ValueError(f"{path}:{number}: no row: {line}")
            continue
        words = words_of(row[2])
        if row[1] == "OBJECT":
            continue  # what the analyzer says of a class
        if row[1] == "ENUM":
            enumeration_ = found[words[0]] = Enumeration(*words)
        elif words[0] != enumeration_.name:
            raise ValueError(f"{path}:{number}: {words[0]} inside {enumeration_.name}")
        elif row[1] == "VALUE":
            member, value, word, since, meaning = words[1:]
            if any(value == str(known[1]) or word == known[2] for known in enumeration_.values):
                raise ValueError(f"{path}:{number}: {value} or '{word}' twice in {enumeration_.name}")
            enumeration_.values.append((member, int(value), word, int(since), meaning))
    return found


def enumeration(name):
    """An enumeration as an IntEnum: GraphNode is GRAPH_NODE."""
    return enum.IntEnum(
        name,
        {
            re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", member).upper(): value
            for member, value, *_ in ENUMERATIONS[name].values
        },
    )


def pack_grid(x, y, z):
    return x | y << 32 | z << 48


def pack_block_extents(x, y, z):
    return x | y << 16 | z << 32


def argument_word(address, parameter):
    return address | parameter << 57


def unpack_ticket(word):
    """(sub-ring, ticket) of a device record, in which this word stands where others have the time of the call."""
    return word >> 56, word & ((1 << 56) - 1)


RECORDS = read_records()
ENUMERATIONS = read_enumerations()
