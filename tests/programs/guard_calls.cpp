// SPDX-License-Identifier: Apache-2.0
// libs: cuda
// What a program sees of the fence: nothing, but for addresses. Each word checks answers of CUDA itself and says which
// one differs; all of them hold without the fence, too.
//
// run: attributes
// expect: clean
// run: attributes-fenced
// options: --guard
// expect: clean
// run: memory-fenced
// options: --guard
// expect: clean
// run: pools
// expect: clean
// run: pools-fenced
// options: --guard
// expect: clean
// run: threads-fenced
// options: --guard
// expect: clean
// run: fork
// expect: warning api-error count=1 api=cuMemFree message="NOT_INITIALIZED"
// run: fork-fenced
// options: --guard
// expect: warning api-error count=1 api=cuMemFree message="NOT_INITIALIZED"
// run: contexts-fenced
// options: --guard
// expect: clean
// run: reuse-fenced
// options: --guard
// expect: clean
// run: capture-fenced
// options: --guard
// expect: clean
// not-checked: kernel-out-of-bounds
// run: small-fenced
// options: --guard --guard-limit 16M
// expect: clean
// not-checked: kernel-out-of-bounds
// run: full-fenced
// options: --guard
// env: GPUMEMTRACE_SIM_MEMORY=64M
// device: simulated
// expect: clean
// not-checked: kernel-out-of-bounds
// run: kept-fenced
// options: --guard --guard-limit 30M
// env: GPUMEMTRACE_SIM_MEMORY=64M
// device: simulated
// expect: clean
// not-checked: kernel-out-of-bounds
#include <cuda.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#define CHECK(call)                                                                                                    \
  do {                                                                                                                 \
    if (CUresult r = (call)) {                                                                                         \
      std::fprintf(stderr, "%s:%d: %s answered %d, not 0\n", __FILE__, __LINE__, #call, r);                            \
      std::exit(3);                                                                                                    \
    }                                                                                                                  \
  } while (0)
#define EXPECT(condition)                                                                                              \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                                     \
      std::exit(4);                                                                                                    \
    }                                                                                                                  \
  } while (0)

static void expect_bytes(const char* what, cuuint64_t got, cuuint64_t wanted) {
  if (got == wanted) return;
  std::fprintf(stderr, "%s: %llu bytes, not %llu\n", what, (unsigned long long)got, (unsigned long long)wanted);
  std::exit(4);
}

static CUdeviceptr allocate(size_t bytes) {
  CUdeviceptr block = 0;
  CHECK(cuMemAlloc(&block, bytes));
  CHECK(cuMemsetD8(block, 1, bytes));
  return block;
}

static void attributes(CUcontext context) {
  const CUdeviceptr block = allocate(1000);
  EXPECT(block % 512 == 0);
  CUdeviceptr base = 0;
  size_t bytes = 0;
  CHECK(cuMemGetAddressRange(&base, &bytes, block + 999));
  EXPECT(base == block && bytes == 1000);
  EXPECT(cuMemGetAddressRange(&base, &bytes, block - 1) != CUDA_SUCCESS);
  CUcontext owner = nullptr;
  unsigned type = 0;
  CUdeviceptr start = 0;
  CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_CONTEXT, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                 CU_POINTER_ATTRIBUTE_RANGE_START_ADDR};
  void* values[] = {&owner, &type, &start};
  CHECK(cuPointerGetAttributes(3, names, values, block + 10));
  EXPECT(owner == context && type == CU_MEMORYTYPE_DEVICE && start == block);
  CHECK(cuPointerGetAttribute(&bytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE, block));
  EXPECT(bytes == 1000);
  EXPECT(cuPointerGetAttribute(&bytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE, block - 8) == CUDA_ERROR_INVALID_VALUE);
  char host[64];
  CHECK(cuMemcpyDtoH(host, block + 936, 64));
  EXPECT(host[63] == 1);
  CHECK(cuMemFree(block));
  EXPECT(cuPointerGetAttribute(&bytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE, block) != CUDA_SUCCESS);
}

