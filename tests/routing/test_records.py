# SPDX-License-Identifier: Apache-2.0
"""What the records of rarer calls say: played on the simulated device, read back from the trace word for word.

It is one file because it is one list: a test for each scene of records.cpp."""

import os

import interposed_case
from interposed_case import InterposedCase
from trace_schema import argument_word, enumeration, pack_block_extents, pack_grid

SIMULATED = os.environ["GMT_SIMULATED"]
MemoryKind, FreeFunction, GraphOp = enumeration("MemoryKind"), enumeration("FreeFunction"), enumeration("GraphOp")
LifeOp, ObjectClass, SyncOp = enumeration("LifeOp"), enumeration("ObjectClass"), enumeration("SyncOp")
UseClass = enumeration("UseClass")
COPY_NODE, SET_NODE = 1, 2  # CUgraphNodeType
# Flags and other constants of trace/packed_words.h and trace/format.h.
SCANNED = 1
EXTERNAL = 1
READS, WRITES, TOLD_BEFORE = 1, 2, 4
RUNTIME, ARRAY_SIDE = 1 << 15, 3


# Words of a use.
RANGE, ROWS, NODE = slice("address", "use"), slice("address", "element_bytes"), slice("node", "node_type")


class Records(InterposedCase):
    def play(self, scene, program="records", **more):
        """The scene's trace; the program must have said the same without us."""
        if not os.path.exists(os.path.join(SIMULATED, "libcuda.so.1")):
            self.skipTest("the simulated device is not built")
        environment = {"LD_LIBRARY_PATH": SIMULATED, **more}
        without = self.run_program(program, scene, preload=False, env=environment)
        with_us = self.run_program(program, scene, env=environment)
        self.assertEqual(with_us.stdout, without.stdout)
        self.said = dict(line.rsplit(" ", 1) for line in with_us.stderr.splitlines())
        self.trace = self.only_trace()
        self.assertEqual((self.trace.torn, self.trace.lost), (0, {}))

    def kind(self, kind):
        return [record for record in self.trace.records if record.kind == kind]

    def only(self, api):
        found = self.trace.calls_of(api)
        self.assertEqual(len(found), 1, found)
        return found[0]


class Facts(Records):
    def test_device_durations_and_free_memory(self):
        self.play("facts")
        (device,) = self.kind("device")
        (name,) = [text for text in self.kind("text") if text["id"] == device["name"]]
        self.assertIn("imulated", name.text)
        self.assertEqual(device["ordinal"], 0)
        self.assertEqual(device["texture_alignment":"surface_alignment"], [512, 32, 512])
        self.assertGreater(device["bytes"], 1 << 30)
        self.assertGreater(device["compute_capability"], 30)
        for api in ("cuMemcpyHtoD_v2", "cuMemsetD8_v2", "cuStreamSynchronize", "cuMemFree_v2"):
            self.assertGreater(self.only(api).ticks, 0, api)
        self.assertEqual(self.only("cuStreamCreate").ticks, 0)
        self.assertEqual(self.only("cuStreamCreate").context, self.kind("context")[0].context)
        fitted, failed = self.trace.calls_of("cuMemAlloc_v2")
        self.assertGreater(fitted.ticks, 0)
        self.assertEqual(failed.result, 2)
        (info,) = self.kind("memory-info")
        self.assertGreaterEqual(info.order, failed.order)
        self.assertEqual(info["total_bytes"], device["bytes"])
        self.assertLessEqual(info["free_bytes"], info["total_bytes"])
        self.assertEqual(info.context, fitted.context)

    def test_failure_in_a_capture(self):
        self.play("captured_failure")
        self.assertEqual([call.result for call in self.trace.calls_of("cuMemAlloc_v2", "cuStreamEndCapture")], [2, 0])
        self.assertEqual(len(self.kind("memory-info")), 1)

    def test_each_side_of_a_fork_describes_its_device(self):
        self.run_program("records", "forked", env={"LD_LIBRARY_PATH": SIMULATED})
        found = self.traces()
        self.assertEqual(len(found), 2)
        for trace in found:
            kinds = [record.kind for record in trace.records]
            self.assertEqual((kinds.count("device"), kinds.count("text"), kinds.count("context")), (1, 1, 1))


