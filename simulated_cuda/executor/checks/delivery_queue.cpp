// SPDX-License-Identifier: Apache-2.0
// A worker that pauses goes on after a while even without a delivery, as when the launch is over.
#include "simulated_cuda/executor/checks/delivery_queue.h"

#include <chrono>
#include <utility>

namespace gmt::executor {
namespace {

constexpr std::size_t kFull = 4096;
constexpr std::chrono::milliseconds kLongestPause{100};

} // namespace

void DeliveryQueue::add(HeapEvent event) { add_item(std::move(event)); }
void DeliveryQueue::add(std::string text) { add_item(std::move(text)); }

void DeliveryQueue::add_item(Item item) {
  const std::lock_guard lock(mutex_);
  items_.push_back(std::move(item));
  has_items_.store(true, std::memory_order_relaxed);
}

void DeliveryQueue::deliver() {
  if (!has_items_.load(std::memory_order_relaxed)) return;
  std::vector<Item> items;
  {
    const std::lock_guard lock(mutex_);
    items.swap(items_);
    has_items_.store(false, std::memory_order_relaxed);
  }
  delivered_.notify_all();
  for (const Item& item : items) {
    if (const auto* event = std::get_if<HeapEvent>(&item)) observer_.heap_event(*event);
    else observer_.print(std::get<std::string>(item));
  }
}

void DeliveryQueue::pause_if_full(bool delivers) {
  if (!has_items_.load(std::memory_order_relaxed)) return;
  std::unique_lock lock(mutex_);
  if (items_.size() < kFull) return;
  if (delivers) {
    lock.unlock();
    return deliver();
  }
  delivered_.wait_for(lock, kLongestPause, [&] { return items_.size() < kFull; });
}

} // namespace gmt::executor
