// SPDX-License-Identifier: Apache-2.0
// Rows about memory in stream order: pools, graphs with memory nodes, batches of copies.
// Part of driver_answers. Several calls of one row answer in their order.
#include "driver_answers.h"

namespace {

constexpr size_t kBytes = 64 * 1024;

struct OwnStream {
  OwnStream() { cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking); }
  ~OwnStream() {
    cudaStreamSynchronize(stream);
    cudaStreamDestroy(stream);
  }
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;
  cudaStream_t stream = nullptr;
};

std::string destroyed_pool() {
  const OwnStream own;
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  cudaMemPool_t pool = nullptr;
  void* block = nullptr;
  cudaMemPoolCreate(&pool, &properties);
  cudaMallocFromPoolAsync(&block, kBytes, pool, own.stream);
  // A second use of the handle may unmap the block under the memset (seen on an H100: 700).
  return answers({cudaMemPoolDestroy(pool), cudaMemsetAsync(block, 0, kBytes, own.stream),
                  cudaFreeAsync(block, own.stream), cudaStreamSynchronize(own.stream)});
}

std::string host_pool() {
  const OwnStream own;
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {cudaMemLocationTypeHost, 0};
  cudaMemPool_t pool = nullptr, standard = nullptr;
  int* block = nullptr;
  const int made = cudaMemPoolCreate(&pool, &properties);
  const int allocated =
    cudaMallocFromPoolAsync(reinterpret_cast<void**>(&block), kBytes, pool, own.stream);
  cudaStreamSynchronize(own.stream);
  if (block == nullptr) return answers({made, allocated});
  block[7] = 5;
  cudaPointerAttributes attributes{};
  cudaPointerGetAttributes(&attributes, block);
  const int value = block[7], freed = cudaFreeAsync(block, own.stream),
            destroyed = cudaMemPoolDestroy(pool),
            known = cudaMemGetDefaultMemPool(&standard, &properties.location,
                                             cudaMemAllocationTypePinned);
  return answers({made, allocated, value, attributes.type, freed, destroyed, known});
}

std::string free_on_other_stream() {
  const OwnStream one, two;
  void* block = nullptr;
  cudaMallocAsync(&block, kBytes, one.stream);
  cudaMemsetAsync(block, 0, kBytes, one.stream);
  cudaStreamSynchronize(one.stream);
  return answers({cudaFreeAsync(block, two.stream), cudaMemsetAsync(block, 0, kBytes, one.stream)});
}

// A graph that allocates and does not free, made by capture.
struct AllocatingGraph {
  explicit AllocatingGraph(unsigned long long flags = 0) {
    cudaGraph_t graph = nullptr;
    cudaStreamBeginCapture(own.stream, cudaStreamCaptureModeGlobal);
    cudaMallocAsync(&block, kBytes, own.stream);
    cudaMemsetAsync(block, 0, kBytes, own.stream);
    cudaStreamEndCapture(own.stream, &graph);
    cudaGraphInstantiateWithFlags(&exec, graph, flags);
    cudaGraphDestroy(graph);
  }
  ~AllocatingGraph() {
    cudaStreamSynchronize(own.stream);
    cudaGraphExecDestroy(exec);
    cudaGetLastError();
  }
  AllocatingGraph(const AllocatingGraph&) = delete;
  AllocatingGraph& operator=(const AllocatingGraph&) = delete;
  int launch() const {
    const cudaError_t error = cudaGraphLaunch(exec, own.stream);
    cudaStreamSynchronize(own.stream);
    return error;
  }
  OwnStream own;
  cudaGraphExec_t exec = nullptr;
  void* block = nullptr;
};

std::string relaunch() {
  const AllocatingGraph graph;
  return answers({graph.launch(), graph.launch(), cudaFreeAsync(graph.block, graph.own.stream),
                  graph.launch(), cudaFree(graph.block), cudaFree(graph.block)});
}

