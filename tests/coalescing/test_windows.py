# SPDX-License-Identifier: Apache-2.0
"""When windows of --coalescing open and close: never so that the program waits, never so that a capture breaks.

It is one file because it is one list: a test for each thing that a window must not disturb."""

import interposed_case
from coalescing_case import CoalescingCase

ALL = {"GPUMEMTRACE_COALESCING_LAUNCHES": "all"}


class WhichLaunchesTest(CoalescingCase):
    def one_by_one(self, count, kernel="a"):
        return f"launch {kernel} 1 sync " * count

    def measured(self, script, env=None):
        self.play(script, env=env)
        sums = self.sums()
        self.assert_exact(sums)
        return {name: (function["measured"], function["launches"]) for name, function in sums.functions.items()}

    def test_auto_measures_ever_fewer(self):
        self.assertEqual(self.measured(self.one_by_one(70)), {"a": (7, 70)})  # 1, 2, 4, 8, 16, 32, 64

    def test_auto_is_by_kernel(self):
        script = self.one_by_one(20) + self.one_by_one(1, "b") + self.one_by_one(2)
        self.assertEqual(self.measured(script), {"a": (5, 22), "b": (1, 1)})

    def test_first_launches(self):
        self.assertEqual(self.measured(self.one_by_one(9), {"GPUMEMTRACE_COALESCING_LAUNCHES": "5"}), {"a": (5, 9)})

    def test_a_kernel_with_loops_is_timed_first(self):
        """What one launch of it costs is not known before one has run."""
        self.assertEqual(self.measured(self.one_by_one(1, "loop")), {"loop": (0, 1)})
        self.setUp()
        self.assertEqual(self.measured(self.one_by_one(8, "loop")), {"loop": (3, 8)})  # 2, 4, 8
        self.setUp()
        env = {"GPUMEMTRACE_COALESCING_LAUNCHES": "1"}
        self.assertEqual(self.measured(self.one_by_one(4, "loop"), env), {"loop": (1, 4)})

    def test_a_loop_that_never_waits(self):
        """A window is closed behind the launch that was due."""
        self.assertEqual(self.measured("launch a 70 sync", {"GPUMEMTRACE_COALESCING_LAUNCHES": "3"}), {"a": (3, 70)})
        self.setUp()
        self.assertEqual(self.measured("launch a 70 launch loop 70 sync"), {"a": (7, 70), "loop": (6, 70)})

    def test_kernels_by_name(self):
        script = self.one_by_one(4) + self.one_by_one(4, "b") + "launch a 1 launch b 1 sync"
        self.assertEqual(self.measured(script, {"GPUMEMTRACE_KERNEL": "^[b-z]"} | ALL), {"a": (0, 5), "b": (5, 5)})

    def test_ranges(self):
        script = self.one_by_one(2) + "push outer push step " + self.one_by_one(3) + "pop " + self.one_by_one(2) + "pop"
        env = ALL | {"GPUMEMTRACE_COALESCING_RANGE": "step", "NVTX_INJECTION64_PATH": interposed_case.INTERPOSER}
        self.assertEqual(self.measured(script, env), {"a": (3, 7)})

    def test_a_window_serves_many_launches(self):
        """Kernels that are all due need one reading; but the code of one that is new may have been loaded since."""
        self.play("launch a 1 launch b 1 launch c 1 sync " * 2)
        self.assertEqual(self.sums().windows["opened"], 4)

    def test_no_window_opens_while_kernels_run(self):
        """They were launched unpatched, and would count or not, as it happens."""
        self.play(
            "stream s launch c 1 query block stream t sleep 1 launch b 2 stream s unblock sleep 1 launch b 1 sync",
            env={"GPUMEMTRACE_KERNEL": "b"},
            timeout=20,
        )
        self.assertEqual(self.sums().functions["b"], {**self.sums().functions["b"], "measured": 1, "launches": 3})

    def test_no_window_opens_while_anything_else_is_under_way(self):
        """CUPTI would wait for it: here for a host function."""
        self.play("stream s block stream t launch b 2 stream s unblock sleep 1 launch b 1 sync", env=ALL, timeout=20)
        self.assertEqual(self.sums().functions["b"]["measured"], 1)


