# SPDX-License-Identifier: Apache-2.0
"""Questions to a data set. Each is two statements of SQL: one over the tables, and one over the rows that it gave.

DuckDB answers both here. With Dask its workers ask the first one, each of the files of some ranks, and the second one joins
their answers. All rows of a rank lie in files of one `first_rank`, so the first statement may count ranks.
"""

import dataclasses
import glob
import json
import os
from typing import Any

import duckdb
import pyarrow as pa

from gpumemtrace._command import GpumemtraceError
from gpumemtrace.fleet._convert import MARK
from gpumemtrace.fleet._tables import SCHEMA, TABLES

Row = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Question:
    """What it asks, in words; the statements; their parameters with the values that they have unless others are given."""

    words: str
    first: str
    second: str = "SELECT * FROM part"
    parameters: dict[str, Any] = dataclasses.field(default_factory=dict)


_GROWTH = """
WITH lines AS (
  SELECT trace, host, site, bytes, row_number() OVER (PARTITION BY trace, host ORDER BY bytes DESC) AS place,
    count(*) OVER (PARTITION BY trace, host) AS lines
  FROM growth WHERE site IS NOT NULL)
SELECT w.rank, w.host, w.trace, p.step_name, w.since_step, w.until_step, w.since_ns, w.bytes, w.bytes_per_step,
  l.bytes AS line_bytes, coalesce(l.lines, 0) AS lines, s.line, s.stack
FROM growth w
JOIN process p ON p.trace = w.trace AND p.host = w.host AND p.rank IS NOT DISTINCT FROM w.rank
LEFT JOIN lines l ON l.trace = w.trace AND l.host = w.host AND l.place = 1
LEFT JOIN site s ON s.site = l.site
WHERE w.site IS NULL
"""

_FINDINGS = """
WITH ranks AS (SELECT first_rank, count(DISTINCT coalesce(rank::VARCHAR, trace)) AS all_ranks FROM process GROUP BY 1),
found AS (
  SELECT f.first_rank, f.fingerprint, f.kind, f.severity, min(f.message) AS message, min(s.line) AS line,
    min(s.stack) AS stack, count(DISTINCT coalesce(f.rank::VARCHAR, f.trace)) AS ranks, min(f.rank) AS lowest,
    max(f.rank) AS highest, sum(f.bytes) AS bytes, sum(f.count) AS count
  FROM finding f LEFT JOIN site s USING (site)
  GROUP BY 1, 2, 3, 4)
SELECT * FROM ranks LEFT JOIN found USING (first_rank)
"""

_FINDINGS_JOINED = """
WITH total AS (SELECT sum(all_ranks) AS all_ranks FROM (SELECT DISTINCT first_rank, all_ranks FROM part))
SELECT kind, severity, sum(ranks)::BIGINT AS ranks, round(sum(ranks) / any_value(total.all_ranks), 4) AS share,
  min(lowest) AS lowest_rank, max(highest) AS highest_rank, sum(count)::BIGINT AS count, sum(bytes)::BIGINT AS bytes,
  min(line) AS line, min(stack) AS stack, min(message) AS message, fingerprint
FROM part, total WHERE fingerprint IS NOT NULL
GROUP BY fingerprint, kind, severity
HAVING sum(ranks) >= $share * any_value(total.all_ranks)
ORDER BY list_position(['error', 'warning', 'note'], severity), ranks DESC, bytes DESC, fingerprint
"""

_PEAK = """
WITH most AS (
  SELECT trace, host, site, bytes, row_number() OVER (PARTITION BY trace, host ORDER BY bytes DESC) AS place
  FROM holder WHERE moment = 'peak')
SELECT p.rank, p.host, p.trace, p.peak_bytes, p.peak_ns, p.live_bytes, m.bytes AS line_bytes, s.line, s.stack
FROM process p
LEFT JOIN most m ON m.trace = p.trace AND m.host = p.host AND m.place = 1
LEFT JOIN site s ON s.site = m.site
"""

_HOSTS = """
SELECT host, count(*) AS processes, count(DISTINCT rank) AS ranks, min(rank) AS lowest_rank, max(rank) AS highest_rank,
  max(peak_bytes) AS largest_peak, min(peak_bytes) AS least_peak, sum(peak_bytes)::BIGINT AS peaks_added_up
FROM process GROUP BY host
"""

