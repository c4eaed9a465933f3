// SPDX-License-Identifier: Apache-2.0
// The reports of a launch: what its workers saw becomes one report for each kind and instruction,
// in the order of blocks, so that it does not depend on who ran which block.
#pragma once

#include "simulated_cuda/executor/checks/delivery_queue.h"
#include "simulated_cuda/executor/checks/reports.h"
#include "simulated_cuda/executor/machine/report_sink.h"

#include <memory>
#include <vector>

namespace gmt::executor {

class LaunchReports final : public ReportSinks {
public:
  LaunchReports(const Program& program, const Launch& launch, Observer& observer)
      : program_(program), launch_(launch), observer_(observer), queue_(observer) {}

  ReportSink& of_worker(std::size_t worker) override;
  void deliver() override { queue_.deliver(); }
  void finish(std::uint64_t last) override;

private:
  const Program& program_;
  const Launch& launch_;
  Observer& observer_;
  DeliveryQueue queue_;
  std::vector<std::unique_ptr<Reports>> workers_;
};

} // namespace gmt::executor
