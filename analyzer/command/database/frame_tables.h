// SPDX-License-Identifier: Apache-2.0
// The tables of frames and call stacks: each frame once, whatever stacks it is in.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "analyzer/command/database/sql_file.h"
#include "analyzer/model/finding.h"
#include "analyzer/symbols/symbols.h"
#include "analyzer/trace_reader/event_stream.h"

namespace gmt {

class FrameTables {
public:
  explicit FrameTables(SqlFile& file)
      : frames_(file, "frame", 8), stacks_(file, "stack", 2),
        stack_frames_(file, "stack_frame", 3) {}

  std::uint64_t number_of(const Frame& frame);
  // All stacks of a process. `first` is added to their numbers.
  void add_stacks(const EventStream& stream, std::uint64_t process, std::uint64_t first,
                  bool with_symbols);

private:
  SqlInsert frames_, stacks_, stack_frames_;
  std::unordered_map<std::string, std::uint64_t> numbers_;
};

} // namespace gmt
