// SPDX-License-Identifier: Apache-2.0
// What both forms of a report for Perfetto, JSON and protobuf, say of a process in the same words.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/report/output_format.h"

namespace gmt::perfetto {

inline constexpr std::uint32_t kRangeThreads = 1'000'000; // added to a thread's number: its ranges

// Of the processes with a timeline. Viewers take processes of one number for one, so that of
// another host, or after an exec, has one that no system gives.
struct ShownProcess {
  std::size_t index = 0; // in the report
  std::uint64_t pid = 0;
  std::uint64_t offset_ns = 0; // of its first call, from the first call of all
};
std::vector<ShownProcess> shown_processes(const Report& report);

// What is not as in the program: "12 calls left out, the shortest ones"; mostly empty.
std::string labels_of(const Timeline& timeline, std::uint64_t left_out_by_format);

std::string name_of(const Timeline::Thread& thread);
std::string name_of(const Timeline::Counter& counter);
std::string result_of(const Timeline::Slice& slice); // empty if the call succeeded

} // namespace gmt::perfetto
