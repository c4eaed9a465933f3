// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/executor/machine/earlier_launches.h"

#include "simulated_cuda/executor/executor.h"
#include "simulated_cuda/executor/machine/grid_ordering.h"
#include "simulated_cuda/executor/program/program.h"

#include <memory>
#include <utility>

namespace gmt::executor {
namespace {

void describe(EarlierLaunch& earlier, const Launch& launch, const Program& program) {
  earlier.program = &program;
  earlier.kernel = launch.kernel->name;
  earlier.call = launch.call;
  earlier.grid = launch.grid;
  earlier.block = launch.block;
  earlier.cluster = launch.cluster;
}

// Where races were not looked for, nothing can be said of the others.
void add_to_tree(const Launch& launch, const Program& program, const GridOrdering& ordering) {
  if (!ordering.is_on()) return launch.tree->forget();
  EarlierLaunch member;
  describe(member, launch, program);
  ordering.name_runs(member);
  launch.tree->add(std::move(member));
}

} // namespace

void become_earlier(const Launch& launch, const Program& program, GridOrdering& ordering,
                    bool is_done) {
  if (launch.tree != nullptr) add_to_tree(launch, program, ordering);
  if (launch.becomes_primary == nullptr) return;
  std::shared_ptr<PrimaryLaunch> primary = ordering.as_primary();
  if (primary == nullptr || !is_done) return;
  describe(*primary, launch, program);
  *launch.becomes_primary = std::move(primary);
}

} // namespace gmt::executor
