// SPDX-License-Identifier: Apache-2.0
// The kernels that the logs of this process describe, read as a reader of the trace would.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <vector>

#include "interposer/log/process.h"
#include "tests/unit/interposer/recorders/made_up_driver.h"
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

// The kernels that the trace describes, as it did last.
std::map<std::uint64_t, Kernel> announced() {
  std::map<std::uint64_t, Kernel> kernels;
  for (const auto& entry : std::filesystem::directory_iterator(trace_folder())) {
    if (entry.path().extension() != ".log") continue;
    std::ifstream in(entry.path(), std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
    std::vector<trace::Slot> slots((bytes.size() - trace::kLogHeaderBytes) / sizeof(trace::Slot));
    std::memcpy(slots.data(), bytes.data() + trace::kLogHeaderBytes,
                slots.size() * sizeof(trace::Slot));
    for (std::size_t at = 0; at < slots.size();) {
      const trace::Head head = trace::unpack(slots[at].head);
      const std::vector<std::uint64_t> words = words_of(&slots[at], head.slots);
      const trace::Payload payload{words.data(), words.size()};
      at += head.slots == 0 ? 1 : head.slots;
      if (head.kind == trace::Kind::kName) {
        const trace::NameView view(payload);
        kernels[view.handle()].name.assign(view.text().text(), view.length());
      } else if (head.kind == trace::Kind::kKernel) {
        const trace::KernelView view(payload);
        auto& parameters = kernels[view.function()].parameters;
        parameters.clear();
        for (std::size_t i = 0; i < view.parameter_count(); ++i) {
          const trace::Halves halves = trace::halves_of(view.parameters()[i]);
          parameters.emplace_back(halves.low, halves.high);
        }
      }
    }
  }
  return kernels;
}

} // namespace
} // namespace gmt::interposer