class NeverWaitTest(CoalescingCase):
    """A host function stands in for a kernel that runs until the host lets it end: CUPTI would wait for it for ever."""

    def milliseconds(self, result):
        return [int(line) for line in result.stdout.split()]

    def assert_quick(self, result, least=0):
        for taken in self.milliseconds(result)[1:]:
            self.assertLess(taken, 2000)
        self.assertGreaterEqual(len(self.milliseconds(result)), least)

    def test_busy_stream_keeps_the_window_open(self):
        """What would have waited would wait for ever, because the same thread lets the kernel end."""
        script = (
            "stream s launch a 1 block stream t launch a 5 sync-stream query copy launch b 1 sleep 30 launch c 2 "
            "sync-stream time stream s unblock time"
        )
        result = self.play(script, env=ALL, timeout=20)
        sums = self.sums()
        self.assertEqual((sums.windows["opened"], sums.windows["read"], sums.windows["given_up"]), (1, 1, 0))
        self.assertEqual(sums.windows["launches_read"], 9)
        self.assert_exact(sums)
        self.assert_quick(result, 2)

    def test_per_thread_and_legacy_streams(self):
        for busy, other in (("thread", "t"), ("s", "thread"), ("s", "legacy")):
            with self.subTest(busy=busy, other=other):
                self.setUp()
                self.play(
                    f"stream {busy} launch a 1 block stream {other} launch a 3 sync-stream stream {busy} unblock "
                    "launch b 1 sync-stream",
                    env=ALL,
                    timeout=20,
                )
                sums = self.sums()
                self.assertEqual(sums.windows["opened"], sums.windows["read"])
                self.assertEqual(sums.functions["a"]["measured"], 4)
                self.assert_exact(sums)

    def test_more_streams_than_are_kept(self):
        """Then only a wait for the whole context tells that it is idle."""
        script = "".join(f"stream s{i} launch a 1 " for i in range(80))
        self.play(script + "sync-stream copy launch b 1 sync", env=ALL)
        sums = self.sums()
        self.assertEqual((sums.windows["opened"], sums.windows["read"]), (1, 1))
        self.assertEqual(sums.windows["launches_read"], 81)

    def test_stream_destroyed_while_it_works(self):
        """It can be asked no more; its work may go on."""
        self.play("stream s launch a 1 end-stream stream t launch a 1 sync-stream", env=ALL)
        sums = self.sums()
        self.assertEqual((sums.windows["opened"], sums.windows["read"]), (1, 1))

    def test_window_outlives_a_busy_time(self):
        """Holding launches back does not help where a kernel waits for the host: that is tried for a short time only."""
        script = (
            "stream s launch a 1 block stream t "
            + "launch b 40 sleep 60 " * 10
            + "time stream s unblock launch b 1 sync"
        )
        result = self.play(script, env={"GPUMEMTRACE_COALESCING_LAUNCHES": "500"}, timeout=30)
        sums = self.sums()
        self.assertEqual((sums.windows["given_up"], sums.functions["b"]["lost"]), (0, 0))
        self.assertGreaterEqual(sums.functions["b"]["measured"], 400)
        self.assert_exact(sums)
        self.assert_quick(result, 1)

    def test_program_that_never_rests_is_held_back(self):
        """Between launch and launch the device always has something to do; then it gets the time to finish."""
        script = "stream s launch a 1 block unblock-later 350 stream t " + "launch b 40 sleep 60 " * 5
        self.play(script + "kill", timeout=30, check=False)
        sums = self.sums()
        self.assertGreaterEqual(sums.windows["read"], 1)  # on a slow machine another one opens behind it
        self.assertEqual(sums.windows["given_up"], 0)
        self.assertEqual(sums.functions["a"]["measured"], 1)
        self.assert_exact(sums)

    def test_what_keeps_the_device_busy_behind_a_measured_launch_is_waited_for(self):
        """Then it was no launch that was waited for in vain: its kernel is measured again."""
        script = "stream s launch a 1 block unblock-later 100 launch b 1 sync-stream launch a 1 sync-stream"
        self.play(script, timeout=30)
        self.assert_launches(self.sums(), a=(2, 2), b=(1, 1))

    def test_holding_in_vain_ends_after_two_seconds_of_a_run(self):
        """The same thread ends what the device waits for: each hold is in vain."""
        script = "launch a 1 sync launch b 1 sync stream s launch a 1 block stream t " + "launch loop 1 " * 30
        result = self.play(script + "time stream s unblock time", timeout=30)
        self.assertLess(self.milliseconds(result)[0], 4000)
        self.assertEqual(self.sums().windows["given_up"], 0)

    def test_no_limit_where_all_are_wanted(self):
        self.play("launch a 1 sleep 2100 sync launch a 1 sync", env=ALL, timeout=30)
        self.assertEqual(self.sums().windows["read"], 2)


