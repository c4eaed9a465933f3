// SPDX-License-Identifier: Apache-2.0
// Rules that a program is to keep, as given by --policy and --policy-file for CI. The command
// parses them before the program starts.
//
//   no-direct-malloc [after MARK]   no allocation past the pool; from the NVTX mark on, else from
//   the start no-alloc-in RANGE               no allocation inside NVTX ranges of that name (a
//   glob) no-alloc-during-capture         no allocation by a thread that captures a stream
//   max-device-bytes SIZE           never more device memory alive at once
//   max-allocations N               not more allocations in all
//   max-growth PERCENT              peak and live memory against a baseline
//   max-growth-per-step SIZE        memory that each step leaves behind
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace gmt {

struct PolicyRule {
  enum class Kind : std::uint8_t {
    kNoDirectMalloc,
    kNoAllocIn,
    kNoAllocDuringCapture,
    kMaxDeviceBytes,
    kMaxAllocations,
    kMaxGrowth,        // against a baseline: of whole runs, so no detector checks it
    kMaxGrowthPerStep, // growth.cpp checks it
  };
  Kind kind;
  std::string text;        // as written, blanks made one
  std::string name = {};   // of the range or mark: a glob; empty if there is none
  std::uint64_t limit = 0; // of the kMax kinds; percent of kMaxGrowth
};

// Both throw UserError (status 2): what is wrong, and the nearest rule.
PolicyRule parse_policy(std::string_view text);
// One rule a line; what follows a '#' at the beginning of a line is a comment.
std::vector<PolicyRule> read_policy_file(const std::filesystem::path& file);

} // namespace gmt
