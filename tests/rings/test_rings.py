# SPDX-License-Identifier: Apache-2.0
"""Device rings from the interposer's making of them to the log that is read: nothing lost, nothing reported twice, nothing left."""

import glob
import os
import shutil
import signal
import subprocess

import interposed_case
from interposed_case import InterposedCase
from trace_files import directories
from trace_schema import unpack_ticket

COMMAND = os.environ["GMT_COMMAND"]
RING_FILES = "/dev/shm/gpumemtrace."
IS_LONG = os.environ.get("GMT_LONG_TESTS") == "1"


class Rings(InterposedCase):
    def tearDown(self):
        for path in directories(self.folder):
            subprocess.run(
                [COMMAND, "report", "--output", os.devnull, path],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                check=False,
            )
        left = {link: os.readlink(link) for link in glob.glob(os.path.join(self.folder, "*", "*.ring"))}
        self.assertEqual(left, {}, "rings must be gone once the trace has been read")
        for trace in self.traces():
            self.assertEqual(glob.glob(f"{RING_FILES}{trace.info['pid']}.*"), [])

    def play(self, *words, note=True, **more):
        program = "rings_player" if note else "rings_player_without_note"
        more["env"] = {"STANDIN_LOG": "/dev/null", "GPUMEMTRACE_SIM_MEMORY": "256M", **more.get("env", {})}
        return self.run_program(program, *map(str, words), **more)

    def collect(self):
        """What `report` does first, for the only trace; then the trace as it is now."""
        result = subprocess.run(
            [COMMAND, "report", self.only_trace().path], capture_output=True, check=False, text=True
        )
        self.assertIn(result.returncode, (0, 1), result.stderr)
        return self.only_trace()

    def device_records(self, trace, number=None):
        """sub-ring -> [(ticket, kind, slots, word)] in the order of the file."""
        found = {}
        for log in trace.logs:
            name = os.path.basename(log.path)
            if not name.startswith("device-" if number is None else f"device-{number}."):
                continue
            self.assertEqual(log.torn, 0)
            for record in log.records:
                if record.kind == "drained":
                    continue
                sub_ring, ticket = unpack_ticket(record.time)
                found.setdefault(sub_ring, []).append((ticket, record.kind, record.slots, record.a[0]))
        return found

    def assert_whole(self, records, count, first=1):
        """The records of play(): tickets without gap, words from `first` on dealt to four sub-rings, a site in front."""
        self.assertEqual(sorted(records), [0, 1, 2, 3] if count >= 4 else sorted(records))
        self.assertEqual(records[0][0][1:], ("device-site", 3, 77))
        for sub, found in records.items():
            expected = 0
            for ticket, _, slots, _ in found:
                self.assertEqual(ticket, expected)
                expected += slots
            words = [word for _, kind, _, word in found if kind == "device-alloc"]
            self.assertEqual(words, list(range(first + sub, first + count, 4)))

    def drained(self, trace):
        """Slots moved, lost and torn as the drain recorded them, over all logs of rings."""
        drained = [record for log in trace.logs for record in log.records if record.kind == "drained"]
        return (
            sum(record["slots"] for record in drained),
            max((record["lost"] for record in drained), default=0),
            sum(record["torn"] for record in drained),
        )

    def test_ends_of_a_process(self):
        for end, status in (
            ("exit", 0),
            ("_exit", 3),
            ("exec", 0),
            ("destroy", 0),
            ("kill", -signal.SIGKILL),
            ("pause", -signal.SIGKILL),
        ):
            for count in (3, 1000, 20000) if IS_LONG or end in ("exit", "kill") else (3, 1000):
                with self.subTest(end=end, count=count):
                    self.setUp()
                    self.assertEqual(self.play(end, count, check=False).returncode, status)
                    trace = self.collect()
                    self.assert_whole(self.device_records(trace), count)
                    drained = self.drained(trace)
                    if (
                        end == "kill" and drained[0] < count + 3
                    ):  # killed before the drain recorded what it had just moved
                        drained = (count + 3, *drained[1:])
                    self.assertEqual(drained, (count + 3, 0, 0))
                    again = self.collect()  # finds nothing more
                    self.assertEqual(self.drained(again), self.drained(trace))

    def test_drained_while_it_runs(self):
        self.play("pause", 5000, check=False)
        self.assert_whole(self.device_records(self.only_trace()), 5000)

    def test_the_command_collects(self):
        for end in ("exit", "kill"):
            with self.subTest(end=end):
                self.setUp()
                environment = self.environment(preload=False, GPUMEMTRACE_SIM_MEMORY="256M")
                result = subprocess.run(
                    [
                        COMMAND,
                        "record",
                        "--device",
                        "simulated",
                        "--trace-dir",
                        self.folder,
                        self.binary("rings_player"),
                        end,
                        "3000",
                    ],
                    env=environment,
                    check=False,
                    capture_output=True,
                    text=True,
                )
                self.assertEqual(result.returncode, 0 if end == "exit" else -signal.SIGKILL, result.stderr)
                self.assertEqual(glob.glob(os.path.join(self.folder, "*", "*.ring")), [])
                self.assert_whole(self.device_records(self.only_trace()), 3000)

    def test_killed_between_writing_and_giving_back(self):
        """What stands in the log and in the ring is reported once."""
        self.play("kill", 1000, check=False)
        link = glob.glob(os.path.join(self.only_trace().path, "*.ring"))[0]
        file = os.readlink(link)
        shutil.copy(file, os.path.join(self.folder, "copy"))
        self.assert_whole(self.device_records(self.collect()), 1000)
        self.assertFalse(os.path.exists(file))
        shutil.copy(os.path.join(self.folder, "copy"), file)
        os.symlink(file, link)
        self.assert_whole(self.device_records(self.collect()), 1000)

    def test_report_on_a_process_that_runs(self):
        environment = self.environment(GPUMEMTRACE_SIM_MEMORY="256M", STANDIN_LOG="/dev/null")
        with subprocess.Popen(
            [self.binary("rings_player"), "wait", "100"], env=environment, cwd=self.folder, stdout=subprocess.PIPE
        ) as program:
            self.assertEqual(program.stdout.readline(), b"ready\n")
            trace = self.collect()
            self.assert_whole(self.device_records(trace), 100)
            self.assertEqual(len(glob.glob(os.path.join(trace.path, "*.ring"))), 1, "it is the process's")
            program.kill()

    def test_links_to_other_files_are_left_alone(self):
        self.play("nothing")
        other = os.path.join(self.folder, "precious")
        open(other, "wb").close()
        link = os.path.join(self.only_trace().path, "device-7.ring")
        os.symlink(other, link)
        self.collect()
        self.assertTrue(os.path.exists(link) and os.path.exists(other))
        os.unlink(link)

    def test_torn(self):
        for end in ("torn-destroy", "torn-kill"):
            with self.subTest(end=end):
                self.setUp()
                self.play(end, check=False)
                trace = self.collect()
                words = [word for _, _, _, word in self.device_records(trace)[5]]
                self.assertEqual(words, [0, 1, 2, 3, 5, 6, 7, 8, 9])
                self.assertEqual(self.drained(trace), (9, 0, 1))

    def test_full(self):
        result = self.play("full")
        self.assertEqual(result.stdout, "dropped 100 sub-rings 32 capacity 4096\n")
        trace = self.collect()
        records = self.device_records(trace)
        self.assertEqual([word for _, _, _, word in records[2]], [*range(4096), 1_000_000])
        self.assertEqual([word for _, _, _, word in records[1]], [0, *range(31 * 4095 + 1, 32 * 4095 + 1)])
        self.assertEqual(self.drained(trace), (32 * 4096 + 1, 100, 0))

    def test_size(self):
        result = self.play("full", env={"GPUMEMTRACE_DEVICE_RING_SIZE": str(512 << 10)})
        self.assertEqual(result.stdout, "dropped 100 sub-rings 32 capacity 256\n")
        self.collect()

    def test_waiting(self):
        result = self.play("flood", 200000, env={"GPUMEMTRACE_DEVICE_RING_FULL": "1"})
        self.assertEqual(result.stdout, "waits 1\n")
        records = self.device_records(self.collect())
        words = sorted(word for found in records.values() for _, _, _, word in found)
        self.assertEqual(words, list(range(400000)))

    def test_limit_of_the_trace(self):
        self.play("flood", 200000, env={"GPUMEMTRACE_DEVICE_RING_FULL": "1", "GPUMEMTRACE_MAX_TRACE": str(8 << 20)})
        trace = self.collect()
        kept = sum(len(records) for records in self.device_records(trace).values())
        self.assertEqual(kept + trace.lost["limit"], 400000)
        self.assertGreater(kept, 10000)

    def test_fork(self):
        self.play("fork")
        trace = self.collect()
        self.assertEqual([word for _, _, _, word in self.device_records(trace)[0]], list(range(100)))
        self.assertEqual(self.drained(trace), (100, 0, 0))

    def test_contexts(self):
        for note in (True, False):
            with self.subTest(note=note):
                self.setUp()
                result = self.play("contexts", note=note, env={"GPUMEMTRACE_SIM_DEVICES": "2"})
                self.assertEqual(result.stdout, "different 1\n")
                trace = self.only_trace()
                for number in range(5):
                    words = [word for _, _, _, word in self.device_records(trace, number)[0]]
                    start = 1000 * (number + 1)
                    self.assertEqual(words, list(range(start, start + 100)))
                links = glob.glob(os.path.join(trace.path, "*.ring"))
                self.assertEqual(len(links), 2, "memory is used again")
                self.collect()

    def test_primary_context(self):
        self.play("primary")
        trace = self.collect()
        for number in range(3):
            words = [word for _, _, _, word in self.device_records(trace, number)[0]]
            start = 1000 * (number + 1)
            self.assertEqual(words, list(range(start, start + 100)))

    def test_capture(self):
        for note in (True, False):
            for mode in (0, 1, 2):  # global, thread local, relaxed
                with self.subTest(note=note, mode=mode):
                    self.setUp()
                    self.assertEqual(self.play("capture", mode, note=note).stdout, "mode 0\n")
                    self.assertEqual(len(self.device_records(self.collect())[0]), 1)

    def test_node_of_a_graph(self):
        self.play("node", note=False)
        self.assertEqual(len(self.device_records(self.collect())[0]), 1)

    def test_modules_come_and_go(self):
        self.play("reload")
        words = [word for _, _, _, word in self.device_records(self.collect())[0]]
        self.assertEqual(words, [i for i in range(50) if i % 3 != 0])

    def test_made_with_the_context(self):
        """Before any module is there: later a kernel may be running or a stream capturing."""
        self.play("nothing")
        self.assertEqual(len(glob.glob(os.path.join(self.only_trace().path, "*.ring"))), 1)

    def test_a_device_that_others_use(self):
        """The control is there late, not never."""
        self.play("exit", 100, env={"GPUMEMTRACE_SIM_COPY_MILLISECONDS": "200"})
        self.assertEqual(self.drained(self.collect()), (103, 0, 0))

    def test_nothing_instrumented(self):
        self.play("nothing", note=False)
        self.assertEqual(glob.glob(os.path.join(self.only_trace().path, "device*")), [])

    def test_nothing_of_it_is_recorded(self):
        self.play("exit", 100)
        trace = self.collect()
        self.assertEqual(self.drained(trace), (103, 0, 0))
        self.assertEqual(
            [call.api for call in trace.calls if call.kind in ("alloc", "free", "copy", "set")],
            ["cuModuleGetGlobal_v2"],
        )
        self.assertEqual(trace.lost, {})

    def test_without_shared_memory(self):
        """A /dev/shm that is too small: memory of the process's own, which ends with it."""
        result = self.play_in_namespace("mount -t tmpfs -o size=64k none /dev/shm", "destroy", "1000")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assert_whole(self.device_records(self.only_trace()), 1000)

    def test_without_any_memory(self):
        result = self.play_in_namespace(
            "ulimit -f 40960", "refused", GPUMEMTRACE_DEVICE_RING_SIZE=str(64 << 20), GPUMEMTRACE_SIM_GAPS="0"
        )
        self.assertEqual((result.returncode, result.stdout), (0, "control 0\n"), result.stderr)
        self.assertEqual(self.only_trace().lost, {"no ring": 1})
        report = subprocess.run(
            [COMMAND, "report", self.only_trace().path], check=False, capture_output=True, text=True
        )
        self.assertIn("in-kernel malloc", report.stdout)

    def play_in_namespace(self, command, *words, **more):
        if subprocess.run(["unshare", "-m", "true"], check=False, capture_output=True).returncode != 0:
            self.skipTest("no mount namespaces here")
        script = f'{command} && exec env LD_PRELOAD={interposed_case.INTERPOSER} "$@"'
        environment = self.environment(GPUMEMTRACE_SIM_MEMORY="32M", STANDIN_LOG="/dev/null", **more)
        del environment["LD_PRELOAD"]
        return subprocess.run(
            ["unshare", "-m", "bash", "-c", script, "-", self.binary("rings_player"), *words],
            env=environment,
            check=False,
            capture_output=True,
            text=True,
            cwd=self.folder,
        )


if __name__ == "__main__":
    interposed_case.main()
