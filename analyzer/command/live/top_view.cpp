// SPDX-License-Identifier: Apache-2.0
#include "analyzer/command/live/top_view.h"

#include <algorithm>
#include <string_view>

namespace gmt {
namespace {

constexpr std::string_view kBlocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::string_view kLetters[] = {"_", ".", "-", "~", "=", "+", "*", "#"};
constexpr std::size_t kHeights = std::size(kBlocks);

// The element behind one in a ring that begins and ends with "none chosen".
template <class T> std::optional<T> behind(const std::optional<T>& now, const std::vector<T>& all) {
  if (all.empty()) return std::nullopt;
  if (!now) return all.front();
  const auto found = std::ranges::find(all, *now);
  if (found == all.end() || found + 1 == all.end()) return std::nullopt;
  return *(found + 1);
}

} // namespace

TopKey top_key(char key) {
  switch (key) {
  case 'q':
  case 'Q':
  case '\x03': return TopKey::kQuit;
  case 'p':
  case ' ': return TopKey::kPause;
  case 's': return TopKey::kSort;
  case 'k': return TopKey::kKind;
  case 'n':
  case '\t': return TopKey::kNext;
  default: return TopKey::kNone;
  }
}

void apply_key(TopKey key, const std::vector<trace::MemoryKind>& kinds,
               const std::vector<std::uint32_t>& pids, TopView& view) {
  using Sort = HolderChoice::Sort;
  if (key == TopKey::kPause) view.is_paused = !view.is_paused;
  if (key == TopKey::kKind) view.choice.kind = behind(view.choice.kind, kinds);
  if (key == TopKey::kNext) view.pid = behind(view.pid, pids);
  if (key != TopKey::kSort) return;
  view.choice.sort = view.choice.sort == Sort::kBytes    ? Sort::kChange
                     : view.choice.sort == Sort::kChange ? Sort::kBlocks
                                                         : Sort::kBytes;
}

std::string sparkline(const std::deque<std::uint64_t>& figures, std::size_t width,
                      bool with_blocks) {
  if (figures.size() < 2 || width == 0) return {};
  const std::size_t first = figures.size() - std::min(figures.size(), width);
  const std::uint64_t most =
    *std::max_element(figures.begin() + static_cast<std::ptrdiff_t>(first), figures.end());
  std::string line;
  for (std::size_t i = first; i < figures.size(); ++i) {
    const double share =
      most == 0 ? 0 : static_cast<double>(figures[i]) / static_cast<double>(most);
    const auto height = std::min<std::size_t>(
      kHeights - 1, static_cast<std::size_t>(share * static_cast<double>(kHeights)));
    line += with_blocks ? kBlocks[height] : kLetters[height];
  }
  return line;
}

std::vector<std::string> fitted(std::vector<std::vector<std::string>> sections, std::size_t rows) {
  std::erase_if(sections, [](const std::vector<std::string>& lines) { return lines.empty(); });
  // Blank lines go first where all lines do not fit.
  const auto needed = [&sections](std::size_t between) {
    std::size_t sum = between * (sections.empty() ? 0 : sections.size() - 1);
    for (const auto& lines : sections) sum += lines.size();
    return sum;
  };
  const std::size_t between = rows == 0 || needed(1) <= rows ? 1 : 0;
  while (rows != 0 && needed(between) > rows) {
    auto longest =
      std::max_element(sections.begin() + 1, sections.end(),
                       [](const auto& a, const auto& b) { return a.size() < b.size(); });
    if (sections.size() < 2) longest = sections.begin();
    longest->pop_back();
    if (longest->size() == 1 && sections.size() > 1) sections.erase(longest); // its heads alone
  }
  std::vector<std::string> all;
  for (std::size_t i = 0; i < sections.size(); ++i) {
    if (i != 0 && between != 0) all.emplace_back();
    all.insert(all.end(), sections[i].begin(), sections[i].end());
  }
  return all;
}

} // namespace gmt