class Order(Records):
    def setUp(self):
        super().setUp()
        self.play("", program="order_records")
        self.handle = {what: int(handle, 16) for what, handle in self.said.items()}

    def words(self, api):
        return [(record.kind, record.a[:4], record.result) for record in self.trace.calls_of(api)]

    def test_events_of_contexts_and_times(self):
        context, first, second = (self.handle[what] for what in ("context", "first", "second"))
        self.assertEqual(self.words("cuCtxRecordEvent"), [("sync", [context, first, SyncOp.CONTEXT_RECORD, 0], 0)])
        self.assertEqual(self.words("cuCtxWaitEvent"), [("sync", [context, first, SyncOp.CONTEXT_WAIT, 0], 0)])
        self.assertEqual(self.words("cuEventElapsedTime_v2"), [("sync", [0, second, SyncOp.ELAPSED_TIME, first], 0)])
        self.assertEqual(
            self.words("cuStreamWaitEvent"),
            [("sync", [self.handle["stream"], first, SyncOp.STREAM_WAIT_EVENT, EXTERNAL], 0)],
        )

    def test_events_that_launches_record(self):
        stream, first, second = (self.handle[what] for what in ("stream", "first", "second"))
        launch, one, two, plain = self.trace.calls_of("cuLaunchKernelEx")
        self.assertEqual(
            [(record.kind, record.result) for record in (launch, one, two, plain)],
            [("launch", 400), ("sync", 400), ("sync", 400), ("launch", 400)],
        )
        self.assertEqual([one.a, two.a], [[stream, event, SyncOp.EVENT_RECORD, 0] for event in (first, second)])
        self.assertEqual([launch.order, one.order, two.order], list(range(launch.order, launch.order + 3)))

    def test_nodes(self):
        graph, exec_, first, second = (self.handle[what] for what in ("graph", "exec", "first", "second"))
        record, wait, host, any_node = (self.handle[what] for what in ("record", "wait", "host", "any"))
        for api, words in (
            ("cuGraphAddEventRecordNode", [graph, GraphOp.EVENT_RECORD, record, first]),
            ("cuGraphAddEventWaitNode", [graph, GraphOp.EVENT_WAIT, wait, first]),
            ("cuGraphEventRecordNodeSetEvent", [0, GraphOp.EVENT_RECORD, record, second]),
            ("cuGraphExecEventWaitNodeSetEvent", [exec_, GraphOp.EVENT_WAIT, wait, second]),
            ("cuGraphAddNode_v2", [graph, GraphOp.EVENT_WAIT, any_node, second]),
        ):
            self.assertEqual(self.words(api), [("graph-change", words, 0)])
        (added,) = self.trace.calls_of("cuGraphAddHostNode")
        self.assertEqual((added.kind, added["graph":"node"]), ("graph-change", [graph, GraphOp.HOST, host]))


class Bindings(Records):
    def test_textures_surfaces_tensor_maps(self):
        self.play("textures")
        base = self.only("cuMemAlloc_v2")["address"]
        rows, refused, line = self.trace.calls_of("cuTexObjectCreate")
        self.assertEqual((rows.kind, rows.result, refused.kind, refused.result), ("use", 0, "use", 1))
        self.assertEqual(
            rows[ROWS], [base, 416 * 49 + 400, UseClass.TEXTURE, int(self.said["object"], 16), 416, 400, 50, 4]
        )
        self.assertEqual(refused[ROWS], [base, 400 * 50, UseClass.TEXTURE, 0, 400, 400, 50, 4])
        self.assertEqual(line[RANGE], [base + 512, 1024, UseClass.TEXTURE])
        surface, array = self.only("cuSurfObjectCreate"), self.only("cuArray3DCreate_v2")
        self.assertEqual((surface.kind, surface[RANGE]), ("use", [array["address"], 0, UseClass.SURFACE]))
        tensor = self.only("cuTensorMapEncodeTiled")
        self.assertEqual(tensor[ROWS], [base, 3 * 1280 + 9 * 128 + 120, UseClass.TENSOR_MAP, 0, 128, 120, 10, 2])