_HOSTS_JOINED = """
SELECT host, sum(processes)::BIGINT AS processes, sum(ranks)::BIGINT AS ranks, min(lowest_rank) AS lowest_rank,
  max(highest_rank) AS highest_rank, max(largest_peak) AS largest_peak, min(least_peak) AS least_peak,
  sum(peaks_added_up)::BIGINT AS peaks_added_up
FROM part GROUP BY host ORDER BY largest_peak DESC, host
"""

# Figures of ranks as rows: what, the call stack or nothing, value.
_COMPARE = """
WITH near AS (SELECT * FROM process WHERE rank BETWEEN $rank - $neighbours AND $rank + $neighbours),
figures AS (
  SELECT rank, what, NULL AS stack, sum(value)::DOUBLE AS value
  FROM (UNPIVOT (SELECT rank, peak_bytes, live_bytes, allocations, frees, launches, copies, copied_bytes, duration_ns,
                   step_median_ns, steps, lost_events, coalesce(exit_status, 0) AS exit_status, coalesce(signal, 0) AS signal
                 FROM near)
        ON COLUMNS(* EXCLUDE rank) INTO NAME what VALUE value) GROUP BY ALL
  UNION ALL
  SELECT h.rank, 'bytes held at the peak', s.stack, sum(h.bytes)::DOUBLE FROM holder h JOIN site s USING (site)
  WHERE h.moment = 'peak' AND h.rank BETWEEN $rank - $neighbours AND $rank + $neighbours GROUP BY ALL
  UNION ALL
  SELECT f.rank, 'finding ' || f.kind, coalesce(s.stack, f.fingerprint), sum(f.count)::DOUBLE
  FROM finding f LEFT JOIN site s USING (site)
  WHERE f.rank BETWEEN $rank - $neighbours AND $rank + $neighbours GROUP BY ALL
  UNION ALL
  SELECT g.rank, 'bytes grown', s.stack, sum(g.bytes)::DOUBLE FROM growth g LEFT JOIN site s USING (site)
  WHERE g.rank BETWEEN $rank - $neighbours AND $rank + $neighbours GROUP BY ALL)
SELECT r.rank, figures.* EXCLUDE rank FROM (SELECT DISTINCT rank FROM near) r LEFT JOIN figures USING (rank)
"""

# What a rank has not counts as 0. A figure differs where fewer than a quarter of the neighbours are as far from their median,
# and it is a twentieth off; times are a fifth off anyway.
_COMPARE_JOINED = """
WITH ranks AS (SELECT DISTINCT rank FROM part), keys AS (SELECT DISTINCT what, stack FROM part WHERE what IS NOT NULL),
filled AS (
  SELECT r.rank, k.what, k.stack, coalesce(p.value, 0) AS value FROM ranks r CROSS JOIN keys k
  LEFT JOIN part p ON p.rank = r.rank AND p.what = k.what AND p.stack IS NOT DISTINCT FROM k.stack),
compared AS (
  SELECT what, stack, max(value) FILTER (WHERE rank = $rank) AS here,
    list(value) FILTER (WHERE rank <> $rank) AS others, median(value) FILTER (WHERE rank <> $rank) AS median
  FROM filled GROUP BY what, stack)
SELECT what, here, median, list_min(others) AS least, list_max(others) AS most, split_part(stack, chr(10), 1) AS line, stack
FROM compared
WHERE abs(here - median) > (CASE WHEN what LIKE '%_ns' THEN 0.2 ELSE 0.05 END) * abs(median)
  AND 4 * len(list_filter(others, lambda other: abs(other - median) >= abs(here - median))) < len(others)
ORDER BY abs(here - median) / greatest(abs(here), abs(median)) DESC, what, line
"""

QUESTIONS: dict[str, Question] = {
    "growth": Question(
        "which rank grows, since which step, and by which line",
        _GROWTH,
        "SELECT * FROM part ORDER BY bytes DESC, rank, trace",
    ),
    "findings": Question(
        "findings that many ranks have: a share of them, 0.5 is half", _FINDINGS, _FINDINGS_JOINED, {"share": 0.5}
    ),
    "peak": Question(
        "the most device memory of each rank, and the line that held most of it",
        _PEAK,
        "SELECT * FROM part ORDER BY peak_bytes DESC, rank, trace",
    ),
    "hosts": Question("peaks by host", _HOSTS, _HOSTS_JOINED),
    "compare": Question(
        "what differs between a rank and its neighbours", _COMPARE, _COMPARE_JOINED, {"rank": None, "neighbours": 8}
    ),
    "problems": Question(
        "traces that could not be converted",
        "SELECT trace, why FROM problem WHERE trace NOT IN (SELECT trace FROM process) ORDER BY trace",
    ),
}


