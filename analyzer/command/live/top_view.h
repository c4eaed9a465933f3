// SPDX-License-Identifier: Apache-2.0
// What a person has chosen to see in `top`, changed by keys, and how large the window is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/model/event.h"

namespace gmt {

// Which holders are listed, and in which order.
struct HolderChoice {
  enum class Sort : std::uint8_t { kBytes, kChange, kBlocks };

  Sort sort = Sort::kBytes;
  std::optional<trace::MemoryKind> kind; // none: device memory of any kind
};

struct TopView {
  std::size_t width = 80; // columns
  std::size_t rows = 0;   // of the window; 0: as many as there are lines
  bool with_keys = false; // the last row says which there are
  bool is_paused = false;
  HolderChoice choice;
  std::optional<std::uint32_t> pid; // the process below; none: the one that holds most
  // Device memory of each process, by its trace, at each look; the newest last.
  std::map<std::string, std::deque<std::uint64_t>> history;
  bool draws_blocks = false; // the terminal has UTF-8

  static constexpr std::size_t kHistory = 120;
};

enum class TopKey : std::uint8_t { kNone, kQuit, kPause, kSort, kKind, kNext };

TopKey top_key(char key);
// Of the kinds and processes that there are. kQuit and kNone change nothing.
void apply_key(TopKey key, const std::vector<trace::MemoryKind>& kinds,
               const std::vector<std::uint32_t>& pids, TopView& view);

// The figures as a line of blocks, the highest of them as the highest block; "" for fewer than two.
std::string sparkline(const std::deque<std::uint64_t>& figures, std::size_t width,
                      bool with_blocks);

// Sections of lines cut so that all have room: the first stays whole as long as it can, of the
// others the longest loses lines first. `rows` 0: as they are.
std::vector<std::string> fitted(std::vector<std::vector<std::string>> sections, std::size_t rows);

} // namespace gmt
