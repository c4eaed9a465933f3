// SPDX-License-Identifier: Apache-2.0
// From addresses to object files, see object_files.h.

#include "analyzer/trace_reader/object_files.h"

namespace gmt {

const Module* find_module(std::span<const Module> modules, std::uint64_t address,
                          std::uint64_t order) {
  const Module* found = nullptr;
  for (const Module& m : modules) {
    // A return address may lie one past the end, behind a call that never returns.
    const bool holds = address > m.start && address <= m.end;
    const bool then = order == kAnyOrder || (m.loaded <= order && order < m.unloaded);
    if (holds && then && (found == nullptr || m.loaded >= found->loaded)) found = &m;
  }
  return found;
}

} // namespace gmt
