// SPDX-License-Identifier: Apache-2.0
// Which kernels each executable graph launches, asked of the driver when the graph is made, so that
// a launch of the graph counts as launches of them.
//
// Invariants: nothing is claimed about a graph whose kernels are not known: one with nodes that run
// an unknown number of times, with kernels of another context, or changed since in a way that is
// not followed. Lists do not change once made; like all that CUDA's graphs are, one must not be
// launched while it is destroyed or updated.
#pragma once

#include <atomic>
#include <cstdint>

namespace gmt::interposer::collector {

struct Context;
struct Kernel;

struct GraphKernels {
  struct Entry {
    Kernel* kernel;
    std::uint64_t launches; // of it in one launch of the graph
  };
  const Context* context; // whose kernels they are
  std::uint64_t count;    // of the entries, which stand behind

  Entry* begin() noexcept { return reinterpret_cast<Entry*>(this + 1); }
  const Entry* begin() const noexcept { return reinterpret_cast<const Entry*>(this + 1); }
  const Entry* end() const noexcept { return begin() + count; }
};

class Graphs {
public:
  // `exec` was made from `graph`, or updated after it. The context is current.
  void learn(Context& context, std::uint64_t exec, std::uint64_t graph) noexcept;
  // A kernel node of `exec` now runs `function`.
  void change(Context& context, std::uint64_t exec, std::uint64_t node,
              std::uint64_t function) noexcept;
  void forget(std::uint64_t exec) noexcept; // destroyed, or changed otherwise
  void forget_all() noexcept;               // in a forked child
  const GraphKernels* of(const Context& context, std::uint64_t exec) noexcept; // null: unknown

private:
  static constexpr unsigned kMost = 1 << 12;
  struct Known {
    std::atomic<std::uint64_t> exec; // 0: free
    std::atomic<GraphKernels*> kernels;
  };
  Known* find(std::uint64_t exec) noexcept;

  std::atomic<bool> changing_{false};
  std::atomic<unsigned> used_{0}; // entries of `known_` that were ever used
  Known known_[kMost] = {};
};

extern Graphs graphs;

} // namespace gmt::interposer::collector
