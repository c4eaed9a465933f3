// SPDX-License-Identifier: Apache-2.0
// The records of this process's trace, as a reader of its files finds them while it runs.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "interposer/log/process.h"
#include "trace/records.h"

namespace gmt::interposer {
namespace {

std::filesystem::path trace_folder() {
  char path[4200];
  EXPECT_TRUE(Process::path_of("info", path, sizeof path));
  return std::filesystem::path(path).parent_path();
}

// A record's words, in as many slots as it has.
std::vector<std::uint64_t> words_of(const trace::Slot* slot, unsigned slots) {
  std::vector<std::uint64_t> words(std::begin(slot->a), std::end(slot->a));
  for (unsigned i = 1; i < slots; ++i) {
    trace::MoreSlot more;
    std::memcpy(&more, slot + i, sizeof more);
    words.insert(words.end(), std::begin(more.payload), std::end(more.payload));
  }
  return words;
}

struct Recorded {
  trace::Head head;
  std::uint64_t order;
  std::uint16_t context, via;
  std::vector<std::uint64_t> payload;
};

inline std::vector<Recorded> records_of(const std::filesystem::path& log) {
  std::ifstream in(log, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
  std::vector<trace::Slot> slots((bytes.size() - trace::kLogHeaderBytes) / sizeof(trace::Slot));
  std::memcpy(slots.data(), bytes.data() + trace::kLogHeaderBytes,
              slots.size() * sizeof(trace::Slot));
  std::vector<Recorded> found;
  for (std::size_t at = 0; at < slots.size();) {
    const trace::Slot& slot = slots[at];
    const trace::Head head = trace::unpack(slot.head);
    if (head.kind != trace::Kind::kNone)
      found.push_back(
        {head, trace::order_of(slot.order), slot.context, slot.via, words_of(&slot, head.slots)});
    at += std::max<std::size_t>(head.slots, 1);
  }
  return found;
}

// Of all threads, in each one's order. Not those of device heaps.
inline std::vector<Recorded> all_records() {
  std::vector<Recorded> found;
  for (const auto& entry : std::filesystem::directory_iterator(trace_folder())) {
    if (entry.path().extension() != ".log" || entry.path().filename().string()[0] != 't') continue;
    const std::vector<Recorded> more = records_of(entry.path());
    found.insert(found.end(), more.begin(), more.end());
  }
  return found;
}

// A trace's text.
inline std::string text_of_id(std::uint64_t id) {
  for (const Recorded& record : all_records()) {
    if (record.head.kind != trace::Kind::kText) continue;
    const trace::TextView text(record);
    if (text.id() == id) return {text.text().text(), text.length()};
  }
  return {};
}

// The contents of `info`.
inline std::string info_of_trace() {
  std::ifstream in(trace_folder() / "info");
  return {std::istreambuf_iterator<char>(in), {}};
}

// A test that looks at the records of a kind that it has made itself.
class RecordedTest : public testing::Test {
protected:
  std::vector<Recorded> fresh(trace::Kind kind) const {
    std::vector<Recorded> found;
    if (Process::is_on()) {
      for (const Recorded& record : all_records()) {
        if (record.head.kind == kind) found.push_back(record);
      }
    }
    found.erase(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(seen(kind)));
    return found;
  }
  // The only one.
  Recorded only(trace::Kind kind) const {
    const std::vector<Recorded> found = fresh(kind);
    EXPECT_EQ(found.size(), 1u);
    return found.empty() ? Recorded{{}, 0, 0, 0, std::vector<std::uint64_t>(64)} : found[0];
  }

  void SetUp() override {
    if (Process::is_on()) before_ = all_records();
  }

private:
  std::size_t seen(trace::Kind kind) const {
    return static_cast<std::size_t>(
      std::count_if(before_.begin(), before_.end(),
                    [kind](const Recorded& record) { return record.head.kind == kind; }));
  }
  std::vector<Recorded> before_;
};

} // namespace
} // namespace gmt::interposer
