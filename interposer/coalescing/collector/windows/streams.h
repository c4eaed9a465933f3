// SPDX-License-Identifier: Apache-2.0
// The streams of a context that may have work: filled by every call that gives a stream something
// to do, emptied when all of it is known to be done.
//
// Invariants: add() takes no lock, so a signal handler may cut into it; the rest is called while no
// other thread adds. What finds no room, or happens where it cannot be seen, makes the set blind:
// then only a wait for the whole context shows that all is done.
#pragma once

#include <atomic>
#include <cstdint>

namespace gmt::interposer::collector {

class StreamSet {
public:
  void add(std::uint64_t stream, std::uint64_t thread) noexcept;
  void add_unknown() noexcept {
    blind_.store(true);
    changes_.fetch_add(1);
  }
  // The stream's handle becomes invalid. `may_ask`: no capture is in progress.
  void end(std::uint64_t stream, bool may_ask) noexcept;

  // Rises with everything that is added.
  std::uint64_t changes() const noexcept { return changes_.load(); }

  // Asks the driver, never a stream that captures. Streams that are done leave the set.
  bool are_idle(std::uint64_t thread) noexcept;
  void clear() noexcept;

private:
  static constexpr unsigned kEntries = 64;
  struct Entry {
    std::atomic<std::uint64_t> stream; // 0 is free
    std::atomic<std::uint64_t> thread; // whose per-thread default stream it is, else 0
  };
  Entry entries_[kEntries] = {};
  std::atomic<bool> blind_{false};
  std::atomic<std::uint64_t> changes_{0};
};

// Streams that capture, of the whole process.
class CaptureSet {
public:
  void begin(std::uint64_t stream, std::uint64_t thread) noexcept;
  void end(std::uint64_t stream, std::uint64_t thread) noexcept;
  bool any() const noexcept { return count_.load() != 0; }
  bool any_of(std::uint64_t thread) const noexcept; // begun by it
  void forget() noexcept;

private:
  static constexpr unsigned kEntries = 64;
  struct Entry {
    std::atomic<std::uint64_t> key; // 0 is free
    std::atomic<std::uint64_t> thread;
  };
  Entry entries_[kEntries] = {};
  std::atomic<unsigned> count_{0}; // those that found no room stay in it
};

// cuStreamIsCapturing: whether it is certain that it does not.
bool surely_captures_nothing(std::uint64_t stream) noexcept;

} // namespace gmt::interposer::collector
