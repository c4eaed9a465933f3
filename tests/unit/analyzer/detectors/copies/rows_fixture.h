// SPDX-License-Identifier: Apache-2.0
// Traces with copies of rows. Sizes and pitches are bytes.
#pragma once

#include <cstdint>

#include "tests/unit/analyzer/support/analysis_fixture.h"

namespace gmt::test {

class RowsTest : public AnalysisTest {
protected:
  struct Rows {
    std::uint64_t width, height, depth = 1, rows_per_slice = 0;
  };
  void copy_rows(Call call, std::uint64_t to, std::uint64_t to_pitch, std::uint64_t from,
                 std::uint64_t from_pitch, Rows rows) {
    call.api = "cuMemcpy2DUnaligned_v2";
    log().record(call, Made<trace::CopyFields>()
                         .destination(to)
                         .source(from)
                         .bytes(rows.width * rows.height * rows.depth)
                         .destination_pitch(to_pitch)
                         .source_pitch(from_pitch)
                         .width(rows.width)
                         .height(rows.height)
                         .depth(rows.depth)
                         .destination_rows(rows.rows_per_slice)
                         .source_rows(rows.rows_per_slice));
  }
};

} // namespace gmt::test
