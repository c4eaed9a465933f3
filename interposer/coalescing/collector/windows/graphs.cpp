// SPDX-License-Identifier: Apache-2.0
// Nodes are asked as cuda.h describes it; none of these calls waits or disturbs a capture.
#include "interposer/coalescing/collector/windows/graphs.h"

#include <cuda.h>

#include <cstddef>
#include <sys/mman.h>

#include "interposer/base/bounded_lock.h"
#include "interposer/base/signal_guard.h"
#include "interposer/coalescing/collector/driver.h"
#include "interposer/coalescing/collector/windows/window_context.h"

namespace gmt::interposer::collector {

constinit Graphs graphs;

namespace {

constinit DriverFunction<std::uint64_t, CUgraphNode*, std::size_t*> nodes_of{"cuGraphGetNodes"};
constinit DriverFunction<CUgraphNode, CUgraphNodeType*> type_of{"cuGraphNodeGetType"};
constinit DriverFunction<CUgraphNode, CUDA_KERNEL_NODE_PARAMS*> kernel_of_node{
  "cuGraphKernelNodeGetParams_v2"};
constinit DriverFunction<CUgraphNode, CUgraph*> child_of{"cuGraphChildGraphNodeGetGraph"};

constexpr unsigned kDeepest = 16; // child graphs in child graphs

template <class T> T* make_array(std::size_t count) noexcept {
  void* memory =
    mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory != MAP_FAILED ? static_cast<T*>(memory) : nullptr;
}

std::size_t size_of(std::uint64_t count) noexcept {
  return sizeof(GraphKernels) + count * sizeof(GraphKernels::Entry);
}

void release(GraphKernels* kernels) noexcept {
  if (kernels != nullptr) munmap(kernels, size_of(kernels->count));
}

// The kernel that a node runs: 0 if it is not known.
std::uint64_t function_of_node(CUgraphNode node, const Context& context) noexcept {
  CUDA_KERNEL_NODE_PARAMS p{};
  if (kernel_of_node(node, &p) != 0) return 0;
  if (p.ctx != nullptr && reinterpret_cast<std::uint64_t>(p.ctx) != context.handle) return 0;
  return reinterpret_cast<std::uint64_t>(p.func != nullptr ? static_cast<const void*>(p.func)
                                                           : p.kern);
}

// The kernels of a graph, gathered once to be counted and once to be written down: `times[i]` is
// how often kernel i of the context is launched.
class Gathering {
public:
  explicit Gathering(Context& context) noexcept
      : context_(context), times_(make_array<std::uint64_t>(Kernels::kMost)) {}
  ~Gathering() {
    if (times_ != nullptr) munmap(times_, Kernels::kMost * sizeof(std::uint64_t));
  }
  Gathering(const Gathering&) = delete;
  Gathering& operator=(const Gathering&) = delete;

  bool add(CUgraph graph, unsigned depth) noexcept {
    std::size_t count = 0;
    const auto handle = reinterpret_cast<std::uint64_t>(graph);
    if (times_ == nullptr || depth > kDeepest || nodes_of(handle, nullptr, &count) != 0)
      return false;
    if (count == 0) return true;
    auto* nodes = make_array<CUgraphNode>(count);
    std::size_t filled = count;
    bool known = nodes != nullptr && nodes_of(handle, nodes, &filled) == 0;
    for (std::size_t i = 0; known && i < filled && i < count; ++i)
      known = add_node(nodes[i], depth);
    if (nodes != nullptr) munmap(nodes, count * sizeof(CUgraphNode));
    return known;
  }

  GraphKernels* list() const noexcept {
    unsigned count = 0;
    for (unsigned i = 0; i < Kernels::kMost; ++i) count += times_[i] != 0;
    void* memory =
      mmap(nullptr, size_of(count), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    auto* kernels = static_cast<GraphKernels*>(memory);
    kernels->context = &context_;
    for (unsigned i = 0; i < Kernels::kMost; ++i) {
      if (times_[i] != 0)
        kernels->begin()[kernels->count++] = {context_.kernels.begin() + i, times_[i]};
    }
    return kernels;
  }

private:
  bool add_node(CUgraphNode node, unsigned depth) noexcept {
    CUgraphNodeType type{};
    if (type_of(node, &type) != 0) return false;
    if (type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
      return false; // its body runs as often as a kernel says
    if (type == CU_GRAPH_NODE_TYPE_GRAPH) {
      CUgraph child = nullptr;
      return child_of(node, &child) == 0 && add(child, depth + 1);
    }
    if (type != CU_GRAPH_NODE_TYPE_KERNEL) return true;
    const std::uint64_t function = function_of_node(node, context_);
    Kernel* kernel = function != 0 ? context_.kernels.of(function, context_.sums) : nullptr;
    if (kernel == nullptr) return false;
    ++times_[kernel - context_.kernels.begin()];
    return true;
  }

  Context& context_;
  std::uint64_t* times_;
};

} // namespace

Graphs::Known* Graphs::find(std::uint64_t exec) noexcept {
  const unsigned used = used_.load(std::memory_order_acquire);
  for (unsigned i = 0; i < used; ++i) {
    if (known_[i].exec.load(std::memory_order_acquire) == exec) return known_ + i;
  }
  return nullptr;
}

const GraphKernels* Graphs::of(const Context& context, std::uint64_t exec) noexcept {
  Known* known = find(exec);
  const GraphKernels* kernels =
    known != nullptr ? known->kernels.load(std::memory_order_acquire) : nullptr;
  return kernels != nullptr && kernels->context == &context ? kernels : nullptr;
}

void Graphs::learn(Context& context, std::uint64_t exec, std::uint64_t graph) noexcept {
  forget(exec);
  const SignalGuard signals;
  Gathering gathering(context);
  if (!gathering.add(reinterpret_cast<CUgraph>(graph), 0)) return;
  GraphKernels* kernels = gathering.list();
  if (kernels == nullptr) return;
  const BoundedLock lock(changing_, kLockMilliseconds);
  Known* entry = lock.held() ? find(0) : nullptr;
  if (const unsigned used = used_.load(); lock.held() && entry == nullptr && used < kMost) {
    entry = known_ + used;
    used_.store(used + 1, std::memory_order_release);
  }
  if (entry == nullptr) return release(kernels);
  entry->kernels.store(kernels, std::memory_order_release);
  entry->exec.store(exec, std::memory_order_release);
}

// Most changes are other arguments for the same kernel. The node is the graph's that `exec` was
// made from.
void Graphs::change(Context& context, std::uint64_t exec, std::uint64_t node,
                    std::uint64_t function) noexcept {
  if (of(context, exec) == nullptr) return;
  const std::uint64_t before = function_of_node(reinterpret_cast<CUgraphNode>(node), context);
  const bool same =
    before != 0 && function != 0 &&
    context.kernels.of(before, context.sums) == context.kernels.of(function, context.sums);
  if (!same) forget(exec);
}

void Graphs::forget_all() noexcept {
  used_.store(0);
  changing_.store(false);
}

void Graphs::forget(std::uint64_t exec) noexcept {
  const SignalGuard signals;
  const BoundedLock lock(changing_, kLockMilliseconds);
  Known* known = lock.held() && exec != 0 ? find(exec) : nullptr;
  if (known == nullptr) return;
  known->exec.store(0, std::memory_order_release);
  release(known->kernels.exchange(nullptr));
}

} // namespace gmt::interposer::collector