class Batches(Records):
    def members(self, api, count):
        """The calls' members, split after `count` of each call."""
        found = self.trace.calls_of(api)
        self.assertEqual(len({call.order for call in found}), len(found))
        parts, at = [], 0
        for part in count:
            parts.append(found[at : at + part])
            at += part
        self.assertEqual(at, len(found))
        return parts

    def test_batches(self):
        self.play("batches")
        base = self.only("cuMemAlloc_v2")["address"]
        stream = self.only("cuStreamCreate")["handle"]
        fits, past, many, none = self.members("cuMemcpyBatchAsync_v2", (3, 2, 1025, 1))
        for i, copy in enumerate(fits):
            self.assertEqual((copy.kind, copy.result, copy.flags & 48), ("copy", 0, 48))
            self.assertEqual(copy.a, [base + i * 256, base + (1 << 19) + i * 256, 64, stream])
        self.assertEqual(len({self.trace.stack(copy)[0] for copy in fits}), 1)
        self.assertEqual([copy.ticks > 0 for copy in fits], [True, False, False])
        self.assertEqual([(copy.result, copy["bytes"]) for copy in past], [(1, 1 << 20)] * 2)
        self.assertEqual([copy["destination"] for copy in many[:1024]], [base + i * 256 for i in range(1024)])
        self.assertEqual((many[1024].kind, many[1024]["fourth"]), ("note", 1100))
        self.assertEqual((none[0].kind, none[0].a), ("note", [0, 0, 0, 0]))
        self.assertTrue(all(not record.in_flight for record in self.trace.calls))

    def test_death_in_a_batch(self):
        result = self.run_program(
            "records",
            "batches",
            check=False,
            env={
                "LD_LIBRARY_PATH": SIMULATED,
                "LD_PRELOAD": f"{interposed_case.INTERPOSER}:{os.environ['GMT_STAGED_DEVICE']}",
                "STAGED_ABORT_IN": "cuMemcpyBatchAsync_v2",
            },
        )
        self.assertNotEqual(result.returncode, 0)
        trace = self.only_trace()
        (copy,) = [call for call in trace.calls if call.in_flight]
        self.assertEqual((copy.api, copy["bytes"], copy.flags & 48), ("cuMemcpyBatchAsync_v2", 64, 48))
        self.assertEqual(trace.torn, 0)

    def test_shapes_and_uses(self):
        self.play("batches")
        base = self.only("cuMemAlloc_v2")["address"]
        array = self.only("cuArray3DCreate_v2")["address"]
        plain, into_array = self.trace.calls_of("cuMemcpy3DBatchAsync_v2")
        self.assertEqual(
            plain["destination":"bytes"] + plain["destination_pitch":"source_rows"],
            [base + 65536, base, 128, 32, 16, 16, 8, 1, 8, 8],
        )
        self.assertEqual(
            into_array["destination":"bytes"] + into_array["destination_pitch":"depth"],
            [array, base, 16 * 8 * 8, 0, 128, 128, 8, 1],
        )
        self.assertEqual((into_array["destination_x":"destination_z"], into_array.flags & 3), ([32, 2, 0], 3))
        self.assertEqual(
            [use[RANGE] for use in self.trace.calls_of("cuMemPrefetchBatchAsync")],
            [[base, 100, UseClass.PREFETCH], [base + 4096, 200, UseClass.PREFETCH]],
        )
        self.assertEqual(
            [(use[RANGE], use.flags & 3) for use in self.trace.calls_of("cuStreamBatchMemOp_v2")],
            [
                ([base, 4, UseClass.MEM_OP], WRITES),
                ([base + 8, 8, UseClass.MEM_OP_WAIT], READS),
                ([0, 0, UseClass.MEM_OP], 0),
            ],
        )