std::string relaunch_with_auto_free() {
  const AllocatingGraph graph(cudaGraphInstantiateFlagAutoFreeOnLaunch);
  return answers({graph.launch(), graph.launch(), cudaFree(graph.block)});
}

// The same by nodes: an allocation, and a node that frees it.
std::string free_node() {
  const OwnStream own;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  cudaGraphNode_t allocation = nullptr, release = nullptr;
  cudaMemAllocNodeParams params{};
  params.poolProps.allocType = cudaMemAllocationTypePinned;
  params.poolProps.location.type = cudaMemLocationTypeDevice;
  params.bytesize = kBytes;
  cudaGraphCreate(&graph, 0);
  const int added = cudaGraphAddMemAllocNode(&allocation, graph, nullptr, 0, &params);
  const int freed = cudaGraphAddMemFreeNode(&release, graph, &allocation, 1, params.dptr);
  const int made = cudaGraphInstantiateWithFlags(&exec, graph, 0);
  const std::string got =
    answers({added, freed, made, cudaGraphLaunch(exec, own.stream),
             cudaGraphLaunch(exec, own.stream), cudaStreamSynchronize(own.stream)});
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
  return got;
}

template <cudaError_t (*ask)()>
std::string while_capturing() {
  const OwnStream own;
  cudaGraph_t graph = nullptr;
  cudaStreamBeginCapture(own.stream, cudaStreamCaptureModeGlobal);
  const int asked = ask();
  const std::string got = answers({asked, cudaStreamEndCapture(own.stream, &graph)});
  if (graph != nullptr) cudaGraphDestroy(graph);
  return got;
}

cudaError_t ask_pool() {
  cudaMemPool_t pool = nullptr;
  unsigned long long used = 0;
  cudaDeviceGetDefaultMemPool(&pool, 0);
  return cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used);
}

cudaError_t ask_memory() {
  size_t available = 0, total = 0;
  return cudaMemGetInfo(&available, &total);
}

cudaError_t ask_attribute() {
  int value = 0;
  return cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 0);
}

template <size_t extra>
std::string batch() {
  const OwnStream own;
  const DeviceBlock one(100), two(100);
  static char host[256];
  void* to[] = {one.pointer, two.pointer};
  const void* from[] = {host, host};
  const size_t sizes[] = {100, 100 + extra};
  cudaMemcpyAttributes attributes{};
  attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  size_t first = 0;
  const std::string got =
    answers({cudaMemcpyBatchAsync(to, from, sizes, 2, &attributes, &first, 1, own.stream)});
  cudaStreamSynchronize(own.stream);
  return got;
}

} // namespace

const std::vector<Row>& order_rows() {
  static const std::vector<Row> rows = {
    {"a pool of the host's memory", "0 0 5 1 0 0 0", host_pool},
    {"pool with a live block: destroy, set, free, sync", "0 0 0 0", destroyed_pool},
    {"cudaFreeAsync on another stream, then cudaMemsetAsync", "0 1", free_on_other_stream},
    {"allocating graph: launch, launch, free async, launch, free, free", "0 1 0 0 0 1", relaunch},
    {"allocating graph with auto-free: launch, launch, free", "0 0 0", relaunch_with_auto_free},
    {"graph with a free node: add, add, instantiate, launch, launch, sync", "0 0 0 0 0 0",
     free_node},
    {"while capturing: cudaMemPoolGetAttribute, end of capture", "900 901",
     while_capturing<ask_pool>},
    {"while capturing: cudaMemGetInfo, end of capture", "0 0", while_capturing<ask_memory>},
    {"while capturing: cudaDeviceGetAttribute, end of capture", "0 0",
     while_capturing<ask_attribute>},
    {"cudaMemcpyBatchAsync, fitting", "0", batch<0>},
    {"cudaMemcpyBatchAsync, one member past the end", "1", batch<1>},
  };
  return rows;
}
