# SPDX-License-Identifier: Apache-2.0
"""NVTX ranges, marks, names and pools in the trace; another injection library beside us; nothing where there is no CUDA."""

import os
import re

import interposed_case
from interposed_case import INTERPOSER, InterposedCase
from trace_schema import enumeration

LifeOp = enumeration("LifeOp")
PUSH, POP, START, END, MARK, NAME_DOMAIN, NAME_THREAD, NAME_RESOURCE, THREAD = enumeration("RangeOp")
USER_HEAP, REGION = enumeration("ObjectClass").USER_HEAP, enumeration("MemoryKind").SUB_ALLOCATION
UNREGISTER = enumeration("FreeFunction").REGION_UNREGISTER


class Nvtx(InterposedCase):
    def run_nvtx(self, what, **more):
        return self.run_program("survival_nvtx_program", what, env={"NVTX_INJECTION64_PATH": INTERPOSER, **more})

    def run_with_tool(self, what, **more):
        self.heard_file = os.path.join(self.folder, "heard")
        return self.run_nvtx(
            what, GPUMEMTRACE_NVTX_NEXT=self.binary("libsurvival_nvtx_tool.so"), NVTX_TOOL_LOG=self.heard_file, **more
        )

    def heard(self):
        with open(self.heard_file, encoding="utf-8") as file:
            return [line.strip() for line in file]

    def texts(self, trace):
        return {record["id"]: record.text for record in trace.records if record.kind == "text"}

    def story(self, trace):
        """Size of each allocation -> the ranges open there, as a reader of the trace follows them."""
        texts, stacks, started, sizes = self.texts(trace), {}, {}, {}
        domains = {
            record["domain"]: texts[record["text"]]
            for record in trace.records
            if record.kind == "range" and record["op"] == NAME_DOMAIN
        }
        for record in trace.records:
            stack = stacks.setdefault(record.log.path, [])
            if record.kind == "alloc":
                sizes[record["bytes"]] = list(started.values()) + stack
            if record.kind != "range":
                continue
            op, domain, text, what = record["op":"id"]
            name = (domains[domain] + ": " if domain else "") + texts.get(text, "?")
            if op == PUSH:
                stack.append(name)
            elif op == POP:
                self.assertLess(what, len(stack))
                del stack[what:]
            elif op == THREAD:
                del stack[:]
            elif op == START:
                started[what] = name
            elif op == END:
                del started[what]
        return sizes

    def test_words(self):
        result = self.run_nvtx("words")
        self.assertEqual(result.stdout, "levels 12210\n")
        trace = self.only_trace()
        wide, epoch, process = "l\u00e4uft \u221a \U0001f600", "epoch 1", "process range"
        self.assertEqual(
            self.story(trace),
            {
                1: [process, epoch],
                2: [process, epoch, wide],
                3: [process, epoch, wide, "by attributes"],
                4: [process, epoch],
                5: [process, epoch, "library: regist\u00e9red"],
                6: [process, "library: regist\u00e9red"],
                7: ["library: by attributes"],
                8: [],
            },
        )
        texts = self.texts(trace)
        said = {
            (record["op"], texts.get(record["text"]), record["id"])
            for record in trace.records
            if record.kind == "range"
        }
        self.assertIn((MARK, "before CUDA", 0), said)
        self.assertIn((MARK, "regist\u00e9red", 0), said)
        self.assertIn((NAME_THREAD, "main thread", int(trace.info["pid"])), said)
        self.assertIn((NAME_RESOURCE, "copies", 0x1234), said)
        self.assertNotIn("nothing happens in here", texts.values())
        mark = next(record for record in trace.records if record.kind == "range" and record["op"] == MARK)
        self.assertLess(mark.order, trace.calls_of("cuMemAlloc_v2")[0].order)

    def test_unseen_without_the_command(self):
        self.run_program("survival_nvtx_program", "words")
        self.assertEqual([record for record in self.only_trace().records if record.kind == "range"], [])

    def test_threads_that_share_a_log(self):
        self.run_nvtx("threads")
        self.assertEqual(
            self.story(self.only_trace()),
            {1: ["main"], 10: ["left open by a thread that ends"], 11: [], 12: [], 2: ["main"]},
        )

    def test_two_objects(self):
        self.run_nvtx("parts")
        self.assertEqual(self.story(self.only_trace()), {1: ["program", "library"], 2: ["program"]})

    def test_fork(self):
        self.assertEqual(self.run_nvtx("fork").stdout, "child 0\n")
        stories = [self.story(trace) for trace in self.traces()]
        self.assertIn({1: ["parent"]}, stories)
        self.assertIn({2: ["parent", "child"]}, stories)

    def test_many(self):
        result = self.run_nvtx("many", STANDIN_LOG="/dev/null")
        trace = self.only_trace()
        ranges = [record for record in trace.records if record.kind == "range"]
        self.assertLess(len(ranges), 6000 * 2 + 100, "ranges without a call are not written")
        story = self.story(trace)
        self.assertEqual(story[16], ["iteration 5999"])
        self.assertEqual(story[2], ["deep"] * 64)
        self.assertEqual(story[3], [])
        self.assertEqual((trace.torn, trace.lost), (0, {}))
        self.assertLess(int(re.match(r"(\d+) ns", result.stdout).group(1)), 500, "100 is wanted; machines are shared")

    def test_pool(self):
        self.assertEqual(self.run_nvtx("pool").stdout, "heap 1 handles 1 1\n")
        trace = self.only_trace()
        base = trace.calls_of("cuMemAlloc_v2")[0]["address"]
        pool = trace.calls_of("nvtxMemHeapRegister")[0]
        self.assertEqual(
            pool["object", "op", "usage", "address", "bytes"], [USER_HEAP, LifeOp.CREATE, 1, base, 1 << 20]
        )
        self.assertEqual(self.texts(trace)[pool["name"]], "the pool")
        regions = trace.calls_of("nvtxMemRegionsRegister")
        self.assertEqual(
            [r["address", "bytes", "memory_kind", "pool"] for r in regions],
            [[base, 1000, REGION, pool["handle"]], [base + 4096, 2000, REGION, pool["handle"]]],
        )
        gone = trace.calls_of("nvtxMemRegionsUnregister")
        self.assertEqual([(r.kind, r["address"], r["function"]) for r in gone], [("free", base, UNREGISTER)])
        ends = trace.calls_of("nvtxMemHeapReset", "nvtxMemHeapUnregister")
        self.assertEqual(
            [r["handle", "op"] for r in ends], [[pool["handle"], LifeOp.RESET], [pool["handle"], LifeOp.DESTROY]]
        )
        for record in [pool, *regions, *gone, *ends]:
            self.assertGreater(len(trace.stack(record)), 1)

    def payload_story(self):
        story = self.story(self.only_trace())
        self.assertEqual(
            story,
            {
                1: ["library: outer"],
                2: ["library: outer", "library: ?"],
                3: ["library: outer"],
                4: [],
                5: ["library: ?"],
                6: [],
            },
        )

    def test_payloads(self):
        self.assertEqual(self.run_nvtx("payload").stdout, "levels 5110 schema 0 enabled 1\n")
        self.payload_story()
        marks = [record for record in self.only_trace().records if record.kind == "range" and record["op"] == MARK]
        self.assertEqual(len(marks), 1)

    def test_no_cuda_no_trace(self):
        self.run_nvtx("nothing")
        self.assertEqual(self.traces(), [])

    def test_other_tool_hears_all_and_its_answers_stand(self):
        result = self.run_with_tool("words")
        self.assertEqual(
            result.stdout, "levels 781280\n"
        )  # 70, 1, 2, 71, 71: push and pop are the tool's, the rest ours
        heard = self.heard()
        self.assertEqual(heard.count("begin"), 1)
        self.assertEqual([line for line in heard if "wrong" in line], [])
        for line in (
            "push epoch 1",
            "pop",
            "start process range",
            "end 4711",
            "domain library",
            "register in d0",
            "domain push 51",
        ):
            self.assertIn(line, heard)
        story = self.story(self.only_trace())
        self.assertEqual(story[5][-1], "library: regist\u00e9red")
        self.assertEqual(story[8], [])

    def test_other_tool_in_two_objects(self):
        self.run_with_tool("parts")
        self.assertEqual(self.heard(), ["begin", "push program", "begin", "push library", "pop"])
        self.assertEqual(self.story(self.only_trace())[1], ["program", "library"])

    def test_other_tool_that_refuses(self):
        self.assertEqual(self.run_with_tool("words", NVTX_TOOL_MODE="fails").stdout, "levels 12210\n")
        self.assertEqual(self.heard(), ["begin"])
        self.assertEqual(len(self.story(self.only_trace())), 8)

    def test_other_tools_pool(self):
        self.assertEqual(self.run_with_tool("pool").stdout, "heap 1 handles 1 1\n")
        self.assertEqual(self.only_trace().calls_of("nvtxMemHeapRegister")[0]["handle"], 0x4EA9)
        self.assertIn("heap", self.heard())

    def test_other_tools_payloads(self):
        result = self.run_with_tool("payload")
        self.assertEqual(result.stdout, "levels 78182 schema 99 enabled 1\n")  # 72, 1, 1, 73 + 5
        self.assertEqual(
            self.heard(),
            [
                "begin",
                "domain library",
                "domain push wrong",
                "payload pop 17",
                "payload start",
                "payload end 4712",
                "schema",
            ],
        )
        self.payload_story()

    def test_other_tool_that_refuses_payloads(self):
        self.assertEqual(
            self.run_with_tool("payload", NVTX_TOOL_MODE="fails").stdout, "levels 5110 schema 0 enabled 1\n"
        )
        self.assertEqual(self.heard(), ["begin"])
        self.payload_story()

    def test_other_tool_that_is_not_there(self):
        self.run_nvtx("parts", GPUMEMTRACE_NVTX_NEXT="/nowhere/libtool.so")
        self.assertEqual(self.story(self.only_trace())[2], ["program"])
        notes = [note for note in self.noted() if note[0] == "nonvtx"]
        self.assertEqual(len(notes), 1)
        self.assertIn("/nowhere/libtool.so", notes[0][2])


if __name__ == "__main__":
    interposed_case.main()