class Graphs(Records):
    def test_nodes(self):
        self.play("graphs")
        base = self.only("cuMemAlloc_v2")["address"]
        graph = int(self.said["graph"], 16)
        to, source = self.trace.calls_of("cuGraphAddMemcpyNode")
        self.assertEqual(
            (to[ROWS], to.flags & 3),
            ([base + 32768, 128 * 9 + 100, UseClass.GRAPH_NODE, graph, 128, 100, 10, 1], WRITES),
        )
        self.assertEqual(
            (source[ROWS], source.flags & 3),
            ([base + 4, 128 * 9 + 100, UseClass.GRAPH_NODE, graph, 128, 100, 10, 1], READS),
        )
        self.assertEqual(
            self.only("cuGraphAddMemsetNode")[ROWS], [base, 256 * 2 + 32, UseClass.GRAPH_NODE, graph, 256, 32, 3, 4]
        )
        copy, set_node = int(self.said["copy-node"], 16), int(self.said["set-node"], 16)
        self.assertEqual([to[NODE], source["node":]], [[copy, 0, COPY_NODE], [copy, 1, COPY_NODE]])
        # The whole copy, from device to device, with the record of its destination.
        self.assertEqual(
            to["copy_destination":"copy_source_z"], [base + 32768, base + 4, 1000, 0, 128, 128, 100, 10, 1] + [0] * 8
        )
        self.assertEqual((to["flags_of_copy"], to.flags, source.flags), (2 | 2 << 2, WRITES, READS | TOLD_BEFORE))
        self.assertEqual(self.only("cuGraphAddMemsetNode")["node":], [set_node, 0, SET_NODE])
        self.assertEqual(
            [[change["graph"], *change[NODE]] for change in self.trace.calls_of("cuGraphMemcpyNodeSetParams")],
            [[0, copy, 0, COPY_NODE], [0, copy, 1, COPY_NODE]],
        )
        alloc, free = self.trace.calls_of("cuGraphAddNode_v2")
        address = int(self.said["address"], 16)
        self.assertEqual((alloc.kind, alloc.a), ("alloc", [address, 5000, MemoryKind.GRAPH, graph]))
        self.assertEqual((free.kind, free["address":"graph"]), ("free", [address, FreeFunction.GRAPH_FREE_NODE, graph]))
        self.assertEqual(self.only("cuStreamEndCapture")["graph"], int(self.said["captured"], 16))

    def test_kernels(self):
        """Arguments as a launch's: the number of the parameter above the address."""
        self.play("graph-kernels")
        said = {name: int(handle, 16) for name, handle in self.said.items()}
        base = self.only("cuMemAlloc_v2")["address"]
        size = [pack_grid(2, 1, 1), pack_block_extents(64, 1, 1)]

        def kernel(graph, node, first):
            return [said["function"], graph, *size, node, argument_word(first, 1), argument_word(base + 64, 2)]

        calls = [
            ("cuGraphAddKernelNode_v2", kernel(said["inner"], said["node"], base)),
            ("cuGraphKernelNodeSetParams_v2", kernel(0, said["node"], base + 128)),
            ("cuGraphExecKernelNodeSetParams_v2", kernel(said["exec"], said["last"], base + 128)),
        ]
        for name, words in calls:
            with self.subTest(name):
                record = self.only(name)
                self.assertEqual((record.kind, record.result, record.flags & SCANNED), ("graph-kernel", 0, SCANNED))
                self.assertEqual([f"{word:x}" for word in record.a[:7]], [f"{word:x}" for word in words])
        any_kernel, any_child = self.trace.calls_of("cuGraphAddNode_v2")
        self.assertEqual(
            (any_kernel.kind, any_kernel.a[:7]), ("graph-kernel", kernel(said["outer"], said["last"], base + 128))
        )
        changes = [any_child] + [
            self.only(name)
            for name in (
                "cuGraphAddChildGraphNode",
                "cuGraphNodeSetEnabled",
                "cuGraphExecUpdate_v2",
                "cuGraphDestroyNode",
            )
        ]
        self.assertEqual({change.kind for change in changes}, {"graph-change"})
        self.assertEqual(
            [change.a for change in changes],
            [
                [said["outer"], GraphOp.CHILD, said["any-child"], said["inner"]],
                [said["outer"], GraphOp.CHILD, said["child"], said["inner"]],
                [said["exec"], GraphOp.ENABLE, said["last"], 0],
                [said["exec"], GraphOp.UPDATE, 0, said["outer"]],
                [0, GraphOp.REMOVE, said["last"], 0],
            ],
        )
        inside = self.only("cuGraphChildGraphNodeGetGraph")
        self.assertEqual(
            (inside.kind, inside.a), ("life", [said["inside"], ObjectClass.GRAPH, LifeOp.USE, said["any-child"]])
        )
        named = [record for record in self.trace.records if record.kind == "name"]
        self.assertIn(said["function"], [record["handle"] for record in named])


