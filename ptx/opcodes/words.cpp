// SPDX-License-Identifier: Apache-2.0
// Words that the column `forms` names by a group, as in {.sem}{.scope}.
#include <algorithm>
#include <iterator>

#include "ptx/opcodes/opcodes.h"

namespace gmt::ptx {
namespace {

struct Group {
  std::string_view name, words;
};
constexpr Group kGroups[] = {
  {"sem", "weak relaxed acquire release acq_rel volatile mmio"},
  {"scope", "cta cluster gpu sys"},
  {"space", "const global local param param::entry param::func shared shared::cta shared::cluster"},
  {"cop", "ca cg cs lu cv wb wt"},
  {"vec", "v2 v4 v8"},
  {"dst", "global shared::cta shared::cluster"},
  {"src", "global shared::cta shared::cluster"},
  {"completion", "mbarrier::complete_tx::bytes bulk_group"},
  {"multicast", "multicast::cluster"},
};
// Their words are many, and begin with the cache that they are about.
constexpr std::string_view kOfCaches[] = {"eviction", "cache_hint", "prefetch"};

bool is_in_group(std::string_view group, std::string_view word) {
  if (group == "type") return type_named(word) != Type::kNone;
  if (std::ranges::find(kOfCaches, group) != std::end(kOfCaches))
    return word.starts_with("L1::") || word.starts_with("L2::");
  const auto* const known = std::ranges::find(kGroups, group, &Group::name);
  if (known == std::end(kGroups)) return group == word; // it stands for itself
  for (std::string_view rest = known->words; !rest.empty();) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    if (rest.substr(0, end) == word) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

} // namespace

bool names_word(const Opcode& opcode, std::string_view word) {
  constexpr std::string_view kSeparators = ".{}|";
  const auto* const end_of_name = opcode.words.begin() + opcode.word_count;
  if (std::find(opcode.words.begin(), end_of_name, word) != end_of_name) return true;
  for (std::string_view rest = opcode.forms; !rest.empty();) {
    const std::size_t end = std::min(rest.find_first_of(kSeparators), rest.size());
    if (end != 0 && is_in_group(rest.substr(0, end), word)) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

} // namespace gmt::ptx
