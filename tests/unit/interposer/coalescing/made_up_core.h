// SPDX-License-Identifier: Apache-2.0
// What the collector is given by the interposer, made up: records are kept in memory. One
// executable's tests share them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "interposer/coalescing/collector/core.h"

namespace gmt::interposer::collector {
namespace {

constexpr std::uint64_t kFirstStream = 100, kContext = 0xc0ffee00;

struct Record {
  trace::Kind kind;
  std::vector<trace::Slot> slots; // the record's own, never moved
};
std::mutex records_mutex;
std::deque<Record> records;
Options options;

trace::Slot* append(ThreadLog*, trace::Kind kind, const std::uint64_t* words, unsigned count,
                    std::uint16_t) {
  const std::scoped_lock lock(records_mutex);
  Record& record =
    records.emplace_back(Record{kind, std::vector<trace::Slot>(trace::slots_for(count))});
  for (unsigned i = 0; i < count; ++i) set_word(record.slots.data(), i, words[i]);
  return record.slots.data();
}

// All but what a test chooses: driver_symbol, now, switch_off, append_text.
CoreFunctions core_functions() {
  CoreFunctions functions{};
  functions.options = &options;
  functions.current_context = [] { return kContext; };
  functions.context_id = [] { return std::uint16_t{1}; };
  functions.is_primary_context = [](std::uint64_t) { return false; };
  functions.code_generation = [] { return std::uint64_t{1}; };
  functions.in_range = [](const char*) { return true; };
  functions.notify_at_exit = [] {};
  functions.initial_environment = [](const char*, char*, std::size_t) { return false; };
  functions.make_log = [](std::uint32_t) { return reinterpret_cast<ThreadLog*>(&records); };
  functions.append = append;
  functions.each_object = [](const char*, bool (*)(void*, const char*), void*) {};
  return functions;
}

} // namespace
} // namespace gmt::interposer::collector
