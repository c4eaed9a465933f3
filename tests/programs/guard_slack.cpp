// SPDX-License-Identifier: Apache-2.0
// libs: cuda
// A store beside a block that the fence cannot let fault: behind a block of 1,000 bytes the mapping goes on for 24 bytes
// more. The store is played by a second mapping of the same memory, so that it needs no kernel. Words:
//   behind, before   one changed byte, found when the block is freed
//   end              the same of a block that is never freed
//   context          the same of a block that ends with its context
//   pool             of stream-ordered memory
//   far              8 bytes from the tenth on
//   none             nothing is changed
//   set              cuMemsetD8 writes there: CUDA refuses it, as it does without the fence
//   in-graph         a graph's node writes there: that has a finding of its own
//
// run: behind
// options: --guard
// expect: error kernel-out-of-bounds count=1 bytes=1 message="begin just past the end of 1,000 bytes of device memory" stacks="freed here"@main:LINE(free),"allocated here"@allocate:LINE(alloc)
// run: before
// options: --guard
// expect: error kernel-out-of-bounds count=1 bytes=1 message="1 byte before 1,000 bytes" stacks="freed here"@main:LINE(free),"allocated here"@allocate:LINE(alloc)
// run: far
// options: --guard
// expect: error kernel-out-of-bounds count=1 bytes=8 message="9 bytes past the end" stacks="freed here"@main:LINE(free),"allocated here"@allocate:LINE(alloc)
// run: end
// options: --guard
// expect: error kernel-out-of-bounds count=1 bytes=1 message="at the end" stacks="allocated here"@allocate:LINE(alloc)
// expect: error leak count=1 bytes=1000
// run: context
// options: --guard
// expect: error kernel-out-of-bounds count=1 bytes=1 message="at the end" stacks="allocated here"@allocate:LINE(alloc)
// expect: error leak count=1 bytes=1000
// run: pool
// options: --guard
// expect: error kernel-out-of-bounds count=1 bytes=1 message="stream-ordered" stacks="freed here"@main:LINE(free-async),"allocated here"@allocate:LINE(alloc-async)
// run: none
// options: --guard
// expect: clean
// run: set
// options: --guard
// expect: error copy-out-of-bounds count=1 bytes=1
// run: in-graph
// options: --guard
// expect: error copy-out-of-bounds count=1 bytes=1
#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CHECK(call)                                                                                                    \
  do {                                                                                                                 \
    if (CUresult r = (call)) {                                                                                         \
      std::fprintf(stderr, "%s:%d: %s answered %d, not 0\n", __FILE__, __LINE__, #call, r);                            \
      std::exit(3);                                                                                                    \
    }                                                                                                                  \
  } while (0)

constexpr size_t kBytes = 1000;
constexpr size_t kUnit = size_t{2} << 20;

static bool pool;

[[gnu::noinline]] static CUdeviceptr allocate() {
  CUdeviceptr block = 0;
  if (pool) CHECK(cuMemAllocAsync(&block, kBytes, nullptr)); // @alloc-async
  else CHECK(cuMemAlloc(&block, kBytes));                    // @alloc
  CHECK(cuMemsetD8(block, 1, kBytes));
  return block;
}

// What a kernel's store to block + offset does, by another way to the same memory.
static void store(CUdeviceptr block, long offset, size_t bytes) {
  CUmemGenericAllocationHandle memory;
  CUdeviceptr other = 0;
  int device = 0;
  CHECK(cuMemRetainAllocationHandle(&memory, reinterpret_cast<void*>(block)));
  CHECK(cuMemAddressReserve(&other, kUnit, 0, 0, 0));
  CHECK(cuMemMap(other, kUnit, 0, memory, 0));
  CUmemAccessDesc access = {};
  access.location = {CU_MEM_LOCATION_TYPE_DEVICE, {device}};
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  CHECK(cuMemSetAccess(other, kUnit, &access, 1));
  CHECK(cuMemsetD8(other + block % kUnit + static_cast<size_t>(offset), 0x11, bytes));
  CHECK(cuCtxSynchronize()); // an unmap does not wait
  CHECK(cuMemUnmap(other, kUnit));
  CHECK(cuMemAddressFree(other, kUnit));
  CHECK(cuMemRelease(memory));
}

static void set_in_graph(CUcontext context, CUdeviceptr block) {
  CUgraph graph;
  CUgraphNode node;
  CUgraphExec executable;
  CUDA_MEMSET_NODE_PARAMS set = {};
  set.dst = block;
  set.elementSize = 1;
  set.width = kBytes + 1;
  set.height = 1;
  CHECK(cuGraphCreate(&graph, 0));
  CHECK(cuGraphAddMemsetNode(&node, graph, nullptr, 0, &set, context));
  CHECK(cuGraphInstantiate(&executable, graph, 0));
  CHECK(cuGraphLaunch(executable, nullptr));
  CHECK(cuCtxSynchronize());
  CHECK(cuGraphExecDestroy(executable));
  CHECK(cuGraphDestroy(graph));
}

int main(int argc, char** argv) {
  const char* word = argc > 1 ? argv[1] : "none";
  const auto is = [word](const char* what) { return std::strcmp(word, what) == 0; };
  pool = is("pool");
  CUcontext context;
  CHECK(cuInit(0));
  CHECK(cuCtxCreate(&context, nullptr, 0, 0));
  const CUdeviceptr block = allocate();
  if (is("before")) store(block, -1, 1);
  else if (is("far")) store(block, kBytes + 9, 8);
  else if (is("set")) std::printf("answer %d\n", cuMemsetD8(block, 0, kBytes + 1));
  else if (is("in-graph")) set_in_graph(context, block);
  else if (!is("none")) store(block, kBytes, 1);
  if (is("end")) return 0;
  if (pool) CHECK(cuMemFreeAsync(block, nullptr));        // @free-async
  else if (!is("context")) CHECK(cuMemFree(block));       // @free
  CHECK(cuCtxSynchronize());
  CHECK(cuCtxDestroy(context));
  return 0;
}
