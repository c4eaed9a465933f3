// SPDX-License-Identifier: Apache-2.0
// The ids that have been written stand in a hash set of fixed size; what finds no room there is
// written at every use.
#include "interposer/log/interned_text.h"

#include <atomic>

#include "interposer/base/own_stack.h"
#include "interposer/log/thread_log.h"

namespace gmt::interposer {

namespace {

constexpr std::size_t kMaxBytes =
  (kMaxPayloadWords - trace::TextWord::kCount) * sizeof(std::uint64_t);

constexpr unsigned kEntries = 8192;
constexpr unsigned kProbes = 16;
constinit std::atomic<std::uint64_t> written_texts[kEntries] = {}; // 0 is free

bool is_written(std::uint64_t id) noexcept {
  for (unsigned i = 0; i < kProbes; ++i) {
    const std::uint64_t known = written_texts[(id + i) % kEntries].load(std::memory_order_acquire);
    if (known == id) return true;
    if (known == 0) return false;
  }
  return false;
}

void remember(std::uint64_t id) noexcept {
  for (unsigned i = 0; i < kProbes; ++i) {
    std::uint64_t known = 0;
    if (written_texts[(id + i) % kEntries].compare_exchange_strong(known, id,
                                                                   std::memory_order_acq_rel) ||
        known == id)
      return;
  }
}

// Not substr(): without optimisation it calls the C++ library, which this library does without.
std::string_view cut_to_fit(std::string_view text) noexcept {
  if (text.size() > kMaxBytes) text.remove_suffix(text.size() - kMaxBytes);
  return text;
}

[[gnu::noinline]] bool append_here(ThreadLog& log, std::string_view text, std::uint64_t id,
                                   bool droppable) noexcept {
  PayloadWords<kMaxPayloadWords> words;
  trace::TextFields(words).id(id).length(text.size());
  const unsigned count = words.set_text(trace::TextWord::kCount, text);
  return log.append_words(trace::Kind::kText, words.w, count, 0, droppable) != nullptr;
}

bool append_whole(ThreadLog& log, std::string_view text, std::uint64_t id,
                  bool droppable) noexcept {
  bool done = false;
  with_room([&](bool) noexcept { done = append_here(log, text, id, droppable); });
  return done;
}

} // namespace

std::uint64_t append_text(ThreadLog& log, std::string_view text) noexcept {
  text = cut_to_fit(text);
  const std::uint64_t id = text_id(text);
  if (is_written(id)) return id;
  // Remembered after it is written: a thread that finds it remembered finds it in the trace.
  if (append_whole(log, text, id, false)) remember(id);
  return id;
}

std::uint64_t write_text(ThreadLog& log, std::string_view text) noexcept {
  text = cut_to_fit(text);
  const std::uint64_t id = text_id(text);
  append_whole(log, text, id, true);
  return id;
}

void forget_texts() noexcept {
  for (auto& id : written_texts) id.store(0, std::memory_order_relaxed);
}

} // namespace gmt::interposer
