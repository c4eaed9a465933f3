// SPDX-License-Identifier: Apache-2.0
// Grids that leak, and the launches at which their leaks are shown.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "tests/unit/analyzer/support/device_heap_fixture.h"
#include "trace/object_class.h"

namespace gmt::test {

// Which launch each grid's leak is shown at.
class LaunchOfGrid : public DeviceHeapTest {
protected:
  void leak_in(std::uint64_t grid, std::uint32_t site = 1) {
    device.grid(grid, 4, 64);
    device.device_malloc({.grid = grid, .site = site}, kP + grid * 4096, 100 + grid);
  }
  // What is instantiated is 0x9e.
  void instantiate(std::uint64_t graph) {
    log().record({.api = "cuGraphInstantiateWithFlags"}, Made<trace::LifeFields>()
                                                           .handle(0x9e)
                                                           .object(trace::ObjectClass::kGraphExec)
                                                           .op(trace::LifeOp::kCreate)
                                                           .parent(graph));
  }
  std::string launches() { // "1:0x401 ..." number and stack of the launches that leaked, by grid
    std::vector<const ReportedFinding*> leaks;
    for (const ReportedFinding& f : run_device().findings) leaks.push_back(&f);
    std::sort(leaks.begin(), leaks.end(), [](const ReportedFinding* a, const ReportedFinding* b) {
      return a->bytes < b->bytes;
    });
    std::string all;
    for (const ReportedFinding* f : leaks) {
      const std::uint64_t from = f->stacks.size() > 1 ? address_of(f->stacks[1]) : 0;
      all += std::to_string(f->stacks[0].device->launch) + ":" + std::to_string(from) + " ";
    }
    return all;
  }
};

} // namespace gmt::test
