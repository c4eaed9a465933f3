// SPDX-License-Identifier: Apache-2.0
#include "analyzer/trace_reader/reused_addresses.h"

#include <algorithm>
#include <cstddef>

namespace gmt {
namespace {

constexpr unsigned kMachineBits = 48;
constexpr std::size_t kMostMoved = 0x4000; // below what Python's frames have

std::uint64_t shift_of(const Module& module) {
  return module.start - machine_address(module.start);
}

void move(Module& module, std::uint64_t shift) {
  module.start += shift;
  module.end += shift;
  module.bias += shift;
}

bool overlap(const Module& a, const Module& b) {
  const std::uint64_t begin = machine_address(a.start), other = machine_address(b.start);
  return begin < other + (b.end - b.start) && other < begin + (a.end - a.start);
}

// Loaded again at the same addresses, which mean the same then.
bool is_same_file(const Module& a, const Module& b) {
  return a.path == b.path && a.build_id == b.build_id &&
         machine_address(a.bias) == machine_address(b.bias);
}

const Module& last_at_addresses_of(const Module& module, std::span<const Module> modules) {
  const Module* last = &module;
  for (const Module& other : modules)
    if (other.loaded >= last->loaded && overlap(other, module)) last = &other;
  return *last;
}

} // namespace

// A file's number is that of its first unloading, so it stays while further ones come.
void move_reused(std::vector<Module>& modules) {
  std::vector<Module*> gone;
  for (Module& module : modules)
    if (module.unloaded != UINT64_MAX) gone.push_back(&module);
  std::ranges::stable_sort(gone, {}, &Module::unloaded);
  for (Module* module : gone) {
    if (is_same_file(last_at_addresses_of(*module, modules), *module)) continue;
    const auto first = std::ranges::find_if(
      gone, [module](const Module* earlier) { return is_same_file(*earlier, *module); });
    const auto number = static_cast<std::size_t>(first - gone.begin()) + 1;
    if (number < kMostMoved) move(*module, std::uint64_t{number} << kMachineBits);
  }
}

ReusedAddresses::ReusedAddresses(std::span<const Module> moved) {
  for (const Module& module : moved) {
    const std::uint64_t shift = shift_of(module);
    if (shift != 0)
      modules_.push_back(
        {module.start - shift, module.end - shift, module.loaded, module.unloaded, shift});
  }
}

bool ReusedAddresses::may_move(std::uint64_t address) const {
  return std::ranges::any_of(modules_, [address](const Range& m) { return m.holds(address); });
}

std::uint64_t ReusedAddresses::own_address(std::uint64_t address, std::uint64_t order) const {
  for (const Range& module : modules_)
    if (module.holds(address) && order > module.loaded && order <= module.unloaded)
      return address + module.shift;
  return address;
}

} // namespace gmt