static size_t free_memory() {
  size_t free_bytes = 0, total = 0;
  CHECK(cuMemGetInfo(&free_bytes, &total));
  return free_bytes;
}

static void memory() {
  CHECK(cuMemFree(allocate(4096))); // what comes with the first one has come
  const size_t before = free_memory();
  std::vector<CUdeviceptr> blocks;
  for (int i = 0; i < 50; ++i) blocks.push_back(allocate(10000));
  EXPECT(before - free_memory() <= 4u << 20); // a mapping of its own for each takes 100 MiB
  for (CUdeviceptr block : blocks) CHECK(cuMemFree(block));
  EXPECT(free_memory() == before);
  size_t pitch = 0;
  CUdeviceptr rows = 0;
  CHECK(cuMemAllocPitch(&rows, &pitch, 1000, 10, 4));
  EXPECT(pitch == 1024 && rows % 512 == 0);
  CHECK(cuMemsetD2D8(rows, pitch, 7, 1000, 10));
  CHECK(cuMemFree(rows));
}

static void pools() {
  CUmemoryPool pool;
  CUmemPoolProps properties = {};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CHECK(cuMemPoolCreate(&pool, &properties));
  CUstream stream;
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CUdeviceptr a = 0, b = 0;
  CHECK(cuMemAllocFromPoolAsync(&a, 1 << 20, pool, stream));
  CHECK(cuMemAllocFromPoolAsync(&b, 1 << 20, pool, stream));
  cuuint64_t used = 0, high = 0, reserved = 0;
  CHECK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
  expect_bytes("used by two blocks", used, 2 << 20);
  CUmemoryPool of_block = nullptr;
  CHECK(cuPointerGetAttribute(&of_block, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, a));
  EXPECT(of_block == pool);
  CHECK(cuMemsetD8Async(a, 0, 1 << 20, stream));
  CHECK(cuMemsetD8Async(b, 0, 1 << 20, stream));
  CHECK(cuMemFreeAsync(a, stream));
  CHECK(cuMemFreeAsync(b, stream));
  CHECK(cuStreamSynchronize(stream));
  CHECK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
  CHECK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &high));
  expect_bytes("used", used, 0);
  expect_bytes("most ever used", high, 2 << 20);
  CHECK(cuMemPoolTrimTo(pool, 0));
  high = 0;
  CHECK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &high));
  CHECK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &high));
  CHECK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved));
  EXPECT(high == 0);
  CUdeviceptr c = 0;
  CHECK(cuMemAllocFromPoolAsync(&c, 1 << 20, pool, stream));
  CHECK(cuMemsetD8Async(c, 0, 1 << 20, stream));
  CHECK(cuStreamSynchronize(stream)); // cuMemFree does not wait for such memory
  CHECK(cuMemFree(c));                // when it counts as unused is the driver's matter
  CHECK(cuMemPoolDestroy(pool));
  const CUdeviceptr plain = allocate(1000);
  CHECK(cuMemFreeAsync(plain, stream)); // memory of cuMemAlloc, too
  CHECK(cuStreamSynchronize(stream));
  CHECK(cuStreamDestroy(stream));
}

static void threads(CUcontext context) {
  std::vector<std::thread> all;
  for (int t = 0; t < 8; ++t) {
    all.emplace_back([context, t] {
      CHECK(cuCtxSetCurrent(context));
      for (int i = 0; i < 100; ++i) {
        const size_t bytes = 100 + static_cast<size_t>(t * 1000 + i);
        CUdeviceptr block = 0;
        if (i % 2 == 0) CHECK(cuMemAlloc(&block, bytes));
        else CHECK(cuMemAllocAsync(&block, bytes, CU_STREAM_PER_THREAD));
        CHECK(cuMemsetD8Async(block, static_cast<unsigned char>(t), bytes, CU_STREAM_PER_THREAD));
        CHECK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
        unsigned char last = 0;
        CHECK(cuMemcpyDtoH(&last, block + bytes - 1, 1));
        EXPECT(last == t);
        if (i % 3 == 0) CHECK(cuMemFree(block));
        else CHECK(cuMemFreeAsync(block, CU_STREAM_PER_THREAD));
      }
    });
  }
  for (std::thread& thread : all) thread.join();
}

