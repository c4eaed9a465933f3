// SPDX-License-Identifier: Apache-2.0
// What workers tell the observer while the grid runs: printed text and events of the heap, in the
// order in which they happened. The thread that runs the grid delivers it.
#pragma once

#include "simulated_cuda/executor/machine/workers/condition.h"
#include "simulated_cuda/executor/report.h"

#include <atomic>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

namespace gmt::executor {

class DeliveryQueue {
public:
  explicit DeliveryQueue(Observer& observer) : observer_(observer) {}

  void add(HeapEvent event);
  void add(std::string text);
  void deliver();
  // If there is very much: gives the one who delivers time to do so, or delivers.
  void pause_if_full(bool delivers);

private:
  using Item = std::variant<HeapEvent, std::string>;
  void add_item(Item item);

  Observer& observer_;
  std::mutex mutex_;
  Condition delivered_;
  std::vector<Item> items_;
  std::atomic<bool> has_items_{false};
};

} // namespace gmt::executor
