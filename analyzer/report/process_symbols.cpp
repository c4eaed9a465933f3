// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/process_symbols.h"

#include <algorithm>

#include "analyzer/symbols/stack_frames.h"

namespace gmt {
ProcessSymbols::ProcessSymbols(const Analysis& analysis, const std::filesystem::path& trace,
                               bool keep_interpreter)
    : analysis_(analysis), trace_(trace), known_(SymbolFile::read(trace)),
      keep_interpreter_(keep_interpreter) {}

std::vector<std::uint64_t> ProcessSymbols::addresses(bool all_stacks) const {
  std::vector<std::uint64_t> addresses;
  const auto add = [&](StackId id) {
    const auto frames = analysis_.stacks.frames(id);
    addresses.insert(addresses.end(), frames.begin(), frames.end());
  };
  if (all_stacks) {
    for (std::size_t i = 1; i <= analysis_.stacks.size(); ++i)
      add(StackId{static_cast<std::uint32_t>(i)});
  }
  for (const Finding& finding : analysis_.findings) {
    for (const FindingStack& stack : finding.stacks) add(stack.stack);
  }
  for (const MemoryTables::Holder& holder : analysis_.process.tables.holders)
    add(holder.stack.stack);
  for (const MemoryTables::Holder& holder : analysis_.process.tables.tensors.holders)
    add(holder.stack.stack);
  if (const auto& history = analysis_.process.history) {
    for (const StackMemory& stack : history->stacks) add(stack.stack.stack);
  }
  std::sort(addresses.begin(), addresses.end());
  addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
  return addresses;
}

void ProcessSymbols::want(SymbolResolver& resolver, bool all_stacks) {
  for (const std::uint64_t address : addresses(all_stacks)) {
    const Module* module = find_module(analysis_.modules, address);
    if (module == nullptr || known_.find(address, module->loaded) != nullptr) continue;
    resolver.want(*module, address);
    wanted_.emplace_back(address, module);
  }
}

bool ProcessSymbols::keep(const SymbolResolver& resolver) {
  bool any = false;
  for (const auto& [address, module] : wanted_) {
    if (!resolver.answered(*module)) continue;
    known_.set(address, module->loaded, resolver.frames(*module, address));
    any = true;
  }
  return any;
}

std::vector<Frame> ProcessSymbols::frames(StackId stack, const SymbolResolver& resolver) const {
  const auto names = [&](const Module& module, std::uint64_t address) {
    const std::vector<Frame>* known = known_.find(address, module.loaded);
    return known != nullptr ? *known : resolver.frames(module, address);
  };
  return stack_frames(analysis_.stacks, stack, analysis_.modules, names, keep_interpreter_);
}

} // namespace gmt
