// SPDX-License-Identifier: Apache-2.0
// Driver calls whose records carry more than their first words, played on the simulated device;
// test_records.py reads the trace. The first argument names the scene; results go to stdout,
// handles to stderr, one a line. Scenes stand alone, each for one test: the file is a list of them.
#include <cstdio>
#include <cstring>
#include <vector>

#include <cuda.h>
#include <sys/wait.h>
#include <unistd.h>

#include "graph_scenes.h"
#include "record_scenes.h"

namespace {

void facts() {
  start();
  const CUdeviceptr address = allocate(4096);
  char bytes[4096] = {};
  say("copy", cuMemcpyHtoD(address, bytes, sizeof bytes));
  say("set", cuMemsetD8(address, 0, sizeof bytes));
  say("wait", cuStreamSynchronize(nullptr));
  CUstream stream = nullptr;
  say("stream", cuStreamCreate(&stream, 0));
  say("free", cuMemFree(address));
  CUdeviceptr none = 0;
  say("too much", cuMemAlloc(&none, size_t{1} << 50));
}

// An allocation that fails while a stream is being captured: what is asked then must not end the
// capture.
void captured_failure() {
  start();
  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  cuStreamCreate(&stream, 0);
  say("begin", cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  CUdeviceptr none = 0;
  say("too much", cuMemAlloc(&none, size_t{1} << 50));
  say("end", cuStreamEndCapture(stream, &graph));
}

// The driver is first used on both sides of a fork.
void forked() {
  const pid_t child = fork();
  start();
  say("alloc", allocate(100) != 0 ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN);
  if (child != 0) waitpid(child, nullptr, 0);
}

void textures() {
  start();
  const CUdeviceptr address = allocate(65536);
  CUDA_RESOURCE_DESC rows{};
  rows.resType = CU_RESOURCE_TYPE_PITCH2D;
  rows.res.pitch2D = {address, CU_AD_FORMAT_FLOAT, 1, 100, 50, 416};
  const CUDA_TEXTURE_DESC how{};
  CUtexObject texture = 0;
  say("rows", cuTexObjectCreate(&texture, &rows, &how, nullptr));
  print_handle("object", texture);
  rows.res.pitch2D.pitchInBytes = 400;
  say("pitch", cuTexObjectCreate(&texture, &rows, &how, nullptr));
  CUDA_RESOURCE_DESC line{};
  line.resType = CU_RESOURCE_TYPE_LINEAR;
  line.res.linear = {address + 512, CU_AD_FORMAT_UNSIGNED_INT8, 4, 1024};
  say("line", cuTexObjectCreate(&texture, &line, &how, nullptr));
  CUDA_ARRAY3D_DESCRIPTOR flat{64, 32, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SURFACE_LDST};
  CUarray array = nullptr;
  say("array", cuArray3DCreate(&array, &flat));
  CUDA_RESOURCE_DESC image{};
  image.res.array.hArray = array;
  CUsurfObject surface = 0;
  say("surface", cuSurfObjectCreate(&surface, &image));
  CUtensorMap map{};
  const cuuint64_t sizes[3] = {60, 10, 4}, strides[2] = {128, 1280};
  const cuuint32_t box[3] = {4, 4, 1}, steps[3] = {1, 1, 1};
  say("tensor", cuTensorMapEncodeTiled(
                  &map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 3, reinterpret_cast<void*>(address), sizes,
                  strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                  CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
}

void batches() {
  start();
  const CUdeviceptr address = allocate(1 << 20);
  CUstream stream = nullptr;
  cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
  CUmemcpyAttributes attributes{};
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  std::size_t first = 0;
  const auto copy = [&](std::size_t count, std::size_t bytes) {
    std::vector<CUdeviceptr> to(count), from(count);
    std::vector<std::size_t> sizes(count, bytes);
    for (std::size_t i = 0; i < count; ++i) {
      to[i] = address + i * 256;
      from[i] = address + (1 << 19) + i * 256;
    }
    return cuMemcpyBatchAsync(to.data(), from.data(), sizes.data(), count, &attributes, &first, 1,
                              stream);
  };
  say("fits", copy(3, 64));
  say("past the end", copy(2, 1 << 20));
  say("many", copy(1100, 8));
  say("none", cuMemcpyBatchAsync(nullptr, nullptr, nullptr, 0, nullptr, nullptr, 0, stream));

  CUDA_ARRAY3D_DESCRIPTOR flat{64, 32, 0, CU_AD_FORMAT_FLOAT, 2, 0};
  CUarray array = nullptr;
  cuArray3DCreate(&array, &flat);
  CUDA_MEMCPY3D_BATCH_OP operations[2] = {};
  for (auto& operation : operations) {
    operation.src.type = operation.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
    operation.src.op.ptr = {address, 0, 0, {}};
    operation.extent = {16, 8, 1};
    operation.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  }
  operations[0].dst.op.ptr = {address + 65536, 32, 0, {}};
  operations[1].dst.type = CU_MEMCPY_OPERAND_TYPE_ARRAY;
  operations[1].dst.op.array = {array, {4, 2, 0}};
  say("blocks", cuMemcpy3DBatchAsync(2, operations, 0, stream));

  CUdeviceptr ranges[2] = {address, address + 4096};
  std::size_t bytes[2] = {100, 200};
  CUmemLocation here{CU_MEM_LOCATION_TYPE_DEVICE, 0};
  say("prefetch", cuMemPrefetchBatchAsync(ranges, bytes, 2, &here, &first, 1, 0, stream));
  CUstreamBatchMemOpParams memory[3] = {};
  memory[0].operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  memory[0].writeValue.address = address;
  memory[1].operation = CU_STREAM_MEM_OP_WAIT_VALUE_64;
  memory[1].waitValue.address = address + 8;
  memory[2].operation = CU_STREAM_MEM_OP_BARRIER;
  say("operations", cuStreamBatchMemOp(stream, 3, memory, 0));
}

// The same calls with one context, and with another one current.
void contexts() {
  start();
  CUcontext second = nullptr;
  CUstream stream = nullptr;
  CUdeviceptr ordered = 0;
  for (int round = 0; round < 2; ++round) {
    const CUdeviceptr address = allocate(4096);
    const CUdeviceptr many[2] = {address, address + 512},
                      sources[2] = {address + 1024, address + 2048};
    std::vector<size_t> sizes = {16, 16};
    std::vector<CUdeviceptr> to(many, many + 2), from(sources, sources + 2);
    CUmemcpyAttributes how{};
    how.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    size_t first = 0;
    say("set", cuMemsetD8(address, 0, 4096));
    say("stream", cuStreamCreate(&stream, 0));
    say("copies",
        cuMemcpyBatchAsync(to.data(), from.data(), sizes.data(), 2, &how, &first, 1, stream));
    say("ordered", cuMemAllocAsync(&ordered, 100, stream));
    say("free", cuMemFree(address));
    if (round == 0) say("second", cuCtxCreate(&second, nullptr, 0, 0));
  }
}

void arrays() {
  start();
  CUDA_ARRAY3D_DESCRIPTOR d{64, 32, 0, CU_AD_FORMAT_HALF, 4, CUDA_ARRAY3D_SURFACE_LDST};
  CUmipmappedArray levels = nullptr;
  CUarray array = nullptr, level = nullptr;
  say("levels", cuMipmappedArrayCreate(&levels, &d, 3));
  say("level", cuMipmappedArrayGetLevel(&level, levels, 1));
  print_handle("view", level);
  say("destroy", cuArrayDestroy(level));
  d = {30, 10, 0, CU_AD_FORMAT_BC1_UNORM, 4, 0};
  say("blocks", cuArray3DCreate(&array, &d));
  d = {64, 64, 0, CU_AD_FORMAT_NV12, 3, 0};
  say("planes", cuArray3DCreate(&array, &d));
  CUarrayMapInfo pieces[2] = {};
  pieces[0].resourceType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
  pieces[0].resource.mipmap = levels;
  pieces[1].resource.array = array;
  say("map", cuMemMapArrayAsync(pieces, 2, nullptr));
}

void pools() {
  start();
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  CUmemoryPool pool = nullptr;
  say("pool", cuMemPoolCreate(&pool, &properties));
  cuuint64_t threshold = 123456;
  say("threshold", cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
  int off[2] = {0, -1};
  say("reuse", cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, off));
  say("trim", cuMemPoolTrimTo(pool, 777));
  print_handle("pool", pool);
  CUmemAccessDesc access[2] = {};
  access[0].location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  access[0].flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  access[1].location = {CU_MEM_LOCATION_TYPE_DEVICE, 1};
  access[1].flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
  say("access", cuMemPoolSetAccess(pool, access, 2));
  access[1].flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  say("no access", cuMemPoolSetAccess(pool, access + 1, 1));
  say("use", cuDeviceSetMemPool(0, pool));
  void* pinned = nullptr;
  say("pinned",
      cuMemHostAlloc(&pinned, 100, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_WRITECOMBINED));
  CUdeviceptr managed = 0;
  say("managed", cuMemAllocManaged(&managed, 100, CU_MEM_ATTACH_HOST));
  static char own[4096];
  say("registered", cuMemHostRegister(own, sizeof own, CU_MEMHOSTREGISTER_PORTABLE));
  say("peer", cuCtxEnablePeerAccess(nullptr, 0));
}

// Physical memory of the second device, and what is asked of the driver where a call gives out what
// exists already.
void physical() {
  start();
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 1};
  constexpr size_t kBytes = size_t{2} << 20;
  CUmemGenericAllocationHandle made = 0, again = 0, imported = 0;
  CUdeviceptr address = 0;
  say("create", cuMemCreate(&made, kBytes, &properties, 0));
  say("reserve", cuMemAddressReserve(&address, kBytes, 0, 0, 0));
  say("map", cuMemMap(address, kBytes, 0, made, 0));
  say("retain", cuMemRetainAllocationHandle(&again, reinterpret_cast<void*>(address)));
  int file = -1;
  say("export",
      cuMemExportToShareableHandle(&file, made, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  say("import", cuMemImportFromShareableHandle(&imported,
                                               reinterpret_cast<void*>(static_cast<intptr_t>(file)),
                                               CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
}

void linkers() {
  start();
  CUlinkState linker = nullptr;
  say("create", cuLinkCreate(0, nullptr, nullptr, &linker));
  print_handle("linker", linker);
  say("destroy", cuLinkDestroy(linker));
  say("again", cuLinkDestroy(linker));
}

struct Scene {
  const char* name;
  void (*play)();
};
constexpr Scene kScenes[] = {{"facts", facts},
                             {"captured_failure", captured_failure},
                             {"textures", textures},
                             {"batches", batches},
                             {"graphs", graphs},
                             {"arrays", arrays},
                             {"graph-kernels", graph_kernels},
                             {"contexts", contexts},
                             {"pools", pools},
                             {"physical", physical},
                             {"linkers", linkers},
                             {"forked", forked}};

} // namespace

int main(int argc, char** argv) {
  for (const Scene& scene : kScenes) {
    if (argc > 1 && std::strcmp(argv[1], scene.name) == 0) return scene.play(), 0;
  }
  return 9;
}
