# SPDX-License-Identifier: Apache-2.0
"""Traces become a data set. Dask's workers convert those that they see, beside the data; one process can do it alone."""

import collections
import contextlib
import dataclasses
import hashlib
import json
import logging
import os
import socket
import tempfile
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from gpumemtrace._command import GpumemtraceError
from gpumemtrace.fleet._fold import LONGEST_REPORT, Rows, fold
from gpumemtrace.fleet._packs import Folders
from gpumemtrace.fleet._tables import SCHEMA, TABLES
from gpumemtrace.fleet._traces import Trace, find_traces, trace_name

MARK = "_gpumemtrace.json"
RANKS_PER_FILE = 64
NO_RANK = -1  # `first_rank` of processes that no launcher has numbered


@dataclasses.dataclass
class Converted:
    """`traces` are in the data set now, `known` were before. `problems` says of each other trace why it is not."""

    traces: int = 0
    known: int = 0
    problems: dict[str, str] = dataclasses.field(default_factory=dict)


def convert(
    traces: Iterable[str],
    output: str,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    ranks_per_file: int | None = None,
    step: str | None = None,
    add: bool = False,
    time_limit: float = LONGEST_REPORT,
) -> Converted:
    """Converts traces, and those in folders and packed files, that the patterns `traces` match, into the data set in the folder `output`.

    `workers` processes do it here (default: one for each processor), or the workers of Dask's `scheduler`: each host
    looks for the patterns on its own disks, and converts what it finds there. `output` must be one folder for all. `step`
    is the NVTX range that is a step of the program. With `add` a data set goes on: what it has stays, and is not read
    again. A trace that is not read within `time_limit` seconds is a problem. Raises GpumemtraceError if there is no trace, or the data set cannot be made.
    """
    patterns = list(traces)
    ranks_per_file = _begin(output, ranks_per_file, add)
    known = _known(output) if add else set()
    result = Converted()
    with _client(workers, scheduler) as client:
        found = _find(client if scheduler else None, patterns)
        if not found:
            raise GpumemtraceError(f"no trace at {' '.join(patterns)}")
        new = {trace: hosts for trace, hosts in found.items() if trace.key not in known}
        result.known = len(found) - len(new)
        for part in _run(client, _parts(new, ranks_per_file), output, step, time_limit):
            result.traces += part.traces
            result.problems.update(part.problems)
    return result


def _begin(output: str, ranks_per_file: int | None, add: bool) -> int:
    """Makes the folder, or checks that it is a data set that can go on. The number of ranks in a file."""
    mark = os.path.join(output, MARK)
    if os.path.exists(mark):
        if not add:
            raise GpumemtraceError(f"'{output}' is a data set already; --add adds traces to it")
        try:
            with open(mark, encoding="utf-8") as file:
                written = json.load(file)
            facts = {key: int(written[key]) for key in ("schema", "ranks_per_file")}
            if facts["ranks_per_file"] < 1:
                raise ValueError
        except (OSError, ValueError, TypeError, LookupError) as error:
            raise GpumemtraceError(f"'{mark}' is not what a data set has there") from error
        if facts["schema"] != SCHEMA:
            raise GpumemtraceError(
                f"'{output}' has schema {facts['schema']}; this version adds to schema {SCHEMA} alone"
            )
        if ranks_per_file not in (None, facts["ranks_per_file"]):
            raise GpumemtraceError(f"'{output}' has {facts['ranks_per_file']} ranks in a file; that cannot change")
        return facts["ranks_per_file"]
    try:
        os.makedirs(output, exist_ok=True)
        # Another conversion may make its mark at the same time, such as one on each node.
        if [name for name in os.listdir(output) if name not in TABLES and not name.startswith(MARK)]:
            raise GpumemtraceError(f"'{output}' is a folder with other files, and no data set")
        ranks_per_file = ranks_per_file or RANKS_PER_FILE
        partial = f"{mark}.{socket.gethostname()}.{os.getpid()}"
        with open(partial, "w", encoding="utf-8") as file:
            json.dump({"schema": SCHEMA, "ranks_per_file": ranks_per_file}, file)
        os.replace(partial, mark)
    except OSError as error:
        raise GpumemtraceError(f"no data set can be made in '{output}': {error.strerror}") from error
    return ranks_per_file


def _known(output: str) -> set[tuple[int | None, str]]:
    """The traces that the data set has: those of the tables `process`, which are written last."""
    known = set()
    for folder, _, names in os.walk(os.path.join(output, "process")):
        for name in names:
            if name.endswith(".parquet"):
                table = pq.read_table(os.path.join(folder, name), columns=["rank", "trace"], partitioning=None)
                known.update(zip(table["rank"].to_pylist(), table["trace"].to_pylist()))
    return known


# Dask