class GraphsTest(CoalescingCase):
    """A graph's launch is one of each of its kernels."""

    CAPTURE = "stream t capture launch a 5 launch b 1 end-capture "

    def test_kernels_of_graphs_are_seen_and_not_measured(self):
        self.play(self.CAPTURE + "graph launch a 1 graph sync", env=ALL)
        sums = self.sums()
        self.assertEqual((sums.windows["graph_launches"], sums.windows["unknown_graphs"]), (2, 0))
        self.assertEqual((sums.windows["launches"], sums.windows["launches_read"]), (13, 1))
        self.assert_launches(sums, a=(1, 11), b=(0, 2))

    def test_a_graph_waits_until_the_window_is_closed(self):
        """CUPTI loses the kernels of a graph that is launched in a window, however long it takes to close that."""
        self.play(self.CAPTURE + "stream s launch c 1 block unblock-later 700 stream t graph sync", env=ALL, timeout=20)
        sums = self.sums()
        self.assertEqual((sums.windows["read"], sums.windows["given_up"], sums.windows["graphs_in_windows"]), (1, 0, 0))
        self.assert_launches(sums, a=(0, 5), b=(0, 1))

    def test_an_upload_waits_until_the_window_is_closed(self):
        """What is uploaded in a window faults when it is launched later."""
        result = self.play(
            self.CAPTURE + "stream s launch c 1 block stream t time unblock-later 700 upload time sync",
            env=ALL,
            timeout=20,
        )
        self.assertGreaterEqual(int(result.stdout.split()[1]), 600)
        sums = self.sums()
        self.assertEqual((sums.windows["read"], sums.windows["given_up"], sums.windows["graphs_in_windows"]), (1, 0, 0))
        self.assertEqual((sums.windows["graph_launches"], sums.windows["launches"]), (0, 1))

    def assert_launched_in_a_window(self, result, least, most):
        """After so many milliseconds. The window's figures are not to be trusted."""
        taken = int(result.stdout.split()[1])
        self.assertGreaterEqual(taken, least)
        self.assertLess(taken, most)
        sums = self.sums()
        self.assertEqual((sums.windows["read"], sums.windows["given_up"], sums.windows["graphs_in_windows"]), (0, 1, 1))
        self.assertEqual(sums.functions["c"]["lost"], 1)

    def test_a_graph_that_its_kernel_waits_for(self):
        """The kernel in the window ends only after the graph was launched: the wait has an end."""
        script = self.CAPTURE + "stream s launch c 1 block stream t time {} time stream s unblock sync"
        for call in ("graph", "upload"):
            with self.subTest(call):
                self.setUp()
                result = self.play(script.format(call), env=ALL | {"GPUMEMTRACE_GRAPH_WAIT": "600"}, timeout=20)
                self.assert_launched_in_a_window(result, 600, 5000)

    def test_a_graph_of_a_thread_that_captures(self):
        """No window can be closed until the capture ends, and only the waiting thread could end it."""
        result = self.play(
            self.CAPTURE + "stream s launch c 1 block stream u capture stream t time graph time stream s "
            "unblock stream u launch a 1 end-capture sync",
            env=ALL,
            timeout=25,
        )
        self.assert_launched_in_a_window(result, 0, 5000)

    def test_a_graph_while_another_thread_captures(self):
        """That capture ends by itself, as most do, and then the window is closed."""
        self.play(
            self.CAPTURE + "stream s launch c 1 block capture-in-thread 700 stream s unblock stream t graph sync",
            env=ALL,
            timeout=25,
        )
        sums = self.sums()
        self.assertEqual((sums.windows["read"], sums.windows["given_up"], sums.windows["graphs_in_windows"]), (1, 0, 0))

    def test_launches_of_graphs_count_for_what_is_due(self):
        self.play(self.CAPTURE + "graph sync launch a 1 sync " * 8)
        self.assert_launches(
            self.sums(), a=(4, 48), b=(0, 8)
        )  # due from 1, 8, 16 and 32 on: 6, 12, 18 and 36 are measured

    def test_child_graphs(self):
        self.play(self.CAPTURE + "nest-graph graph sync", env=ALL)
        self.assert_launches(self.sums(), a=(0, 10), b=(0, 2))

    def test_an_updated_graph(self):
        self.play(self.CAPTURE + "graph sync capture launch b 5 launch a 1 update-graph graph sync", env=ALL)
        self.assert_launches(self.sums(), a=(0, 6), b=(0, 6))

    def test_other_arguments(self):
        self.play(self.CAPTURE + "set-kernel a graph sync", env=ALL)
        self.assert_launches(self.sums(), a=(0, 5), b=(0, 1))

    def test_unknown_graphs(self):
        for change in ("set-kernel b", "disable-node"):
            with self.subTest(change):
                self.setUp()
                self.play(self.CAPTURE + change + " graph launch a 1 graph sync", env=ALL)
                sums = self.sums()
                self.assertEqual((sums.windows["graph_launches"], sums.windows["unknown_graphs"]), (2, 2))
                self.assert_launches(sums, a=(1, 1))

    def test_a_handle_that_is_given_out_again(self):
        self.play(self.CAPTURE + "graph sync end-graph capture launch c 2 end-capture graph sync", env=ALL)
        sums = self.sums()
        self.assert_launches(sums, a=(0, 5), b=(0, 1))
        self.assertEqual(sums.functions["c"]["launches"], 2)

    def test_a_launch_that_fails(self):
        self.play(self.CAPTURE + "graph graph-fails sync", env=ALL)
        sums = self.sums()
        self.assertEqual((sums.windows["graph_launches"], sums.windows["unknown_graphs"]), (1, 0))
        self.assert_launches(sums, a=(0, 5), b=(0, 1))


