// SPDX-License-Identifier: Apache-2.0
// Writes a packed log anew without the records that a plan drops. Bit by bit, so that its caller
// can do other things meanwhile. The file is the old one or the new one at any moment, and both
// records of each pair that goes stand in it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "analyzer/command/fold/fold_plan.h"
#include "analyzer/trace_reader/packed_log.h"
#include "trace/packed_words.h"
#include "trace/records.h"

namespace gmt {

class LogFolder {
  using Part = FoldPlan::Part;

public:
  // `api` is the number of `unrecordedCalls` among the trace's names.
  LogFolder(const std::filesystem::path& packed, const FoldPlan& plan, std::uint16_t api);

  // Some thousand records more. False if these were the last: the file is written anew then, or
  // problem() says why not.
  bool step();
  const std::string& problem() const { return problem_.empty() ? to_.problem() : problem_; }
  std::uint64_t bytes() const { return to_.bytes(); } // of the new file

private:
  struct Arguments { // of a launch that was dropped, and others repeat
    std::vector<std::uint64_t> words;
    std::uint16_t scanned = 0;
    bool is_missing = false; // in the new file
  };
  struct Sums { // of what was dropped since the last note
    std::uint64_t records = 0, allocations = 0, allocated_bytes = 0, launches = 0, copies = 0,
                  others = 0;
  };

  bool read();
  Part part_of(const trace::Slot& record) const;
  bool is_whole(unsigned slots) const; // the record of so many at at_
  void take(const trace::Slot* record, unsigned slots);
  void drop(const trace::Slot& record);
  void note(const trace::Slot& record);
  void note_arguments(const trace::Slot* launch, unsigned slots, bool is_dropped);
  Arguments* missing_arguments(const trace::Slot& record);
  void put_launch(const trace::Slot& launch, Arguments& arguments);
  void put(const trace::Slot* record, unsigned slots);

  const FoldPlan& plan_;
  const std::uint16_t api_;
  std::unique_ptr<PackedLog> from_;
  PackedWriter to_;
  std::vector<trace::Slot> in_, out_;
  std::size_t at_ = 0;     // in in_
  std::uint64_t read_ = 0; // bytes of the log
  bool is_at_end_ = false;
  Sums sums_;
  trace::Slot dropped_{};            // the last one; where it was stands the file's last note
  std::vector<Arguments> arguments_; // by number
  std::string problem_;
};

} // namespace gmt
