# SPDX-License-Identifier: Apache-2.0
"""The traces of a whole job as one data set of Parquet files, and questions to it. docs/fleet.md describes the tables.

    from gpumemtrace import fleet
    fleet.convert(["/traces/gpumemtrace.*"], "/data/job")
    for row in fleet.ask("/data/job", "growth"): print(row)

Needs the extra: pip install 'gpumemtrace-….whl[fleet]'.
"""

from gpumemtrace.fleet._convert import Converted, convert
from gpumemtrace.fleet._questions import QUESTIONS, ask, query

__all__ = ["QUESTIONS", "Converted", "ask", "convert", "query"]
