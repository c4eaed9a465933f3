// SPDX-License-Identifier: Apache-2.0
#include "analyzer/core_dump/dump_modules.h"

#include <algorithm>
#include <utility>

namespace gmt {
namespace {

constexpr std::uint64_t kMostLoaded = 100'000;
constexpr std::size_t kMostKnown = 10'000; // more addresses are damage

constexpr std::int64_t kMostCode = 1 << 20; // bytes of a function

std::optional<std::vector<std::int64_t>> branch_targets(const DumpCode& code) {
  constexpr unsigned kArchitecture = 90; // on which sums were learnt
  if (code.architecture != kArchitecture) return std::nullopt;
  const auto begin = -static_cast<std::int64_t>(code.location.offset);
  const auto end = static_cast<std::int64_t>(code.location.rest);
  if (end - begin > kMostCode) return std::nullopt;
  std::vector<std::int64_t> targets{begin};
  constexpr auto kStep = static_cast<std::int64_t>(kInstructionBytes);
  for (std::int64_t at = begin; at < end; at += kStep) {
    const DumpCode::Words w = code.words(at);
    if (!is_branch(w.low)) continue;
    const auto distance = branch_distance(w.low, w.high, code.architecture);
    if (!distance) return std::nullopt;
    targets.push_back(at + *distance);
  }
  std::ranges::sort(targets);
  return targets;
}

} // namespace

DumpCode::Words DumpCode::words(std::int64_t behind) const {
  Words words;
  const std::uint64_t at = location.offset + static_cast<std::uint64_t>(behind);
  if (!read_at(location.code, at, words)) return {};
  return words;
}

// Functions take their first argument in register 4: here the address of the condition's text.
std::string_view DumpCode::assertion() const {
  constexpr std::uint32_t kFirstArgument = 4;
  const auto constant =
    constant_in_register(location.code, location.offset, kFirstArgument, architecture);
  return constant ? cubin->text_at(cubin->address_constant(*constant)) : std::string_view();
}

DumpModules::DumpModules(const DumpTables& tables, const DumpTables::Section* modules) {
  const std::uint64_t count = std::min(tables.row_count(modules), kMostLoaded);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto* image = tables.below(DumpTable::kRelocatedImage, modules, i);
    if (auto cubin = Cubin::open(tables.data(image))) cubins_.push_back(std::move(*cubin));
  }
}

const DumpCode* DumpModules::find(std::uint64_t address) {
  if (const auto at = known_.find(address); at != known_.end())
    return at->second ? &*at->second : nullptr;
  if (known_.size() >= kMostKnown) return nullptr;
  std::optional<DumpCode>& found = known_[address];
  for (const Cubin& cubin : cubins_) {
    auto location = cubin.locate(address);
    if (!location) continue;
    found.emplace(DumpCode{std::move(*location), cubin.architecture(), {}, {}, &cubin, {}});
    const DumpCode::Words words = found->words(0);
    found->access = decode_instruction(words.low, words.high, found->architecture);
    found->operand = address_operand(words.low, words.high, found->architecture);
    if (found->access) found->branch_targets = branch_targets(*found);
    return &*found;
  }
  return nullptr;
}

} // namespace gmt
