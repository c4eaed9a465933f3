// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/driver/execution/traffic.h"

#include "simulated_cuda/driver/state/observer.h"

#include <cstddef>
#include <string>
#include <vector>

namespace gmt::sim {
namespace {

using executor::FunctionTraffic;
using executor::InstructionTraffic;

// Where the lines of an instruction stand while the observer reads them.
struct Lines {
  const executor::Traffic& traffic;
  std::vector<executor::SourceLine> kept;
  std::vector<trace::ExecutionLine> views;
};

std::uint32_t lines_of(void* owner, std::uint32_t function, std::uint32_t instruction,
                       const trace::ExecutionLine** lines) {
  auto& all = *static_cast<Lines*>(owner);
  const InstructionTraffic& one = all.traffic.functions[function].instructions[instruction];
  all.kept = all.traffic.lines(function, one.number);
  all.views.clear();
  for (const executor::SourceLine& line : all.kept)
    all.views.push_back(
      {line.function.empty() ? nullptr : line.function.c_str(), line.file.c_str(), line.line, 0});
  *lines = all.views.data();
  return static_cast<std::uint32_t>(all.views.size());
}

std::uint64_t identity_of(const FunctionTraffic& function) {
  std::uint64_t h = 0xcbf29ce484222325;
  const auto add = [&h](std::uint64_t value) { h = (h ^ value) * 0x100000001b3; };
  for (const char c : function.name) add(static_cast<unsigned char>(c));
  for (const InstructionTraffic& one : function.instructions) {
    add(one.number);
    add(static_cast<std::uint64_t>(one.access) << 8 | static_cast<std::uint64_t>(one.space));
    add(one.bytes);
    add(static_cast<std::uint32_t>(one.offset));
  }
  return h | 1;
}

trace::ExecutionInstructionTraffic view_of(const InstructionTraffic& one) {
  trace::ExecutionInstructionTraffic view{};
  view.number = one.number;
  view.access = static_cast<trace::ExecutionAccess>(one.access);
  view.space = static_cast<trace::ExecutionSpace>(one.space);
  view.bytes = one.bytes;
  view.base = one.base;
  view.offset = one.offset;
  view.executions = one.counts.executions;
  view.threads = one.counts.threads;
  view.sectors = one.counts.sectors;
  view.ideal_sectors = one.counts.ideal_sectors;
  view.wavefronts = one.counts.wavefronts;
  view.ideal_wavefronts = one.counts.ideal_wavefronts;
  return view;
}

} // namespace

bool is_traffic_asked_for() {
  const trace::ExecutionObserver* observer = execution_observer();
  constexpr std::size_t kNeeded =
    offsetof(trace::ExecutionObserver, traffic) + sizeof observer->traffic;
  return observer != nullptr && observer->size >= kNeeded && observer->traffic != nullptr;
}

void observe_traffic(const trace::ExecutionLaunch& launch, const executor::Traffic& traffic) {
  if (traffic.functions.empty() || !is_traffic_asked_for()) return;
  std::vector<std::vector<trace::ExecutionInstructionTraffic>> instructions;
  std::vector<trace::ExecutionFunctionTraffic> functions;
  for (const FunctionTraffic& function : traffic.functions) {
    auto& here = instructions.emplace_back();
    std::uint64_t executions = 0;
    for (const InstructionTraffic& one : function.instructions) {
      here.push_back(view_of(one));
      executions += one.counts.executions;
    }
    functions.push_back({identity_of(function), function.name.c_str(), function.is_kernel ? 1u : 0u,
                         executions != 0 ? 1u : 0u, here.data(),
                         static_cast<std::uint32_t>(here.size()), 0});
  }
  Lines lines{traffic, {}, {}};
  trace::ExecutionTraffic said{};
  said.size = sizeof said;
  said.function_count = static_cast<std::uint32_t>(functions.size());
  said.launch = launch;
  said.functions = functions.data();
  said.owner = &lines;
  said.lines = lines_of;
  execution_observer()->traffic(&said);
}

} // namespace gmt::sim
