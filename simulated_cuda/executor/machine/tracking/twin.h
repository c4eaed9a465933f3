// SPDX-License-Identifier: Apache-2.0
// The program of a grid with tracked registers. It is made when a warp first needs it, by any
// worker.
#pragma once

#include "simulated_cuda/executor/program/program.h"

#include <cstddef>
#include <functional>
#include <mutex>
#include <utility>

namespace gmt::executor {

// Shadows of constants, behind those of the program without: 0.
inline constexpr std::size_t kTwinConstants = std::size_t{16} * kLanes;

// Makes instructions of a bound program with tracked registers known as those of the program
// without; false if the two differ otherwise.
bool make_twin(Program& tracked, const Program& plain);

class TrackedTwin {
public:
  // `make` answers null if it cannot be executed.
  explicit TrackedTwin(std::function<const Program*()> make) : make_(std::move(make)) {}

  const Program* get() {
    std::call_once(made_, [this] { program_ = make_(); });
    return program_;
  }

private:
  const std::function<const Program*()> make_;
  std::once_flag made_;
  const Program* program_ = nullptr;
};

} // namespace gmt::executor
