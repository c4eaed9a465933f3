# SPDX-License-Identifier: Apache-2.0
"""The tables of a data set and their columns. Bytes are bytes, times nanoseconds from the process's first CUDA call.

Each table is a folder of Parquet files, `TABLE/first_rank=N/NAME.parquet`; a file holds neighbouring ranks. Every row has
`rank` (null where no launcher gave one), `host` and `trace`, the name of the trace's folder, which is one process.
"""

import pyarrow as pa

SCHEMA = 1  # tables and columns are only added while it is the same

_TEXT = pa.string()
_WORD = pa.dictionary(pa.int32(), pa.string())
_NUMBER = pa.int64()
_WHOSE = [("rank", pa.int32()), ("host", _WORD), ("trace", _WORD)]


def _schema(*columns: tuple[str, pa.DataType]) -> pa.Schema:
    return pa.schema([*_WHOSE, *columns])


TABLES: dict[str, pa.Schema] = {
    "process": _schema(
        ("pid", _NUMBER),
        ("program", _WORD),
        ("arguments", _TEXT),
        ("device", _WORD),
        ("driver_version", _WORD),
        ("began", pa.timestamp("ns", tz="UTC")),
        ("duration_ns", _NUMBER),
        ("ended", _WORD),
        ("exit_status", _NUMBER),
        ("signal", _NUMBER),
        ("events", _NUMBER),
        ("allocations", _NUMBER),
        ("frees", _NUMBER),
        ("launches", _NUMBER),
        ("copies", _NUMBER),
        ("copied_bytes", _NUMBER),
        ("peak_bytes", _NUMBER),
        ("peak_ns", _NUMBER),
        ("live_bytes", _NUMBER),
        ("lost_events", _NUMBER),
        ("errors", _NUMBER),
        ("warnings", _NUMBER),
        ("steps", _NUMBER),
        ("step_name", _WORD),
        ("step_median_ns", _NUMBER),
    ),
    "memory": _schema(
        ("begin_ns", _NUMBER),
        ("end_ns", _NUMBER),
        ("device_bytes", _NUMBER),
        ("device_peak_bytes", _NUMBER),
        ("host_bytes", _NUMBER),
        ("tensor_bytes", _NUMBER),
    ),
    "step": _schema(
        ("step", _NUMBER),
        ("steps", _NUMBER),
        ("begin_ns", _NUMBER),
        ("end_ns", _NUMBER),
        ("device_bytes", _NUMBER),
        ("device_peak_bytes", _NUMBER),
        ("tensor_bytes", _NUMBER),
        ("floor_bytes", _NUMBER),
    ),
    "growth": _schema(
        ("site", _NUMBER),
        ("since_step", _NUMBER),
        ("until_step", _NUMBER),
        ("since_ns", _NUMBER),
        ("bytes", _NUMBER),
        ("bytes_per_step", pa.float64()),
    ),
    "holder": _schema(("moment", _WORD), ("site", _NUMBER), ("bytes", _NUMBER), ("blocks", _NUMBER)),
    "finding": _schema(
        ("kind", _WORD),
        ("severity", _WORD),
        ("fingerprint", _WORD),
        ("message", _TEXT),
        ("advice", _WORD),
        ("bytes", _NUMBER),
        ("count", _NUMBER),
        ("api", _WORD),
        ("owner", _WORD),
        ("ranges", _WORD),
        ("site", _NUMBER),
    ),
    "site": pa.schema([("site", _NUMBER), ("line", _WORD), ("stack", _TEXT)]),
    "problem": _schema(("why", _TEXT)),
}
