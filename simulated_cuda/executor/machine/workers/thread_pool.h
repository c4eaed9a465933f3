// SPDX-License-Identifier: Apache-2.0
// Threads that help a launch. They are started when the first launch asks for them and then wait
// for others; a child of fork() has none and starts its own. All signals but faults are blocked in
// them. Invariant: a helper is never needed: one that cannot start, or has not when the launch is
// done, is left out.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>

namespace gmt::executor {

// The helpers of one launch.
class Helpers {
public:
  Helpers() = default;
  ~Helpers() { finish(); }
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;

  // Other threads call work(1) to work(count), which must not throw. Once.
  void start(std::size_t count, std::function<void(std::size_t)> work);
  bool are_started() const { return state_ != nullptr; }
  // Those that work have returned, or the time is over; those that have not begun never will.
  bool finish_within(std::chrono::milliseconds time);
  void finish();

  struct State;

private:
  std::shared_ptr<State> state_;
};

} // namespace gmt::executor
