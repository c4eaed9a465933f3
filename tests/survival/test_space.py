# SPDX-License-Identifier: Apache-2.0
"""No room for the trace: full disk, ulimit -f, --max-trace, no permission. The program runs as it did, and what is
missing is counted."""

import os
import resource
import subprocess
import sys
import tempfile

import interposed_case
from interposed_case import InterposedCase

COUNT = 30000  # pairs and launches: about 6 MiB of records


class Space(InterposedCase):
    def environment(self, preload=True, **more):
        environment = super().environment(preload, **more)
        del environment["STANDIN_LOG"]
        return environment

    def many(self, count=COUNT, scene="many", **more):
        result = self.run_program("survival_steady", scene, str(count), **more)
        self.assertEqual(result.stdout, "failed 0\n")
        self.assertEqual(result.stderr, "")

    def counted(self, trace, count=COUNT):
        """Records and losses together are all calls."""
        calls = len(trace.calls)
        self.assertEqual(trace.torn, 0)
        self.assertEqual([call for call in trace.calls if call.in_flight], [])
        stacks = len({record.stack for record in trace.calls}) if not trace.lost else None
        lost = sum(trace.lost.values())
        self.assertGreaterEqual(calls + lost, 3 * count)
        self.assertLessEqual(calls + lost, 3 * count + 64 + (stacks or 0), "stacks that found no room count too")
        return calls, lost

    def test_all_is_well_with_room(self):
        self.many()
        self.assertEqual(self.counted(self.only_trace()), (3 * COUNT, 0))

    def test_file_size_limit(self):
        for limit in (1 << 20, 100 << 10, 70 << 10):
            with self.subTest(limit=limit):
                self.setUp()
                self.many(preexec_fn=lambda limit=limit: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
                trace = self.only_trace()
                calls, lost = self.counted(trace)
                self.assertEqual(list(trace.lost), ["space"])
                self.assertGreater(calls, 0)
                self.assertGreater(lost, 0)

    def test_file_size_limit_too_small_for_anything(self):
        for limit in (0, 512, 4096, 20000):
            with self.subTest(limit=limit):
                self.setUp()
                self.many(100, preexec_fn=lambda limit=limit: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))

    def test_trace_limit(self):
        self.many(env={"GPUMEMTRACE_MAX_TRACE": str(2 << 20)})
        trace = self.only_trace()
        self.counted(trace)
        self.assertEqual(list(trace.lost), ["limit"])
        size = sum(os.stat(log.path).st_size for log in trace.logs)
        self.assertLessEqual(size, 2 << 20)
        kept = [call.kind for call in trace.calls]
        self.assertGreater(kept.count("free"), kept.count("launch") + 1000, "launches go first")

    def test_trace_limit_keeps_room_for_releases(self):
        """What was allocated in time is seen freed: no block seems to leak."""
        for limit in (1 << 20, 3 << 20):
            with self.subTest(limit=limit):
                self.setUp()
                self.many(scene="kept", env={"GPUMEMTRACE_MAX_TRACE": str(limit)})
                trace = self.only_trace()
                self.assertEqual(list(trace.lost), ["limit"])
                self.assertLessEqual(sum(os.stat(log.path).st_size for log in trace.logs), limit)
                alive = set()
                for call in sorted(trace.calls, key=lambda call: call.order):
                    if call.kind == "alloc":
                        alive.add(call["address"])
                    elif call.kind == "free":
                        alive.discard(call["address"])
                self.assertEqual(alive, set())
                self.assertEqual(trace.releases_lost_from, 0)
                self.assertGreater(trace.allocations_lost_from, 1000)

    def test_no_descriptors(self):
        self.many(scene="without_files")
        trace = self.only_trace()
        self.assertEqual(list(trace.lost), ["descriptors"])
        self.assertGreater(trace.releases_lost_from, 0)

    def most_resident(self, count):
        program = os.path.join(interposed_case.BINARIES, "survival_steady")
        words = [program, "many", str(count)]
        with subprocess.Popen(words, env=self.environment(), stdout=subprocess.DEVNULL) as process:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        return usage.ru_maxrss << 10

    def test_resident_memory_does_not_grow_with_the_trace(self):
        little = self.most_resident(COUNT)
        much = 15 * COUNT  # some 90 MiB of records
        self.assertLess(self.most_resident(much), little + (24 << 20))

    def test_thread_of_little_stack(self):
        """Where the driver itself needs none for the loader."""
        self.many(100, scene="tiny", env={"LD_BIND_NOW": "1"})
        trace = self.only_trace()
        self.assertEqual((len(trace.calls), trace.lost, trace.torn), (200, {}, 0))

    def test_relative_folder_of_a_program_that_moves(self):
        script = (
            "import os, ctypes as c; d = c.CDLL('libcuda.so.1'); a = c.c_uint64(); d.cuInit(0); os.chdir('/')\n"
            "for i in range(5000): d.cuMemAlloc_v2(c.byref(a), c.c_size_t(16)); d.cuMemFree_v2(a)"
        )
        self.run_program(sys.executable, "-c", script, env={"GPUMEMTRACE_DIR": "."})
        trace = self.only_trace()
        self.assertEqual((len(trace.calls), trace.lost), (10001, {}))

    def test_no_permission(self):
        closed = os.path.join(self.folder, "closed")
        os.mkdir(closed, 0o500)
        elsewhere = tempfile.mkdtemp(dir="/tmp")
        self.addCleanup(subprocess.run, ["rm", "-rf", elsewhere], check=False)
        user = {} if os.getuid() != 0 else {"user": 65534}
        for needed in (interposed_case.INTERPOSER, self.binary("survival_steady"), interposed_case.STANDIN):
            if subprocess.run(["test", "-r", needed], check=False, **user).returncode != 0:
                self.skipTest(f"another user cannot read {needed}")
        os.chmod(self.folder, 0o755)
        os.chmod(self.notes, 0o666)
        os.chmod(elsewhere, 0o777)
        self.many(100, env={"GPUMEMTRACE_DIR": closed, "TMPDIR": elsewhere}, cwd="/", **user)
        self.assertEqual([line[0] for line in self.noted()], ["moved"])
        self.assertEqual(len(os.listdir(elsewhere)), 1)
        os.chmod(elsewhere, 0o500)
        self.many(100, env={"GPUMEMTRACE_DIR": closed, "TMPDIR": elsewhere}, cwd="/", **user)
        self.assertEqual([line[0] for line in self.noted()], ["moved", "nodir"])

    def seconds(self, **more):
        """Of a processor: by the clock a program may wait for disks that others keep busy."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.many(count=20 * COUNT, **more)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def test_nearly_full_disk_costs_no_time(self):
        """A record that finds no room costs no system call: without that it is 10 to 200 times as slow."""
        for scene, size in (("many", "1m"), ("many", "8m"), ("beside", "100k")):
            with self.subTest(scene=scene, size=size):
                self.setUp()
                with_room = self.seconds(scene=scene)
                full = self.full_disk(size, lambda place, scene=scene: self.seconds(scene=scene, **place))
                self.assertLess(full, 2 * with_room + 0.5)

    def full_disk(self, size, run=None):
        place = os.path.join(self.folder, "disk")
        os.mkdir(place)
        if (
            subprocess.run(
                ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", place], capture_output=True, check=False
            ).returncode
            != 0
        ):
            self.skipTest("a tmpfs cannot be mounted here")
        self.addCleanup(subprocess.run, ["umount", "-l", place], check=False)
        here = {"env": {"GPUMEMTRACE_DIR": place, "TMPDIR": place}}
        if run:
            return run(here)
        self.many(**here)
        return interposed_case.traces(place)

    def test_full_disk(self):
        traces = self.full_disk("1m")
        calls, lost = self.counted(traces[0])
        self.assertGreater(calls, 1000)
        self.assertGreater(lost, 1000)
        self.assertEqual(list(traces[0].lost), ["space"])

    def test_disk_without_room_for_anything(self):
        self.full_disk("8k")
        self.assertEqual([line[0] for line in self.noted()], ["nodir"])
        self.assertIn("No space left on device", self.noted()[0][-1])

    def test_long_paths_stand_in_notes_as_a_whole(self):
        deep = os.path.join(self.folder, *["x" * 200] * 14)
        os.makedirs(deep)
        self.many(100, env={"GPUMEMTRACE_DIR": "/proc/nowhere", "TMPDIR": deep})
        self.assertEqual([(line[0], os.path.dirname(line[-1])) for line in self.noted()], [("moved", deep)])


if __name__ == "__main__":
    interposed_case.main()