static void forked() {
  const CUdeviceptr block = allocate(1000);
  const pid_t child = fork();
  if (child == 0) _exit(cuMemFree(block) != CUDA_SUCCESS ? 0 : 5); // a child has no context
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  CHECK(cuMemFree(block)); // the parent's is untouched
}

static void contexts(CUcontext first) {
  CUcontext second;
  CHECK(cuCtxCreate(&second, nullptr, 0, 0));
  const CUdeviceptr mine = allocate(1000);
  CHECK(cuCtxSetCurrent(first));
  const CUdeviceptr other = allocate(1000);
  CHECK(cuMemFree(mine)); // of another context
  CHECK(cuCtxDestroy(second));
  CHECK(cuMemsetD8(other, 2, 1000));
  CHECK(cuMemFree(other));
  CHECK(cuCtxCreate(&second, nullptr, 0, 0));
  CHECK(cuCtxDestroy(second));
  CHECK(cuCtxSetCurrent(first));
}

// What was freed stays away, and a double free is one at once.
static void reuse() {
  std::vector<CUdeviceptr> seen;
  for (int i = 0; i < 300; ++i) {
    const CUdeviceptr block = allocate(5000);
    for (CUdeviceptr before : seen) EXPECT(before != block);
    seen.push_back(block);
    CHECK(cuMemFree(block));
  }
}

static void capture() {
  CUstream stream;
  CUgraph graph;
  const CUdeviceptr before = allocate(1000);
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  CUdeviceptr inside = 0, plain = 0;
  CHECK(cuMemAllocAsync(&inside, 1000, stream)); // a node of the graph
  CHECK(cuMemsetD8Async(inside, 1, 1000, stream));
  CHECK(cuMemFreeAsync(inside, stream));
  CHECK(cuMemAlloc(&plain, 1000)); // the relaxed mode allows it
  CHECK(cuMemFree(before));
  CHECK(cuStreamEndCapture(stream, &graph));
  CHECK(cuMemsetD8(plain, 0, 1000));
  CHECK(cuMemFree(plain));
  CHECK(cuGraphDestroy(graph));
  CHECK(cuStreamDestroy(stream));
  CHECK(cuMemFree(allocate(1000)));
}

// More blocks than the fence may or can give a mapping: the others are plain.
static void many() {
  std::vector<CUdeviceptr> blocks;
  for (int i = 0; i < 60; ++i) blocks.push_back(allocate(1000));
  for (CUdeviceptr block : blocks) CHECK(cuMemFree(block));
}

// Memory that the fence keeps for later blocks is there for others, too.
static void kept() {
  std::vector<CUdeviceptr> blocks;
  for (int i = 0; i < 10; ++i) blocks.push_back(allocate(2u << 20));
  for (CUdeviceptr block : blocks) CHECK(cuMemFree(block));
  CHECK(cuMemFree(allocate(60u << 20)));
}

int main(int argc, char** argv) {
  char word[32] = "attributes";
  if (argc > 1) std::snprintf(word, sizeof word, "%s", argv[1]);
  if (char* end = std::strstr(word, "-fenced")) *end = '\0';
  const auto is = [&word](const char* what) { return std::strcmp(word, what) == 0; };
  CUcontext context;
  CHECK(cuInit(0));
  CHECK(cuCtxCreate(&context, nullptr, 0, 0));
  if (is("attributes")) attributes(context);
  if (is("memory")) memory();
  if (is("pools")) pools();
  if (is("threads")) threads(context);
  if (is("fork")) forked();
  if (is("contexts")) contexts(context);
  if (is("reuse")) reuse();
  if (is("capture")) capture();
  if (is("kept")) kept();
  if (is("small") || is("full")) many();
  return 0;
}
