// SPDX-License-Identifier: Apache-2.0
// The word on top of the stack is the caller's return address only where the function has no frame
// of its own, as the C library's copying and setting of memory: it is taken where a library faulted
// and the word points into code of another object file.
#include "analyzer/analysis/host_crash.h"

#include <sstream>
#include <string>
#include <vector>

namespace gmt {

std::optional<HostCrash> read_crash(EventStream& stream) {
  std::istringstream words(stream.trace().info.crash);
  HostCrash crash;
  std::uint64_t instruction = 0, returns_to = 0;
  std::string access;
  words >> crash.signal >> std::hex >> crash.address >> instruction >> returns_to >> access;
  const bool is_known = crash.signal == "SIGSEGV" || crash.signal == "SIGBUS";
  if (!words || !is_known || (access != "read" && access != "write")) return std::nullopt;
  crash.is_write = access == "write";
  // As a return address: one behind the instruction's first byte.
  std::vector<std::uint64_t> frames{instruction + 1};
  const std::vector<Module>& modules = stream.trace().modules;
  const Module *here = find_module(modules, instruction),
               *caller = find_module(modules, returns_to);
  if (here != nullptr && caller != nullptr && here != caller) frames.push_back(returns_to);
  crash.stack = stream.add_stack(frames);
  return crash;
}

} // namespace gmt
