// SPDX-License-Identifier: Apache-2.0
// The kernels that the logs of this process describe, read as a reader of the trace would.
#pragma once

#include <cstdint>
#include <map>

#include "tests/unit/interposer/recorders/made_up_driver.h"
#include "tests/unit/interposer/support/recorded.h"
#include "trace/records.h"

namespace gmt::interposer {
namespace {

// The kernels that the trace describes, as it did last.
std::map<std::uint64_t, Kernel> announced() {
  std::map<std::uint64_t, Kernel> kernels;
  for (const Recorded& record : all_records()) {
    if (record.head.kind == trace::Kind::kName) {
      const trace::NameView view(record);
      kernels[view.handle()].name.assign(view.text().text(), view.length());
    } else if (record.head.kind == trace::Kind::kKernel) {
      const trace::KernelView view(record);
      auto& parameters = kernels[view.function()].parameters;
      parameters.clear();
      for (std::size_t i = 0; i < view.parameter_count(); ++i) {
        const trace::Halves halves = trace::halves_of(view.parameters()[i]);
        parameters.emplace_back(halves.low, halves.high);
      }
    }
  }
  return kernels;
}

} // namespace
} // namespace gmt::interposer
