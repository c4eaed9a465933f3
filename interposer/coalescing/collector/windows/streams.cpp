// SPDX-License-Identifier: Apache-2.0
// cuda.h of CUDA 13: cuStreamIsCapturing may be asked of any stream at any time; asked of the
// legacy stream while a blocking one captures it answers 906 and invalidates nothing. cuStreamQuery
// invalidates a capture, so it is asked second, and only while no capture is known in the whole
// process.
#include "interposer/coalescing/collector/windows/streams.h"

#include "interposer/coalescing/collector/driver.h"

namespace gmt::interposer::collector {

namespace {

constexpr std::uint64_t kPerThreadStream = 2; // CU_STREAM_PER_THREAD
constexpr std::uint64_t kBeingFilled = ~std::uint64_t{0};

bool is_done(std::uint64_t stream) noexcept {
  return surely_captures_nothing(stream) && ask_stream(stream) == 0;
}

std::uint64_t capture_key(std::uint64_t stream, std::uint64_t thread) noexcept {
  return stream == kPerThreadStream ? thread | 1 : stream;
}

} // namespace

bool surely_captures_nothing(std::uint64_t stream) noexcept {
  int status = 0;
  return ask_capture(stream, &status) == 0 && status == 0; // CU_STREAM_CAPTURE_STATUS_NONE
}

void StreamSet::add(std::uint64_t stream, std::uint64_t thread) noexcept {
  changes_.fetch_add(1);
  const std::uint64_t owner = stream == kPerThreadStream ? thread : 0;
  for (Entry& entry : entries_) {
    std::uint64_t known = entry.stream.load(std::memory_order_acquire);
    if (known == 0 && entry.stream.compare_exchange_strong(known, kBeingFilled)) {
      entry.thread.store(owner);
      entry.stream.store(stream, std::memory_order_release);
      return;
    }
    if (known == stream && entry.thread.load() == owner) return;
  }
  blind_.store(true);
}

void StreamSet::end(std::uint64_t stream, bool may_ask) noexcept {
  for (Entry& entry : entries_) {
    if (entry.stream.load() != stream) continue;
    if (!may_ask || !is_done(stream))
      blind_.store(true); // its work goes on, and it can be asked no more
    entry.stream.store(0);
  }
}

bool StreamSet::are_idle(std::uint64_t thread) noexcept {
  if (blind_.load()) return false;
  for (Entry& entry : entries_) {
    const std::uint64_t stream = entry.stream.load();
    if (stream == 0) continue;
    const std::uint64_t owner = entry.thread.load();
    if (stream == kBeingFilled || (owner != 0 && owner != thread) || !is_done(stream)) return false;
    entry.stream.store(0);
  }
  return true;
}

void StreamSet::clear() noexcept {
  for (Entry& entry : entries_) entry.stream.store(0);
  blind_.store(false);
}

void CaptureSet::begin(std::uint64_t stream, std::uint64_t thread) noexcept {
  const std::uint64_t key = capture_key(stream, thread);
  count_.fetch_add(1);
  for (Entry& entry : entries_) {
    std::uint64_t known = 0;
    if (entry.key.compare_exchange_strong(known, key)) return entry.thread.store(thread);
  }
}

void CaptureSet::end(std::uint64_t stream, std::uint64_t thread) noexcept {
  const std::uint64_t key = capture_key(stream, thread);
  for (Entry& entry : entries_) {
    std::uint64_t known = key;
    if (entry.key.load() != key) continue;
    entry.thread.store(0);
    if (!entry.key.compare_exchange_strong(known, 0)) continue;
    count_.fetch_sub(1);
    return;
  }
}

bool CaptureSet::any_of(std::uint64_t thread) const noexcept {
  if (!any()) return false;
  for (const Entry& entry : entries_) {
    if (entry.thread.load() == thread) return true;
  }
  return false;
}

void CaptureSet::forget() noexcept {
  for (Entry& entry : entries_) {
    entry.key.store(0);
    entry.thread.store(0);
  }
  count_.store(0);
}

} // namespace gmt::interposer::collector
