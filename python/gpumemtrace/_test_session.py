# SPDX-License-Identifier: Apache-2.0
"""The tests of one process: asks the follower behind each of them, and fails those that something was found in.

A test's memory is what is allocated from its set-up to its tear-down. What fixtures of wider scope allocate when they
are set up is left out.
"""

import contextlib
import dataclasses
from collections.abc import Callable, Generator, Iterator
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from gpumemtrace import _frameworks
from gpumemtrace._command import GpumemtraceError
from gpumemtrace._findings_text import finding_text, summary, tensors_text
from gpumemtrace._follower import Follower
from gpumemtrace._ranges import range_of_all_threads
from gpumemtrace._report import Finding, finding_of
from gpumemtrace._snapshot import LiveTensors, live_tensors
from gpumemtrace._test_allowed import allow
from gpumemtrace._test_marks import Limits, limits_of, size_text


@dataclasses.dataclass
class Verdict:
    """Of one test. `failure` is empty if nothing fails it, `remarks` if there is nothing else to say."""

    failure: str = ""
    remarks: str = ""
    peak_bytes: int = 0


@dataclasses.dataclass
class _Running:
    limits: Limits
    ranges: contextlib.ExitStack
    verdict: Verdict = dataclasses.field(default_factory=Verdict)


_RUNNING = pytest.StashKey[_Running]()


class Session:
    def __init__(self, config: pytest.Config):
        self._is_strict = config.getoption("gpumemtrace_strict")
        self._root = str(config.rootpath)
        rules = config.getoption("gpumemtrace_suppressions")
        self._follower = Follower(*(word for file in rules for word in ("--suppressions", file)))
        self._has_trace = False
        self._lost = ""  # why nothing is known of the running test
        self._runs_test = False
        self._others: Callable[..., Any] | None = None

    def pytest_sessionstart(self) -> None:
        try:
            self._ask("begin")
        except GpumemtraceError as error:
            raise pytest.UsageError(str(error)) from error

    def pytest_sessionfinish(self) -> None:
        self._follower.close()

    @pytest.hookimpl
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        """As pytest runs a test, but its reports wait for the verdict. Other plug-ins may run it themselves: then the
        tear-down fails instead of the test."""
        self._runs_test = False
        if self._others is None:
            self._others = _others_that_run_tests(item.config, self)
        if self._others(item=item, nextitem=nextitem) is not None:
            return True
        self._runs_test = True
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
        running = item.stash.get(_RUNNING, None)
        if running is not None:
            amend(reports, running.verdict)
        for report in reports:
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Iterator[None]:
        limits = limits_of(item.iter_markers("gpumemtrace"))
        if not limits.skip:
            self._ask("begin")
            self._lost = ""
            ranges = contextlib.ExitStack()
            ranges.enter_context(range_of_all_threads(item.nodeid))
            item.stash[_RUNNING] = _Running(limits, ranges)
            allow(limits.allow, item.nodeid)
        yield

    @pytest.hookimpl(hookwrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Iterator[None]:
        is_wider = fixturedef.scope != "function"
        if is_wider:
            self._ask_in_test("pause")
        yield
        if is_wider:
            self._ask_in_test("resume")

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, Any, None]:
        outcome = yield
        running = item.stash.get(_RUNNING, None)
        if running is None:
            return
        running.verdict = self._verdict(running.limits)
        running.ranges.close()
        if running.verdict.failure and not self._runs_test:
            _fail_tear_down(item, outcome, running.verdict.failure)

    def _ask(self, question: str) -> dict[str, Any]:
        answer = self._follower.ask(question)
        self._has_trace = answer["trace"] is not None
        return answer

    def _ask_in_test(self, question: str) -> None:
        """A follower that was killed takes with it what it knew of the test. The next test has a new one."""
        try:
            self._ask(question)
        except GpumemtraceError as error:
            self._lost = self._lost or str(error)

    def _look(self, limits: Limits) -> dict[str, Any]:
        """What fell into the test. Memory counts once nothing can let go of it any more."""
        if self._has_trace:
            _frameworks.synchronise()
        answer = self._ask("look")
        if _left_tensors(answer) or any(self._fails(finding_of(one), limits) for one in answer["findings"]):
            _frameworks.collect()
            if self._is_strict:
                _frameworks.empty_caches()
            answer = self._ask("look")
        return answer

    def _verdict(self, limits: Limits) -> Verdict:
        try:
            answer = self._look(limits)
        except GpumemtraceError as error:
            self._lost = self._lost or str(error)
        if self._lost:
            return Verdict(failure=f"The test's memory was not checked: {self._lost}.")
        findings = [finding_of(one) for one in answer["findings"]]
        failing = [one for one in findings if self._fails(one, limits)]
        span, tensors = answer["span"], _left_tensors(answer)
        # What tensors hold may lie in segments of the cache that another test has allocated.
        verdict = Verdict(peak_bytes=max(span["peak_bytes"], span["tensor_peak_bytes"]))
        left = tensors_text(tensors, self._root) if tensors else ""
        has_grown = limits.max_growth is not None and sum(one.bytes for one in tensors) > limits.max_growth
        parts = [summary(failing)] if failing else []
        parts += [finding_text(finding, self._root) for finding in failing]
        if limits.max_peak is not None and verdict.peak_bytes > limits.max_peak:
            parts.append(
                f"The test held {size_text(verdict.peak_bytes)} of device memory at once; "
                f"its mark allows {size_text(limits.max_peak)}."
            )
        if has_grown:
            parts.append(f"{left}\nThe test's mark allows {size_text(limits.max_growth or 0)}.")
        verdict.failure = "\n\n".join(parts)
        others = [one for one in findings if one not in failing and one.severity != "note"]
        remarks = [finding_text(finding, self._root) for finding in others]
        if left and not has_grown:
            remarks.append(left)
        verdict.remarks = "\n\n".join(remarks)
        return verdict

    def _fails(self, finding: Finding, limits: Limits) -> bool:
        is_cached = self._is_strict and finding.json["owner"] in _frameworks.EMPTIED
        return (finding.severity == "error" or is_cached) and not limits.allows(finding.kind)


