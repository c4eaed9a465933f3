// SPDX-License-Identifier: Apache-2.0
// Pitched allocations, copies and sets of their rows, and the device that they lie on.
#pragma once

#include "tests/unit/analyzer/detectors/copies/rows_fixture.h"

namespace gmt::test {

class Pitch : public RowsTest {
protected:
  Pitch() { expect_only({"api-error", "pitch-misaligned", "pitch-mismatch"}); }
  void copy_2d(std::uint64_t to, std::uint64_t to_pitch, std::uint64_t from,
               std::uint64_t from_pitch, Rows rows, Side to_side = Side::kDevice,
               Side from_side = Side::kHost, std::uint16_t code = 0) {
    copy_rows({.via = "cudaMemcpy2D",
               .result = code,
               .stack = {0x310},
               .flags = trace::copy_flags(to_side, from_side, false)},
              to, to_pitch, from, from_pitch, rows);
  }
  void set_2d(std::uint64_t to, std::uint64_t pitch, std::uint64_t width, std::uint64_t height,
              std::uint64_t element = 1, std::uint16_t code = 0) {
    log().record(
      {.api = "cuMemsetD2D8_v2", .via = "cudaMemset2D", .result = code, .stack = {0x320}},
      Made<trace::SetFields>()
        .destination(to)
        .bytes(width * height)
        .pitch(pitch)
        .width(width)
        .height(height)
        .element_bytes(element));
  }
  void malloc_pitch(std::uint64_t address, std::uint64_t pitch, std::uint64_t width,
                    std::uint64_t height, std::uint64_t depth = 1) {
    log().alloc({.api = "cuMemAllocPitch_v2", .via = "cudaMallocPitch", .stack = {0x120}},
                MemoryKind::kPitched, address, pitch * height * depth, 0,
                {pitch, width, height, depth, 4, 0, 0});
  }
  // P0 ordinal, bytes, texture alignment, texture pitch alignment, surface alignment, ...
  void h200() {
    log().context(1, 0xc0, 0, true);
    log().record({}, Made<trace::DeviceFields>()
                       .bytes(141ull << 30)
                       .texture_alignment(512)
                       .texture_pitch_alignment(32)
                       .surface_alignment(512)
                       .reads_pageable_memory(0)
                       .uses_host_page_tables(0)
                       .compute_capability(90)
                       .concurrent_managed(1)
                       .largest_pitch(0x7fffffff));
  }
};

} // namespace gmt::test
