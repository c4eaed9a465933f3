# SPDX-License-Identifier: Apache-2.0
"""pytest --gpumemtrace: a test fails with what is wrong with its device memory. docs/python.md describes it.

The run stands under the command, or starts itself again under it. Each process that runs tests has one follower.
"""

import argparse
import os
import shlex
import sys
from collections.abc import Iterator

import pytest

from gpumemtrace._command import GpumemtraceError, command_path, finding_kinds
from gpumemtrace._process import is_traced
from gpumemtrace._test_allowed import make_allowed_rules
from gpumemtrace._test_marks import limits_of

# Set by a run that starts itself again: once is enough.
_RESTARTED = "GPUMEMTRACE_PYTEST_RESTARTED"
_REPORT = "GPUMEMTRACE_PYTEST_REPORT"  # and the file of its report
_MARK = (
    "gpumemtrace(allow=[], max_peak=None, max_growth=None, skip=False): kinds of findings that do not fail the test, the "
    'most device memory that it may hold at once ("1GiB"), the most that tensors may hold that it leaves behind, or no '
    "check at all"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("gpumemtrace", "gpumemtrace, the checker of CUDA memory")
    group.addoption("--gpumemtrace", action="store_true", help="let each test fail with what is wrong with its memory")
    group.addoption(
        "--gpumemtrace-strict",
        action="store_true",
        help="empty the caches of PyTorch and CuPy behind each test; what they then hold is the test's",
    )
    group.addoption(
        "--gpumemtrace-options",
        default="",
        metavar="OPTIONS",
        help="options of 'gpumemtrace run', as one word: '--device simulated'",
    )
    group.addoption(
        "--gpumemtrace-report",
        default="gpumemtrace-report.txt",
        metavar="FILE",
        help="the file of the report on the whole run (default: gpumemtrace-report.txt)",
    )
    group.addoption(
        "--gpumemtrace-suppressions", action="append", default=[], metavar="FILE", help="a file of suppression rules"
    )


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Iterator[None]:
    """The first hook that knows the options, and it stands around pytest's capture of the output."""
    options = early_config.known_args_namespace
    if _runs_tests(options) and not is_traced() and not _is_worker():
        _start_again(options)
    yield


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _MARK)
    if not _runs_tests(config.option):
        return
    if not is_traced():
        raise pytest.UsageError(
            "this process is not traced; name the plug-in by '-p gpumemtrace.pytest_plugin', or start "
            "'gpumemtrace run pytest'"
        )
    if config.getoption("numprocesses", None):
        return  # the workers of xdist run the tests
    from gpumemtrace._test_session import Session

    config.pluginmanager.register(Session(config), "gpumemtrace-session")


def pytest_report_header(config: pytest.Config) -> str | None:
    if not config.getoption("gpumemtrace"):
        return None
    report = os.environ.get(_REPORT)
    traces = f"gpumemtrace: traces in {os.environ.get('GPUMEMTRACE_DIR', os.getcwd())}"
    return f"{traces}; at the end the report on the whole run: {report}" if report else traces


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        try:
            limits = limits_of(item.iter_markers("gpumemtrace"))
            if limits.allow and _runs_tests(config.option):
                limits.check_allowed(finding_kinds())
        except (GpumemtraceError, ValueError) as error:
            raise pytest.UsageError(f"{item.nodeid}: {error}") from error


def _runs_tests(options: argparse.Namespace) -> bool:
    """They are to be checked, and not only to be listed."""
    return options.gpumemtrace and not (options.help or options.version or options.collectonly)


def _is_worker() -> bool:
    """Of xdist: another process has started it, and speaks with it."""
    return "PYTEST_XDIST_WORKER" in os.environ


def _start_again(options: argparse.Namespace) -> None:
    if os.environ.get(_RESTARTED):
        raise pytest.UsageError(
            "gpumemtrace traces nothing here, because this machine has no driver of CUDA; "
            "--gpumemtrace-options='--device simulated' needs none"
        )
    try:
        report = os.path.abspath(options.gpumemtrace_report)
        rules = [*options.gpumemtrace_suppressions, make_allowed_rules()]
        words = [command_path(), "run", "--quiet", "--group-by", "range", "--output", report]
        words += [word for file in rules for word in ("--suppressions", file)]
        words += [*shlex.split(options.gpumemtrace_options), "--", sys.executable, *sys.orig_argv[1:]]
        os.environ.update({_RESTARTED: "1", _REPORT: report})
        sys.stdout.flush()
        sys.stderr.flush()
        os.execv(words[0], words)
    except (GpumemtraceError, OSError, ValueError) as error:
        raise pytest.UsageError(f"gpumemtrace cannot be started: {error}") from error
