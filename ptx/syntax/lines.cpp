// SPDX-License-Identifier: Apache-2.0
// Equal lines get one id. A line is inlined at one that was added before it, so stacks end.
#include "ptx/syntax/lines.h"

#include "ptx/syntax/ptx.h"

namespace gmt::ptx {
namespace {

constexpr std::size_t kMostFrames = 256; // frames of a stack; real ones have some dozens

} // namespace

std::size_t LineTable::KeyHash::operator()(const Key& key) const {
  std::uint64_t hash = key.file * 0x9e3779b97f4a7c15ull;
  hash = (hash ^ key.line) * 0xbf58476d1ce4e5b9ull;
  hash = (hash ^ key.column) * 0x94d049bb133111ebull;
  return static_cast<std::size_t>(hash ^ hash >> 32);
}

std::uint32_t LineTable::add(const SourceLine& line) {
  const Key key{line.file, line.line, line.column};
  std::uint32_t& newest = newest_[key];
  if (newest != 0 && lines_[newest] == line) return newest;
  newest = static_cast<std::uint32_t>(lines_.size());
  lines_.push_back(line);
  return newest;
}

std::uint32_t LineTable::find_or_add(const SourceLine& line) {
  const auto found = newest_.find(Key{line.file, line.line, line.column});
  return found == newest_.end() ? add(line) : found->second;
}

std::vector<SourceFrame> LineTable::stack(const Module& module, std::uint32_t id) const {
  std::vector<SourceFrame> frames;
  while (id != 0 && id < lines_.size() && frames.size() < kMostFrames) {
    const SourceLine& line = lines_[id];
    SourceFrame frame{module.file(line.file), line.line, line.column, {}};
    if (!line.function_label.empty()) {
      frame.function = module.debug_name(line.function_label, line.function_offset);
    }
    frames.push_back(frame);
    id = line.inlined_at;
  }
  return frames;
}

} // namespace gmt::ptx
