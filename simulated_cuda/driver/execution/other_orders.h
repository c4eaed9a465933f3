// SPDX-License-Identifier: Apache-2.0
// --races-schedules: a launch that has run runs again from the memory that it began with, each time
// in another order of its blocks, warps and lanes. A race that its own run did not show, or the
// first result that differs, is reported with the shortest order that shows it. Memory is then as
// the launch's own run left it.
#pragma once

#include "simulated_cuda/executor/executor.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace gmt::sim {

class OtherOrders {
public:
  // Before the launch runs. `orders`: with its own.
  OtherOrders(const executor::Launch& launch, std::uint64_t orders);

  // The observer of the launch's own run: passes on what it hears.
  executor::Observer& listen(executor::Observer& observer);
  // Behind the launch's own run.
  void run(const executor::Outcome& own, executor::Observer& observer);
  // Why no other order was tried, half a sentence; empty: they were, or none was wanted.
  const std::string& why_not() const { return why_not_; }

private:
  // A piece of memory that the launch may write, and what is known of its bytes.
  struct Piece {
    std::uint64_t address = 0;
    std::vector<std::byte> bytes;
    std::vector<std::uint8_t> states;
  };
  // Passes reports on and remembers whether one is a race.
  class Listener final : public executor::Observer {
  public:
    void report(const executor::Report& report) override;
    void heap_event(const executor::HeapEvent& event) override;
    void print(const std::string& text) override;
    void print_error(const std::string& text) override;
    bool progress(std::uint64_t done, std::uint64_t blocks, double seconds) override;

    executor::Observer* to = nullptr;   // null: what it hears goes no further
    executor::Observer* asks = nullptr; // whether the run may go on
    bool saw_race = false;
    executor::Report race; // the first
  };
  struct Difference {
    bool is_race = false, differs = false;
    executor::Report race;
    std::uint64_t address = 0; // of the first byte that differs
    bool any() const { return is_race || differs; }
  };

  void look_at_code();
  void find_pieces();
  std::vector<Piece> kept() const;
  void restore(const std::vector<Piece>& pieces) const;
  Difference run_in(std::uint64_t seed, std::uint64_t mixed_blocks); // nothing, if it was ended
  std::uint64_t shortest(std::uint64_t seed, bool is_race);
  void say(const Difference& found, std::uint64_t seed, std::uint64_t mixed_blocks,
           executor::Observer& observer) const;

  executor::Launch launch_;
  std::uint64_t orders_;
  std::string why_not_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges_; // address and bytes
  std::vector<Piece> before_, after_;
  Listener listener_;
  bool is_ended_ = false; // a signal, or the time for all kernels is over
  bool compares_ = false; // results
  double seconds_ = 0;    // of the launch's own run
};

} // namespace gmt::sim