class CapturesTest(CoalescingCase):
    def test_a_window_is_closed_before_a_capture(self):
        self.play(
            "stream s launch a 1 capture launch b 3 stream t launch a 1 sync-stream query stream s end-capture "
            "graph launch c 1 sync",
            env=ALL,
        )
        sums = self.sums()
        self.assertEqual(sums.windows["graph_launches"], 1)
        self.assertEqual(sums.functions["a"], {**sums.functions["a"], "measured": 1, "launches": 2})
        self.assertEqual(sums.functions["b"]["launches"], 3)  # by the graph: captured launches are nodes only
        self.assertEqual(sums.windows["launches"], 6)

    def test_capture_while_a_window_is_open(self):
        """It could not be closed before: it lives on and disturbs nothing."""
        self.play(
            "stream u launch a 1 block stream s capture launch b 3 stream t launch a 1 query stream u unblock "
            "stream s end-capture sync",
            env=ALL,
            timeout=20,
        )
        self.assertEqual(self.sums().functions["a"]["measured"], 2)

    def test_capture_of_a_legacy_streams_neighbour(self):
        """The legacy stream may not even be asked while a blocking stream captures."""
        self.play("launch a 1 stream s capture launch b 1 stream t launch a 1 stream s end-capture sync", env=ALL)
        self.assertEqual(self.sums().functions["a"]["measured"], 1)

    def test_no_window_opens_while_a_stream_captures(self):
        self.play(
            "stream s capture launch b 1 stream t launch a 4 sync-stream stream s end-capture stream t launch a 1 sync",
            env=ALL,
        )
        sums = self.sums()
        self.assertEqual(sums.functions["a"], {**sums.functions["a"], "measured": 1, "launches": 5})


