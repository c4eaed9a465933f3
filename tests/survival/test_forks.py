# SPDX-License-Identifier: Apache-2.0
"""Fork without exec, fork among threads, descriptors closed and reused."""

import interposed_case
from interposed_case import InterposedCase


class Forks(InterposedCase):
    def sizes(self, trace):
        return [call["bytes"] for call in trace.calls if call.kind == "alloc"]

    def test_fork(self):
        result = self.run_program("survival_odd", "fork")
        self.assertEqual(result.stdout, "children 0 0\n")
        traces = {trace.info["pid"]: trace for trace in self.traces()}
        self.assertEqual(sorted(self.sizes(trace) for trace in traces.values()), [[1, 3], [2]])
        child = next(trace for trace in traces.values() if self.sizes(trace) == [2])
        self.assertIn(child.info["ppid"], traces)

    def test_forking_thread_ends_in_the_child(self):
        result = self.run_program("survival_odd", "fork_then_threads")
        self.assertEqual(result.stdout, "child 0\n")
        self.assertEqual(sorted(self.sizes(trace) for trace in self.traces()), [[1, 3], [2, 4, 5]])
        for trace in self.traces():  # each process counts its own threads
            numbers = [record["number"] for record in trace.records if record.kind == "thread"]
            self.assertEqual(sorted(set(numbers)), list(range(1, max(numbers) + 1)))

    def test_fork_storm(self):
        result = self.run_program("survival_odd", "fork_storm", env={"STANDIN_LOG": "/dev/null"})
        self.assertEqual(result.stdout, "bad children 0\n")
        traces = self.traces()
        self.assertEqual(len(traces), 61)
        for trace in traces:
            self.assertEqual((trace.torn, trace.lost), (0, {}))
        children = [trace for trace in traces if self.sizes(trace) == [6, 7]]
        self.assertEqual(len(children), 60)

    def test_descriptors_closed_and_reused(self):
        without = self.run_program("survival_odd", "descriptors", preload=False, env={"STANDIN_LOG": "/dev/null"})
        with_us = self.run_program("survival_odd", "descriptors", env={"STANDIN_LOG": "/dev/null"})
        self.assertEqual(with_us.stdout, without.stdout)
        trace = self.only_trace()
        self.assertEqual(len(trace.calls), 2 * (1 + 20000 + 1))
        self.assertEqual((trace.torn, trace.lost), (0, {}))


if __name__ == "__main__":
    interposed_case.main()