def ask(data: str, question: str, *, scheduler: str | None = None, **parameters: Any) -> list[Row]:
    """The answer to one of QUESTIONS, by rows. With `scheduler` Dask's workers read the files.

    Raises GpumemtraceError for what is no data set, no question, or lacks a parameter.
    """
    if question not in QUESTIONS:
        raise GpumemtraceError(f"'{question}' is no question; there are: {', '.join(QUESTIONS)}")
    asked = QUESTIONS[question]
    unknown = set(parameters) - set(asked.parameters)
    values = {**asked.parameters, **parameters}
    missing = [name for name, value in values.items() if value is None]
    if unknown or missing:
        raise GpumemtraceError(f"'{question}' takes: {', '.join(asked.parameters) or 'nothing'}")
    _check(data)
    if scheduler is None:
        parts = [answer_of(data, asked.first, values)]
    else:
        parts = _ask_workers(scheduler, data, asked.first, values)
    with duckdb.connect() as base:
        base.register("part", pa.concat_tables(parts))
        if "rank" in values:
            found = base.execute("SELECT count(*) FROM part WHERE rank = $rank", {"rank": values["rank"]}).fetchone()
            if found == (0,):
                raise GpumemtraceError(f"there is no rank {values['rank']} in '{data}'")
        return _rows(base.execute(asked.second, _used(asked.second, values)))


def query(data: str, statement: str) -> list[Row]:
    """Rows of any SQL of DuckDB's, with the tables of the data set as views."""
    _check(data)
    with duckdb.connect() as base:
        _make_views(base, data, "*")
        try:
            return _rows(base.execute(statement))
        except duckdb.Error as error:
            raise GpumemtraceError(f"DuckDB says: {error}") from error


def answer_of(data: str, statement: str, values: dict[str, Any], first_rank: str = "*") -> pa.Table:
    """Of the files of one `first_rank`, or of all."""
    with duckdb.connect() as base:
        base.execute("SET threads = 1" if first_rank != "*" else "SET preserve_insertion_order = false")
        _make_views(base, data, first_rank)
        return base.sql(statement, params=_used(statement, values)).to_arrow_table()


def _ask_workers(scheduler: str, data: str, statement: str, values: dict[str, Any]) -> list[pa.Table]:
    import distributed

    firsts = [
        os.path.basename(path).partition("=")[2] for path in glob.glob(os.path.join(glob.escape(data), "process", "*"))
    ]
    with distributed.Client(scheduler) as client:
        futures = client.map(lambda first: answer_of(data, statement, values, first), sorted(firsts), pure=False)
        return list(client.gather(futures))


def _check(data: str) -> None:
    try:
        with open(os.path.join(data, MARK), encoding="utf-8") as file:
            schema = json.load(file)["schema"]
    except (OSError, ValueError, KeyError) as error:
        raise GpumemtraceError(f"'{data}' is no data set; 'convert' makes one") from error
    if schema > SCHEMA:
        raise GpumemtraceError(
            f"'{data}' has schema {schema}, which a newer version made; this one reads up to {SCHEMA}"
        )


def _make_views(base: duckdb.DuckDBPyConnection, data: str, first_rank: str) -> None:
    for table, schema in TABLES.items():
        files = os.path.join(glob.escape(data), table, f"first_rank={first_rank}", "*.parquet")
        if not glob.glob(files):
            columns = schema.append(pa.field("first_rank", pa.int64()))
            base.register(f"{table}_files", columns.empty_table())
            source = f"{table}_files"
        else:
            quoted = files.replace("'", "''")
            source = f"read_parquet('{quoted}', hive_partitioning = true, union_by_name = true)"
        rows = f"SELECT * FROM {source}"
        if table == "site":  # each file has those of its ranks
            rows = f"SELECT site, any_value(line) AS line, any_value(stack) AS stack FROM {source} GROUP BY site"
        base.execute(f"CREATE VIEW {table} AS {rows}")


def _used(statement: str, values: dict[str, Any]) -> dict[str, Any]:
    """DuckDB refuses parameters that a statement does not name."""
    return {name: value for name, value in values.items() if f"${name}" in statement}


def _rows(answer: duckdb.DuckDBPyConnection) -> list[Row]:
    names = [column[0] for column in answer.description or []]
    return [dict(zip(names, row)) for row in answer.fetchall()]