@contextlib.contextmanager
def _client(workers: int | None, scheduler: str | None) -> Iterator[Any]:
    """A client of Dask; None where this process is to do the work by itself."""
    workers = workers or len(os.sched_getaffinity(0))
    if scheduler is None and workers == 1:
        yield None
        return
    try:
        import distributed
    except ImportError as error:
        raise GpumemtraceError("several workers need Dask: pip install 'dask[distributed]', or --workers 1") from error
    if scheduler is not None:
        with distributed.Client(scheduler) as client:
            yield client
        return
    with (
        distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=None, silence_logs=logging.ERROR
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def _find(client: Any, patterns: list[str]) -> dict[Trace, list[str] | None]:
    """The traces, in order of ranks, each with the workers that see it; None: any."""
    if client is None:
        return dict.fromkeys(find_traces(patterns))
    seen: dict[tuple[int | None, str], tuple[Trace, list[str]]] = {}
    asked = client.run(find_traces, patterns, workers=_one_of_each_host(client))
    hosts = _workers_of_hosts(client)
    for worker, traces in asked.items():
        for trace in traces:
            # A folder that several hosts share is one trace, one on a host's own disk is that host's.
            seen.setdefault(trace.key, (trace, []))[1].extend(hosts[_host(worker)])
    ordered = sorted(seen.values(), key=lambda each: (each[0].rank is None, each[0].rank or 0, each[0].name))
    return dict(ordered)


def _host(address: str) -> str:
    """The host in "tcp://10.0.0.7:34567"."""
    return address.partition("://")[2].rpartition(":")[0]


def _workers_of_hosts(client: Any) -> dict[str, list[str]]:
    hosts = collections.defaultdict(list)
    for address in client.scheduler_info(n_workers=-1)["workers"]:
        hosts[_host(address)].append(address)
    return hosts


def _one_of_each_host(client: Any) -> list[str]:
    return [addresses[0] for addresses in _workers_of_hosts(client).values()]


Part = tuple[int, list[str], "list[str] | None"]


def _parts(traces: dict[Trace, list[str] | None], ranks_per_file: int) -> list[Part]:
    """First rank of the files, paths, and the workers that see these."""
    parts: dict[tuple[int, tuple[str, ...] | None], list[str]] = collections.defaultdict(list)
    for trace, workers in traces.items():
        first = NO_RANK if trace.rank is None else trace.rank // ranks_per_file * ranks_per_file
        parts[first, None if workers is None else tuple(sorted(workers))].append(trace.path)
    result: list[Part] = []
    for (first, seen_by), paths in parts.items():
        # Ranks may have several processes, and processes without a rank may be many.
        for i in range(0, len(paths), 4 * ranks_per_file):
            result.append((first, paths[i : i + 4 * ranks_per_file], None if seen_by is None else list(seen_by)))
    return result


def _run(client: Any, parts: list[Part], output: str, step: str | None, time_limit: float) -> Iterator[Converted]:
    if client is None:
        for first, paths, _ in parts:
            yield convert_part(first, paths, output, step, time_limit)
        return
    import distributed

    futures = [
        client.submit(convert_part, first, paths, output, step, time_limit, workers=workers, pure=False)
        for first, paths, workers in parts
    ]
    for future in distributed.as_completed(futures):
        yield future.result()


# One part


def convert_part(
    first_rank: int, paths: list[str], output: str, step: str | None, time_limit: float = LONGEST_REPORT
) -> Converted:
    """Converts these traces into one file of each table."""
    columns: Rows = {name: [] for name in TABLES}
    sites: dict[int, tuple[Any, ...]] = {}
    result = Converted()
    with tempfile.TemporaryDirectory(prefix="gpumemtrace-fleet-") as scratch:
        folders = Folders(paths, scratch)
        for path in paths:
            try:
                with folders.folder(path) as folder:
                    rows = fold(folder, scratch, step, time_limit)
                for table, new in rows.items():  # one trace of numbers that fit no table must not end all
                    _columns(table, new)
            except (GpumemtraceError, ArithmeticError, LookupError, TypeError, ValueError) as error:
                why = str(error) if isinstance(error, GpumemtraceError) else f"it has what no trace has: {error!r}"
                result.problems[path] = why
                columns["problem"].append((None, None, trace_name(path), why))
                continue
            sites.update((site[0], site) for site in rows.pop("site"))
            for name, new in rows.items():
                columns[name].extend(new)
            result.traces += 1
    columns["site"] = list(sites.values())
    names = "\n".join(sorted(map(trace_name, paths)))
    name = hashlib.blake2b(names.encode(), digest_size=8).hexdigest()
    for table in sorted(columns, key=lambda table: table == "process"):  # which says that the others are there
        if columns[table]:
            _write(table, columns[table], os.path.join(output, table, f"first_rank={first_rank}"), name)
    return result


def _write(table: str, rows: list[tuple[Any, ...]], folder: str, name: str) -> None:
    columns = _columns(table, rows)
    os.makedirs(folder, exist_ok=True)
    partial = os.path.join(folder, f".{name}.partial")
    pq.write_table(pa.Table.from_arrays(columns, schema=TABLES[table]), partial, compression="zstd")
    os.replace(partial, os.path.join(folder, f"{name}.parquet"))


def _columns(table: str, rows: list[tuple[Any, ...]]) -> list[pa.Array]:
    return [_column(values, field.type) for values, field in zip(zip(*rows), TABLES[table])]


def _column(values: tuple[Any, ...], kind: pa.DataType) -> pa.Array:
    if pa.types.is_dictionary(kind):
        return pa.array(values, kind.value_type).dictionary_encode()
    return pa.array(values, kind)
