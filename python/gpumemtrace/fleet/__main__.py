# SPDX-License-Identifier: Apache-2.0
"""`python -m gpumemtrace.fleet`: makes a data set of a job's traces, and asks it.

Exit status: 0 done, 1 a trace could not be converted, 2 wrong usage, or there is nothing to do it with.
"""

import argparse
import json
import sys
import time
from typing import Any

from gpumemtrace._command import GpumemtraceError


def main() -> int:
    arguments = _parser().parse_args()
    try:
        return int(arguments.do(arguments))
    except GpumemtraceError as error:
        print(f"gpumemtrace.fleet: {error}", file=sys.stderr)
    except ImportError as error:
        print(
            f"gpumemtrace.fleet: {error}; its packages: pip install pyarrow duckdb 'dask[distributed]'", file=sys.stderr
        )
    return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m gpumemtrace.fleet", description="A job's traces as one data set.")
    commands = parser.add_subparsers(required=True, metavar="convert|ask|sql")
    convert = commands.add_parser("convert", help="make a data set of traces")
    convert.add_argument(
        "traces", nargs="+", metavar="TRACE", help="a trace, a folder of traces, or a pattern of such in quotes"
    )
    convert.add_argument("-o", "--output", required=True, metavar="DATA", help="folder of the data set")
    convert.add_argument(
        "--add", action="store_true", help="add traces to a data set; those that it has are not read again"
    )
    convert.add_argument("--workers", type=_positive, metavar="N", help="processes here (default: one a processor)")
    convert.add_argument(
        "--scheduler", metavar="ADDRESS", help="Dask's: its workers look for traces on their own disks"
    )
    convert.add_argument("--ranks-per-file", type=_positive, metavar="N", help="default 64")
    convert.add_argument("--step", metavar="RANGE", help="the NVTX range that is a step (default: it is found)")
    convert.add_argument(
        "--time-limit",
        type=_positive,
        default=600,
        metavar="SECONDS",
        help="for one trace (default 600); later it is a problem",
    )
    convert.set_defaults(do=_convert)
    ask = commands.add_parser("ask", help="answer a question")
    ask.add_argument("data", metavar="DATA")
    questions = ask.add_subparsers(required=True, metavar="QUESTION", dest="question")
    for name, words in _questions().items():
        question = questions.add_parser(name, help=words)
        if name == "findings":
            question.add_argument("--share", type=float, default=0.5, help="of the ranks (default 0.5)")
        if name == "compare":
            question.add_argument("rank", type=int)
            question.add_argument("--neighbours", type=_positive, default=8, help="on each side (default 8)")
        _add_output(question)
        question.add_argument("--scheduler", metavar="ADDRESS", help="Dask's: its workers read the files")
    ask.set_defaults(do=_ask)
    sql = commands.add_parser("sql", help="any SQL of DuckDB's; docs/fleet.md has the tables")
    sql.add_argument("data", metavar="DATA")
    sql.add_argument("statement", metavar="SQL")
    _add_output(sql)
    sql.set_defaults(do=_sql)
    return parser


def _questions() -> dict[str, str]:
    try:
        from gpumemtrace.fleet import QUESTIONS
    except ImportError:
        return {}
    return {name: question.words for name, question in QUESTIONS.items()}


def _add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.add_argument("--limit", type=int, default=20, metavar="N", help="rows of text (default 20; 0: all)")


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def _convert(arguments: argparse.Namespace) -> int:
    from gpumemtrace import fleet

    began = time.monotonic()
    done = fleet.convert(
        arguments.traces,
        arguments.output,
        workers=arguments.workers,
        scheduler=arguments.scheduler,
        ranks_per_file=arguments.ranks_per_file,
        step=arguments.step,
        time_limit=arguments.time_limit,
        add=arguments.add,
    )
    for path, why in sorted(done.problems.items()):
        print(f"gpumemtrace.fleet: {path}: {why}", file=sys.stderr)
    known = f", {done.known} were there" if done.known else ""
    failed = f", {len(done.problems)} could not be read" if done.problems else ""
    print(f"{done.traces} traces in {time.monotonic() - began:.1f} s{known}{failed}: {arguments.output}")
    return 1 if done.problems else 0


def _ask(arguments: argparse.Namespace) -> int:
    from gpumemtrace import fleet

    names = fleet.QUESTIONS[arguments.question].parameters
    parameters = {name: getattr(arguments, name) for name in names}
    rows = fleet.ask(arguments.data, arguments.question, scheduler=arguments.scheduler, **parameters)
    return _print(rows, arguments)


def _sql(arguments: argparse.Namespace) -> int:
    from gpumemtrace import fleet

    return _print(fleet.query(arguments.data, arguments.statement), arguments)


def _print(rows: list[dict[str, Any]], arguments: argparse.Namespace) -> int:
    from gpumemtrace.fleet._text import table

    if arguments.format == "json":
        for row in rows:
            print(json.dumps(row, default=str, ensure_ascii=False))
    else:
        print(table(rows, arguments.limit))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:
        sys.exit(0)
