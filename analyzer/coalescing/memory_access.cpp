// SPDX-License-Identifier: Apache-2.0
// Adds up access logs, see memory_access.h. Numbers come from a file that may be damaged: sums stop
// at the largest number instead of starting again at 0.

#include "analyzer/coalescing/memory_access.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analyzer/symbols/demangle.h"

namespace gmt {
namespace {

// Sectors of that many are still bytes
constexpr std::uint64_t kMostSectors = std::uint64_t{1} << 56;

void raise(std::uint64_t& sum, std::uint64_t by) {
  sum = std::min(sum + std::min(by, kMostSectors), kMostSectors);
}

constexpr std::uint64_t AccessCounts::* kFigures[] = {&AccessCounts::executions,
                                                      &AccessCounts::thread_executions,
                                                      &AccessCounts::sectors,
                                                      &AccessCounts::ideal_sectors,
                                                      &AccessCounts::bytes,
                                                      &AccessCounts::wavefronts,
                                                      &AccessCounts::ideal_wavefronts,
                                                      &AccessCounts::shared_bytes,
                                                      &AccessCounts::local_sectors};

void raise(AccessCounts& sums, const AccessCounts& by) {
  for (const auto figure : kFigures) raise(sums.*figure, by.*figure);
}

std::uint64_t excess(std::uint64_t actual, std::uint64_t ideal) {
  return actual - std::min(actual, ideal);
}

// What instructions of one function must share to be one access.
using LineKey = std::tuple<std::string, std::uint32_t, unsigned, std::uint32_t, std::uint32_t>;

LineKey key_of(const MeasuredInstruction& instruction) {
  if (instruction.code == nullptr || instruction.code->lines.empty()) {
    return {std::string(), 0, 0, 0, instruction.offset};
  }
  const SourceLine& line = instruction.code->lines.front();
  return {line.file, line.line, static_cast<unsigned>(instruction.code->op), instruction.width(),
          0};
}

void add_launches(const MeasuredFunction& from, MeasuredFunction& to) {
  raise(to.launches, from.launches);
  raise(to.measured, from.measured);
  raise(to.shared_measured, from.shared_measured);
  raise(to.too_costly, from.too_costly);
  to.plain_nanoseconds = std::max(to.plain_nanoseconds, from.plain_nanoseconds);
  to.longest_nanoseconds = std::max(to.longest_nanoseconds, from.longest_nanoseconds);
}

void set_launches(const MeasuredFunction& from, MeasuredFunction& to) {
  to.launches = from.launches;
  to.measured = from.measured;
  to.shared_measured = from.shared_measured;
  to.too_costly = from.too_costly;
  to.plain_nanoseconds = from.plain_nanoseconds;
  to.longest_nanoseconds = from.longest_nanoseconds;
}

// Launches are counted by name: kernels of one name whose code differs share them, and the row of a
// context that never measured its kernel holds launches alone. Leaves the functions in the order of
// their names.
void share_launches(std::vector<MeasuredFunction>& functions) {
  std::ranges::sort(functions, {},
                    [](const MeasuredFunction& f) { return std::tie(f.linked, f.identity); });
  std::vector<MeasuredFunction> shared;
  for (std::size_t first = 0, last = 0; first < functions.size(); first = last) {
    MeasuredFunction all;
    for (; last < functions.size() && functions[last].linked == functions[first].linked; ++last) {
      add_launches(functions[last], all);
    }
    for (std::size_t i = first; i < last; ++i) {
      MeasuredFunction& function = functions[i];
      const bool only_counts = function.identity == 0 && function.instructions.empty();
      if (only_counts && last - first > 1) continue;
      set_launches(all, function);
      shared.push_back(std::move(function));
    }
  }
  functions = std::move(shared);
}

void add_counters(const KernelCounters& from, KernelCounters& to) {
  raise(to.launches, from.launches);
  for (const auto figure : kCounterFigures) {
    raise((to.*figure).sum, (from.*figure).sum);
    raise((to.*figure).launches, (from.*figure).launches);
  }
}

std::uint64_t scale(std::uint64_t figure, std::uint64_t launches, std::uint64_t measured) {
  if (measured == 0 || launches <= measured) return figure;
  const double by = static_cast<double>(launches) / static_cast<double>(measured);
  const double all = static_cast<double>(figure) * by;
  return all < static_cast<double>(kMostSectors) ? static_cast<std::uint64_t>(std::llround(all))
                                                 : kMostSectors;
}

} // namespace

std::uint64_t MeasuredInstruction::wasted_sectors() const {
  return excess(sums.sectors, sums.ideal_sectors);
}

std::uint64_t MeasuredInstruction::wasted_wavefronts() const {
  return excess(sums.wavefronts, sums.ideal_wavefronts);
}

// Without code, the bytes that were asked for say it.
std::uint32_t MeasuredInstruction::width() const {
  if (code != nullptr && code->bytes != 0) return code->bytes;
  const std::uint64_t bytes = sums.bytes != 0 ? sums.bytes : sums.shared_bytes;
  for (const std::uint32_t width : {1u, 2u, 4u, 8u, 16u}) {
    if (sums.thread_executions != 0 && bytes == sums.thread_executions * width) return width;
  }
  return 0;
}

bool MeasuredFunction::has_bulk_copies() const {
  return code != nullptr &&
         std::ranges::any_of(code->instructions, [](const Instruction& instruction) {
           return instruction.op == MemoryOp::kBulkCopy;
         });
}

std::uint64_t MeasuredFunction::scaled(std::uint64_t figure) const {
  return scale(figure, launches, measured);
}
std::uint64_t MeasuredFunction::scaled_shared(std::uint64_t figure) const {
  return scale(figure, launches, shared_measured);
}

const SourceLine* AccessLine::source() const {
  return worst->code == nullptr || worst->code->lines.empty() ? nullptr
                                                              : &worst->code->lines.front();
}

void MemoryAccess::read(const std::vector<std::filesystem::path>& logs, bool asked,
                        std::uint64_t floor) {
  asked_ = asked || !logs.empty();
  floor_ = floor;
  std::map<std::pair<std::string, std::uint64_t>, std::size_t> known;
  for (const std::filesystem::path& path : logs) {
    AccessLog log = read_access_log(path);
    // The same function in several contexts is one; another cubin's function of that name is
    // another.
    for (const AccessFunction& from : log.functions) {
      const auto [at, is_new] = known.try_emplace({from.name, from.identity}, functions_.size());
      if (is_new) {
        MeasuredFunction& function = functions_.emplace_back();
        function.linked = from.name;
        function.name = from.name.empty() ? "an unnamed function" : demangle(from.name);
        function.identity = from.identity;
      }
      add(from, functions_[at->second]);
    }
    log.functions.clear();
    logs_.push_back(std::move(log));
  }
  share_launches(functions_);
  for (MeasuredFunction& function : functions_) {
    std::ranges::sort(function.instructions, {}, &MeasuredInstruction::offset);
    for (const MeasuredInstruction& instruction : function.instructions) {
      raise(sectors_, function.scaled(instruction.sums.sectors));
    }
  }
}

void MemoryAccess::add(const AccessFunction& from, MeasuredFunction& to) {
  add_counters(from.counters, to.counters);
  raise(to.launches, from.launches == 0 ? 0 : std::max(from.launches, from.measured));
  raise(to.measured, from.measured);
  // Damage may say otherwise
  raise(to.shared_measured, std::min(from.shared_measured, from.measured));
  raise(to.too_costly, from.too_costly);
  to.plain_nanoseconds = std::max(to.plain_nanoseconds, from.plain_nanoseconds);
  to.longest_nanoseconds = std::max(to.longest_nanoseconds, from.longest_nanoseconds);
  std::unordered_map<std::uint32_t, std::size_t> by_offset;
  for (std::size_t i = 0; i < to.instructions.size(); ++i) by_offset[to.instructions[i].offset] = i;
  for (const AccessFunction::Instruction& instruction : from.instructions) {
    const auto [known_at, is_new] =
      by_offset.try_emplace(instruction.offset, to.instructions.size());
    if (is_new) to.instructions.push_back({.offset = instruction.offset, .sums = {}});
    raise(to.instructions[known_at->second].sums, known(instruction.counts));
  }
}

// Figures that there is no metric for count as 0, and it is remembered that they do. An ideal of
// nothing would make all of the rest waste: what has no ideal cannot be checked.
AccessCounts MemoryAccess::known(const AccessCounts& counts) {
  AccessCounts known = counts;
  const auto is_unknown = [](std::uint64_t figure) { return figure == trace::kUnknownCount; };
  if (is_unknown(counts.sectors) || is_unknown(counts.ideal_sectors)) {
    lacks_global_ = true;
    known.sectors = known.ideal_sectors = 0;
  }
  if (is_unknown(counts.wavefronts) || is_unknown(counts.ideal_wavefronts)) {
    lacks_shared_ = true;
    known.wavefronts = known.ideal_wavefronts = 0;
  }
  lacks_local_ = lacks_local_ || is_unknown(counts.local_sectors);
  for (const auto figure : kFigures) {
    if (is_unknown(known.*figure)) known.*figure = 0;
  }
  return known;
}

void MemoryAccess::join(const FindCode& find, std::span<const unsigned> architectures) {
  for (MeasuredFunction& function : functions_) {
    std::vector<std::uint32_t> offsets;
    for (const MeasuredInstruction& i : function.instructions) {
      if (i.sums.accessed_memory()) offsets.push_back(i.offset);
    }
    function.code =
      find && !offsets.empty() ? find(function.linked, offsets, architectures) : nullptr;
    if (function.code == nullptr) continue;
    const std::vector<Instruction>& code = function.code->instructions;
    for (MeasuredInstruction& instruction : function.instructions) {
      const auto at = std::ranges::lower_bound(code, instruction.offset, {}, &Instruction::offset);
      if (at != code.end() && at->offset == instruction.offset) instruction.code = &*at;
    }
  }
  global_ = lines(false);
  shared_ = lines(true);
}

std::vector<AccessLine> MemoryAccess::lines(bool shared) const {
  const auto wasted = [shared](const MeasuredInstruction* i) {
    return shared ? i->wasted_wavefronts() : i->wasted_sectors();
  };
  std::vector<AccessLine> all;
  for (const MeasuredFunction& function : functions_) {
    std::map<LineKey, AccessLine> lines;
    for (const MeasuredInstruction& instruction : function.instructions) {
      const AccessCounts& sums = instruction.sums;
      if ((shared ? sums.wavefronts : sums.sectors) == 0) continue;
      AccessLine& line = lines[key_of(instruction)];
      line.function = &function;
      line.shared = shared;
      line.members.push_back(&instruction);
      raise(line.sums, sums);
      raise(line.wasted, wasted(&instruction));
    }
    for (auto& [key, line] : lines) {
      line.worst = *std::ranges::max_element(line.members, {}, wasted);
      all.push_back(std::move(line));
    }
  }
  std::ranges::stable_sort(all, std::ranges::greater{}, &AccessLine::wasted_in_all);
  return all;
}

} // namespace gmt