class EndsTest(CoalescingCase):
    def test_context_destroyed_when_idle(self):
        self.play("stream s launch a 1 destroy")
        sums = self.sums()
        self.assertEqual((sums.windows["read"], sums.windows["given_up"]), (1, 0))
        self.assert_exact(sums)

    def test_context_destroyed_while_busy(self):
        """Destroying it waits for its work; we do not wait before."""
        self.play("stream s launch a 1 block unblock-later 300 destroy", timeout=20)
        sums = self.sums()
        self.assertEqual((sums.windows["opened"], sums.windows["read"], sums.windows["given_up"]), (1, 0, 1))
        self.assertEqual(sums.functions["a"], {**sums.functions["a"], "measured": 0, "lost": 1, "launches": 1})

    def test_primary_context(self):
        """Reset with a window open, used again, released by one of two, released by the last."""
        self.play("primary launch a 1 reset primary launch a 1 primary launch a 1 release launch a 1 release", env=ALL)
        sums = self.sums()
        self.assertEqual((sums.windows["opened"], sums.windows["read"]), (3, 3))  # the second serves two launches
        self.assertEqual(sums.functions["a"], {**sums.functions["a"], "measured": 4, "launches": 4})
        self.assert_exact(sums)

    def test_primary_context_reset_while_busy(self):
        self.play("primary stream s launch a 1 block unblock-later 300 reset primary launch b 1 sync", timeout=20)
        sums = self.sums()
        self.assertEqual((sums.windows["opened"], sums.windows["given_up"]), (2, 1))
        self.assertEqual(sums.functions["b"]["measured"], 1)
        self.assertIsNone(sums.windows["trouble"])

    def test_programs_that_never_wait(self):
        """What waits for the device without a word, and what ends the code."""
        for end in ("free", "unload"):
            with self.subTest(end=end):
                self.setUp()
                self.play(f"launch a 1 {end}")
                self.assertEqual(self.sums().windows["read"], 1)
                self.assert_exact(self.sums())

    def test_exit_with_a_window_open(self):
        """Nothing showed that the kernel had ended, but it has."""
        self.play("stream s launch a 1")
        sums = self.sums()
        self.assertEqual((sums.windows["opened"], sums.windows["read"]), (1, 1))
        self.assert_exact(sums)

    def test_exit_while_busy(self):
        """What the program does not wait for is not waited for."""
        self.play("stream s launch a 1 block", timeout=20)
        sums = self.sums()
        self.assertEqual((sums.windows["opened"], sums.windows["read"], sums.windows["given_up"]), (1, 0, 0))

    def test_exit_with_windows_in_several_contexts(self):
        self.play("launch a 1 context launch b 1")
        found = self.all_sums()
        self.assertEqual([(sums.windows["opened"], sums.windows["read"]) for sums in found], [(1, 1), (1, 1)])
        for sums in found:
            self.assert_exact(sums)

    def test_many_contexts_one_after_another(self):
        self.play("launch a 1 sync destroy " + "context launch a 1 sync destroy " * 5)
        found = self.all_sums()
        self.assertEqual(sum(sums.functions["a"]["launches"] for sums in found), 6)
        self.assertTrue(all(sums.windows["trouble"] is None for sums in found))
        for sums in found:
            self.assert_exact(sums)


if __name__ == "__main__":
    interposed_case.main()