class Contexts(Records):
    def test_calls_name_theirs_once_there_are_several(self):
        self.play("contexts")
        first, second = (record.context for record in self.kind("context"))
        self.assertEqual(first, 1)
        for name in ("cuMemAlloc_v2", "cuStreamCreate"):
            self.assertEqual([call.context for call in self.trace.calls_of(name)], [first, second], name)
        for name in ("cuMemsetD8_v2", "cuMemAllocAsync", "cuMemFree_v2"):
            self.assertEqual([call.context for call in self.trace.calls_of(name)], [0, second], name)
        copies = self.trace.calls_of("cuMemcpyBatchAsync_v2")
        self.assertEqual([copy.context for copy in copies], [0, 0, second, second])


class Memory(Records):
    def test_arrays(self):
        self.play("arrays")
        levels = self.only("cuMipmappedArrayCreate")
        self.assertEqual(levels["bytes"], 8 * (64 * 32 + 32 * 16 + 16 * 8))
        self.assertEqual(levels["width", "height", "depth", "element_bytes", "flags"], [512, 32, 0, 8, 2])
        view = self.only("cuMipmappedArrayGetLevel")
        self.assertEqual(
            (view.kind, view["handle":"level"]),
            ("life", [int(self.said["view"], 16), ObjectClass.ARRAY_VIEW, LifeOp.CREATE, levels["address"], 1]),
        )
        blocks, planes = self.trace.calls_of("cuArray3DCreate_v2")
        self.assertEqual(blocks["bytes", "width", "element_bytes"], [8 * 3 * 8, 0, 0])
        self.assertEqual(planes["bytes", "width", "element_bytes"], [64 * 64 * 3 // 2, 0, 0])
        self.assertEqual(
            [use[RANGE] for use in self.trace.calls_of("cuMemMapArrayAsync")],
            [[levels["address"], 0, UseClass.ACCESS], [planes["address"], 0, UseClass.ACCESS]],
        )

    def test_pools_and_flags(self):
        self.play("pools", GPUMEMTRACE_SIM_DEVICES="2")
        pool = self.only("cuMemPoolCreate")["handle"]
        self.assertEqual(self.only("cuMemPoolCreate").a, [pool, ObjectClass.POOL, LifeOp.CREATE, 0])
        threshold, reuse = self.trace.calls_of("cuMemPoolSetAttribute")
        self.assertEqual(threshold["handle":"value"], [pool, ObjectClass.POOL, LifeOp.SET, 4, 123456])
        self.assertEqual(reuse["handle":"value"], [pool, ObjectClass.POOL, LifeOp.SET, 2, 0])
        self.assertEqual(self.only("cuMemPoolTrimTo").a, [pool, ObjectClass.POOL, LifeOp.TRIM, 777])
        self.assertEqual(
            [(grant.kind, grant.a, grant.flags & 3) for grant in self.trace.calls_of("cuMemPoolSetAccess")],
            [
                ("use", [pool, 0, UseClass.ACCESS, 0], READS | WRITES),
                ("use", [pool, 0, UseClass.ACCESS, 1], READS),
                ("use", [pool, 0, UseClass.ACCESS, 1], 0),
            ],
        )
        self.assertEqual(self.only("cuDeviceSetMemPool").a, [pool, ObjectClass.POOL, LifeOp.USE, 0])
        self.assertEqual(self.only("cuMemHostAlloc")["flags"], 1 | 4)
        self.assertEqual(self.only("cuMemAllocManaged")["flags"], 2)
        self.assertEqual(self.only("cuMemHostRegister_v2")["flags"], 1)
        peer = self.only("cuCtxEnablePeerAccess")
        self.assertEqual((peer.kind, peer["handle":"op"]), ("life", [0, ObjectClass.PEER_ACCESS, LifeOp.CREATE]))
        self.assertEqual(peer["context"], self.kind("context")[0]["handle"])
        self.assertNotEqual(peer.result, 0)

    def test_physical_memory_names_its_device(self):
        self.play("physical", GPUMEMTRACE_SIM_DEVICES="2")
        made, again = self.only("cuMemCreate"), self.only("cuMemRetainAllocationHandle")
        imported = self.only("cuMemImportFromShareableHandle")
        self.assertEqual(made["bytes":], [2 << 20, MemoryKind.VMM_HANDLE, 1 + 1])
        self.assertEqual(again.a, [made["address"], 0, MemoryKind.VMM_HANDLE, 1 + 1])
        self.assertEqual(
            imported["bytes":], [0, MemoryKind.VMM_HANDLE, 0 + 1], "an import is of the first device there"
        )


class Linkers(Records):
    def test_lives(self):
        self.play("linkers")
        linker = int(self.said["linker"], 16)
        made = self.only("cuLinkCreate_v2")
        self.assertEqual((made.kind, made.result, made.a), ("life", 0, [linker, ObjectClass.LINKER, LifeOp.CREATE, 0]))
        ends = self.trace.calls_of("cuLinkDestroy")
        self.assertEqual([end.result for end in ends], [0, 400])
        for end in ends:
            self.assertEqual(end["handle":"op"], [linker, ObjectClass.LINKER, LifeOp.DESTROY])


class RuntimeShapes(Records):
    def test_calls_without_a_driver_call(self):
        self.play("", program="runtime_records")
        device, array = self.only("cuMemAlloc_v2")["address"], self.only("cuArray3DCreate_v2")["address"]
        into = self.only("cudaMemcpy2DToArray")
        self.assertEqual((into.kind, into.result, into.flags & 0x800F), ("copy", 12, RUNTIME | ARRAY_SIDE))
        self.assertEqual(
            [into["destination", "bytes"], into["source_pitch":"depth"], into["destination_x":"destination_y"]],
            [[array, 1000], [100, 200, 5, 1], [8, 2]],
        )
        self.assertEqual(into.flags >> 8 & 15, 1 + 1, "the kind is host to device")
        out = self.only("cudaMemcpy2DFromArray")
        self.assertEqual((out.result, out.flags & 0x800F), (12, RUNTIME | ARRAY_SIDE << 2))
        self.assertEqual(out["source", "destination_pitch", "source_x", "source_y"], [array, 100, 12, 3])
        block = self.only("cudaMemcpy3D")
        self.assertEqual(
            (block.result, block["destination"], block["bytes"]), (12, device + 4 + (1 + 2 * 10) * 100, 2000)
        )
        self.assertEqual(block["destination_pitch":"source_rows"], [100, 256, 200, 5, 2, 10, 10])
        nothing = self.only("cudaMalloc3D")
        self.assertEqual(
            (nothing.kind, nothing.result, nothing["address":"memory_kind"], nothing["height":"depth"]),
            ("alloc", 0, [0, 0, MemoryKind.PITCHED], [10, 10]),
        )


if __name__ == "__main__":
    interposed_case.main()
