// SPDX-License-Identifier: Apache-2.0
// What tests of findings share: a trace to fill, shorthands for the usual calls, and the analysis of it.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "analyzer/analysis.h"
#include "trace_writer.h"

namespace gmt::test {

using trace::Family;
using trace::FreeFunction;
using trace::Kind;
using trace::Side;

inline constexpr std::uint64_t kA = 0x7f32a0000000, kB = 0x7f32b0000000, kC = 0x7f32c0000000;
inline constexpr std::uint64_t kHost = 0x55d000001000;
inline constexpr std::uint64_t kMiB = 1 << 20;

class AnalysisTest : public testing::Test {
protected:
  // The calls as the runtime makes them: the driver's symbol under the runtime's name. Stacks are one
  // address.
  void cuda_malloc(std::uint64_t address, std::uint64_t bytes, std::uint64_t from = 0x100) {
    log().alloc({.api = "cuMemAlloc_v2", .via = "cudaMalloc", .stack = {from}}, Family::kDevice, address,
                bytes);
  }
  void cuda_malloc_host(std::uint64_t address, std::uint64_t bytes, std::uint64_t from = 0x110) {
    log().alloc({.api = "cuMemHostAlloc", .via = "cudaMallocHost", .stack = {from}}, Family::kPinned, address,
                bytes);
  }
  void cuda_free(std::uint64_t address, std::uint16_t code = 0, std::uint64_t from = 0x200) {
    log().release({.api = "cuMemFree_v2", .via = "cudaFree", .result = code, .stack = {from}},
                  FreeFunction::kMemFree, address);
  }
  void cuda_memcpy(std::uint64_t to, std::uint64_t from, std::uint64_t bytes, std::uint16_t code = 0,
                   Side to_side = Side::kDevice, Side from_side = Side::kHost) {
    log().copy({.api = "cuMemcpyHtoD_v2", .via = "cudaMemcpy", .result = code, .stack = {0x300}}, to, from,
               bytes, to_side, from_side);
  }
  LogWriter& log(std::size_t number = 0) { return trace.log(number); }

  const Analysis& run() {
    trace.write(directory.path() / "trace");
    result = analyze(directory.path() / "trace");
    return result;
  }

  const Finding* find(const std::string& kind) const {
    for (const Finding& f : result.findings) {
      if (f.kind == kind) return &f;
    }
    return nullptr;
  }
  // "double-free leak", in order of first example. Most tests allocate for show: `unused` is left out.
  std::string kinds() const {
    std::string all;
    for (const Finding& f : result.findings) {
      if (f.kind != "unused") all += (all.empty() ? "" : " ") + f.kind;
    }
    return all;
  }
  bool is_not_checked(const std::string& what, const std::string& part = "") const {
    for (const NotChecked& n : result.not_checked) {
      if (n.what == what && n.why.find(part) != std::string::npos) return true;
    }
    return false;
  }
  static std::string labels(const Finding& f) { // "freed again here|first freed here|allocated here"
    std::string all;
    for (const LabelledStack& s : f.stacks) all += (all.empty() ? "" : "|") + s.label;
    return all;
  }
  std::uint64_t address_of(const LabelledStack& stack) const {
    const auto frames = result.stacks.frames(stack.stack);
    return frames.empty() ? 0 : frames[0];
  }

  TraceWriter trace;
  TemporaryDirectory directory;
  Analysis result;
};

} // namespace gmt::test