def _left_tensors(answer: dict[str, Any]) -> list[LiveTensors]:
    """That the test made and that are alive. What PyTorch keeps for itself is not the test's."""
    return [live_tensors(one) for one in answer["tensors"] if one["owner"] is None]


def _others_that_run_tests(config: pytest.Config, session: Session) -> Callable[..., Any]:
    """The hook of the plug-ins that run a test themselves, or answer None. It is theirs before it is ours."""
    own = [
        one.plugin
        for one in config.hook.pytest_runtest_protocol.get_hookimpls()
        if one.plugin is session
        or one.function.__module__.startswith("_pytest.")
        or one.hookwrapper
        or getattr(one, "wrapper", False)
    ]
    return config.pluginmanager.subset_hook_caller("pytest_runtest_protocol", own)


def _fail_tear_down(item: pytest.Item, outcome: Any, failure: str) -> None:
    if outcome.excinfo is not None:  # it has failed by itself
        item.add_report_section("teardown", "gpumemtrace", failure)
        return
    exception = pytest.fail.Exception(failure, pytrace=False)
    if not hasattr(outcome, "force_exception"):  # before pluggy 1.1
        raise exception
    outcome.force_exception(exception)


def amend(reports: list[pytest.TestReport], verdict: Verdict) -> None:
    """The report of the call, or the first that failed, or the last one, gets the verdict."""
    reports[-1].user_properties.append(("gpumemtrace_peak_bytes", verdict.peak_bytes))
    report = next((one for one in reports if one.when == "call" or one.failed), reports[-1])
    if verdict.remarks:
        report.sections.append(("gpumemtrace", verdict.remarks))
    if not verdict.failure:
        return
    strict_pass = isinstance(report.longrepr, str) and report.longrepr.startswith("[XPASS(strict)] ")
    if strict_pass or hasattr(report, "wasxfail"):  # it was expected to fail, and does
        report.wasxfail = getattr(report, "wasxfail", None) or str(report.longrepr).partition("] ")[2]
        report.outcome = "skipped"
        report.longrepr = report.longrepr or verdict.failure
    elif not report.failed:
        report.outcome = "failed"
        report.longrepr = verdict.failure
    elif hasattr(report.longrepr, "addsection"):
        report.longrepr.addsection("gpumemtrace", verdict.failure, "-")
    else:
        report.longrepr = f"{report.longrepr}\n\n{verdict.failure}"
