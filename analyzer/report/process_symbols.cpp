// SPDX-License-Identifier: Apache-2.0
// See process_symbols.h.
#include "analyzer/report/process_symbols.h"

#include <algorithm>

#include "analyzer/symbols/demangle.h"

namespace gmt {
namespace {

// Whether what the frame called is gone, so that other functions follow right above it: `inner`,
// innermost first. None there is the recorded call itself. The same function in another module is a
// copy that was called instead.
bool is_behind_tail_call(const Frame& frame, const std::vector<Frame>& inner) {
  if (!frame.callee) return false;
  if (inner.empty()) return true;
  const Frame& next = inner.back();
  if (next.module.empty() || next.function == frame.callee->function) return false;
  if (next.module != frame.module) {
    return unscoped_function(next.function) != unscoped_function(frame.callee->function);
  }
  const std::uint64_t at = next.module_offset; // behind the call: a function may end with it
  return std::ranges::none_of(frame.callee->code,
                              [at](const CodeRange& r) { return at >= r.begin && at <= r.end; });
}

Frame tail_call_in(std::string module) {
  Frame frame;
  frame.module = std::move(module);
  frame.tail_call = true;
  return frame;
}

} // namespace

ProcessSymbols::ProcessSymbols(const Analysis& analysis, const std::filesystem::path& trace)
    : analysis_(analysis), trace_(trace), known_(SymbolFile::read(trace)) {}

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
  std::vector<Frame> result;
  for (const std::uint64_t address : analysis_.stacks.frames(stack)) {
    const Module* module = find_module(analysis_.modules, address);
    if (module == nullptr) {
      result.emplace_back().address = address;
      continue; // no call site is known
    }
    const std::vector<Frame>* known = known_.find(address, module->loaded);
    const std::vector<Frame> frames = known != nullptr ? *known : resolver.frames(*module, address);
    if (is_behind_tail_call(frames.back(), result))
      result.push_back(tail_call_in(frames.back().module));
    result.insert(result.end(), frames.begin(), frames.end());
  }
  return result;
}

} // namespace gmt
