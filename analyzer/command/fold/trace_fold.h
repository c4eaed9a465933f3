// SPDX-License-Identifier: Apache-2.0
// Folds packed logs of a trace whose program runs on: walks over the trace, then writes each of
// them anew. Bit by bit, so that its caller can do other things meanwhile.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "analyzer/command/fold/fold_plan.h"

namespace gmt {

class FoldWalk;
class LogFolder;

struct PackedFile {
  std::filesystem::path log; // as it was named unpacked
  std::uint64_t bytes = 0;
  std::uint64_t lowest_order = 0, highest_order = 0;
};

class TraceFold {
public:
  // `found` are findings of earlier files.
  TraceFold(const std::filesystem::path& trace, std::vector<PackedFile> files,
            std::set<std::string> found);
  ~TraceFold();

  bool step(); // false at the end
  // Of the files, after the last step:
  enum class Result : std::uint8_t {
    kFolded,
    kKept,     // as something was found in them that earlier ones do not show
    kHeld,     // for good
    kTooEarly, // a call is in progress that came before their last record
    kFailed,
  };
  Result result() const { return result_; }
  const std::vector<PackedFile>& files() const { return files_; }
  std::uint64_t saved_bytes() const { return saved_; }
  std::set<std::string> take_found() { return std::move(found_); }

private:
  bool end_walk();

  const std::filesystem::path trace_;
  std::vector<PackedFile> files_;
  std::set<std::string> found_;
  std::unique_ptr<FoldWalk> walk_;
  FoldPlan plan_;
  std::unique_ptr<LogFolder> folder_; // of files_[next_ - 1]
  std::size_t next_ = 0;
  std::uint16_t api_ = 0; // 0: the trace has none
  std::uint64_t saved_ = 0;
  Result result_ = Result::kFailed;
};

} // namespace gmt
