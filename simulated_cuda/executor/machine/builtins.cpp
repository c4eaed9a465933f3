// SPDX-License-Identifier: Apache-2.0
// vprintf, __assertfail, malloc, free and trap. Arguments lie in the caller's area of parameters as
// for any call.
#include "simulated_cuda/executor/machine/builtins.h"

#include "simulated_cuda/executor/machine/access.h"
#include "simulated_cuda/executor/machine/device_bytes.h"
#include "simulated_cuda/executor/machine/format.h"
#include "simulated_cuda/executor/machine/heap.h"
#include "simulated_cuda/executor/machine/report_sink.h"
#include "simulated_cuda/executor/machine/tracking/tracked.h"
#include "simulated_cuda/executor/machine/workers/worker.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

namespace gmt::executor {
namespace {

const CallSite& site_of(const Warp& w, const Instruction* in) {
  return w.frame->code->calls[in->extra];
}

std::uint64_t argument(const Warp& w, const CallSite& site, std::size_t index, std::uint32_t lane) {
  std::uint64_t value = 0;
  if (index >= site.argument_offsets.size()) return 0;
  const std::size_t bytes = std::min<std::size_t>(site.argument_sizes[index], sizeof value);
  std::memcpy(&value,
              w.frame->parameters + std::size_t{lane} * w.frame->code->parameter_bytes +
                site.argument_offsets[index],
              bytes);
  return value;
}

void give_result(Warp& w, const CallSite& site, std::uint32_t lane, std::uint64_t value) {
  if (site.return_offsets.empty()) return;
  const std::size_t bytes = std::min<std::size_t>(site.return_sizes[0], sizeof value);
  std::memcpy(w.frame->parameters + std::size_t{lane} * w.frame->code->parameter_bytes +
                site.return_offsets[0],
              &value, bytes);
}

// Bytes of a string by a generic address, as far as they may be read.
std::string text_at(Warp& w, std::uint32_t lane, std::uint64_t address) {
  std::string text;
  while (text.size() < 4096) {
    char c = 0;
    if (!read_bytes(w, lane, address + text.size(), 1, &c) || c == 0) break;
    text += c;
  }
  return text;
}

// Held while the heap changes and its event is passed on: so events come in the heap's order.
std::unique_lock<std::mutex> lock(Heap* heap) {
  return heap != nullptr ? std::unique_lock(heap->mutex()) : std::unique_lock<std::mutex>();
}

template <class Function>
void for_each_lane(const Warp& w, Function function) {
  for (std::uint32_t m = w.mask; m != 0; m &= m - 1)
    function(static_cast<std::uint32_t>(__builtin_ctz(m)));
}

} // namespace

bool read_bytes(Warp& w, std::uint32_t lane, std::uint64_t address, std::uint32_t bytes, void* to) {
  if (address - kLocalWindow < kWindowBytes) {
    const std::uint64_t offset = address - kLocalWindow;
    if (offset >= w.frame->local_end || bytes > w.frame->local_end - offset) return false;
    std::memcpy(to, w.local.data() + std::size_t{lane} * w.local_stride + offset, bytes);
    return true;
  }
  if (address - kSharedWindow < kWindowBytes) {
    const std::uint64_t offset = address - kSharedWindow;
    if (offset >= w.block->shared_bytes || bytes > w.block->shared_bytes - offset) return false;
    std::memcpy(to, w.block->shared + offset, bytes);
    return true;
  }
  const Region* region = w.grid->memory->region_of(address);
  if (region == nullptr || !region->holds(address, bytes)) return false;
  for (std::uint32_t i = 0; i < bytes; ++i) {
    if (w.grid->memory->state(address + i) == ByteState::kNothing) return false;
    load_device<std::uint8_t>(static_cast<std::byte*>(to) + i, region->at(address) + i);
  }
  return true;
}

const Instruction* print(Warp& w, const Instruction* in) {
  const CallSite& site = site_of(w, in);
  std::string printed; // by all lanes, so that other blocks print before or after
  for_each_lane(w, [&](std::uint32_t lane) {
    const std::string format = text_at(w, lane, argument(w, site, 0, lane));
    const std::uint64_t arguments = argument(w, site, 1, lane);
    std::uint64_t count = 0;
    const auto read = [&](std::uint64_t offset, std::uint32_t bytes, void* to) {
      use_memory(w, in, lane, arguments + offset, bytes);
      return read_bytes(w, lane, arguments + offset, bytes, to);
    };
    const auto text = [&](std::uint64_t address) { return text_at(w, lane, address); };
    std::string unknown;
    printed += format_text(format, read, text, &count, &unknown);
    if (!unknown.empty())
      w.worker->checks->wrong_mask(facts_of(w, in, lane), ("format " + unknown).c_str());
    give_result(w, site, lane, count);
  });
  w.worker->checks->print(std::move(printed));
  w.worker->checks->pause_if_full();
  return in + 1;
}

const Instruction* allocate(Warp& w, const Instruction* in) {
  const CallSite& site = site_of(w, in);
  auto* heap = static_cast<Heap*>(w.grid->heap);
  for_each_lane(w, [&](std::uint32_t lane) {
    HeapEvent event;
    event.kind = HeapEvent::Kind::kMalloc;
    event.bytes = argument(w, site, 0, lane);
    event.location = w.worker->checks->location(facts_of(w, in, lane));
    const auto order = lock(heap);
    if (heap != nullptr) {
      event.address = heap->allocate(event.bytes);
      event.alive_bytes = heap->alive_bytes();
      event.capacity = heap->capacity();
    }
    give_result(w, site, lane, event.address);
    w.worker->checks->heap_event(std::move(event));
  });
  w.worker->checks->pause_if_full();
  return in + 1;
}

const Instruction* release(Warp& w, const Instruction* in) {
  const CallSite& site = site_of(w, in);
  auto* heap = static_cast<Heap*>(w.grid->heap);
  for_each_lane(w, [&](std::uint32_t lane) {
    HeapEvent event;
    event.address = argument(w, site, 0, lane);
    if (event.address == 0) return;
    event.location = w.worker->checks->location(facts_of(w, in, lane));
    const auto order = lock(heap);
    auto done = Heap::Freed::kInvalid;
    if (heap != nullptr) {
      done = heap->release(event.address, &event.bytes);
      event.alive_bytes = heap->alive_bytes();
      event.capacity = heap->capacity();
    }
    event.kind = HeapEvent::Kind::kFree;
    if (done == Heap::Freed::kInvalid) event.kind = HeapEvent::Kind::kInvalidFree;
    if (done == Heap::Freed::kTwice) event.kind = HeapEvent::Kind::kDoubleFree;
    w.worker->checks->heap_event(std::move(event));
  });
  w.worker->checks->pause_if_full();
  return in + 1;
}

// void __assertfail(const char* message, const char* file, unsigned line, const char* function,
// size_t char_size). The text is CUDA's.
const Instruction* assertion_failed(Warp& w, const Instruction* in) {
  const CallSite& site = site_of(w, in);
  const auto lane = static_cast<std::uint32_t>(__builtin_ctz(w.mask));
  const std::string message = text_at(w, lane, argument(w, site, 0, lane));
  const std::string file = text_at(w, lane, argument(w, site, 1, lane));
  const std::string line = std::to_string(argument(w, site, 2, lane) & 0xffffffffu);
  const std::string function = text_at(w, lane, argument(w, site, 3, lane));
  const std::string where = file + ":" + line + ": " + function;
  for_each_lane(w, [&](std::uint32_t l) {
    const auto triple = [](std::uint32_t x, std::uint32_t y, std::uint32_t z) {
      return "[" + std::to_string(x) + "," + std::to_string(y) + "," + std::to_string(z) + "]";
    };
    const Block& b = *w.block;
    const std::string text = where + ": block: " + triple(b.id[0], b.id[1], b.id[2]) +
                             ", thread: " + triple(w.thread[0][l], w.thread[1][l], w.thread[2][l]) +
                             " Assertion `" + message + "` failed.";
    w.worker->checks->ends(facts_of(w, in, l), ReportKind::kAssert, 710, text);
  });
  return end_grid(w, 710);
}

const Instruction* trap(Warp& w, const Instruction* in) {
  for_each_lane(w, [&](std::uint32_t lane) {
    w.worker->checks->ends(facts_of(w, in, lane), ReportKind::kTrap, 719, "");
  });
  return end_grid(w, 719);
}

const Instruction* unnamed_lanes(Warp& w, const Instruction* in, std::uint32_t lanes) {
  for_each_lane(w, [&](std::uint32_t lane) {
    if ((lanes >> lane & 1) == 0) return;
    w.worker->checks->ends(facts_of(w, in, lane), ReportKind::kIllegalInstruction, 715,
                           "the mask of the warp's barrier lacks the thread that calls it");
  });
  return end_grid(w, 715);
}

void report_masks(const Warp& w, const Instruction* in, std::uint32_t unnamed,
                  std::uint32_t differing) {
  for (std::uint32_t m = unnamed | differing; m != 0; m &= m - 1) {
    const auto lane = static_cast<std::uint32_t>(__builtin_ctz(m));
    const bool is_unnamed = (unnamed >> lane & 1) != 0;
    w.worker->checks->wrong_mask(facts_of(w, in, lane), is_unnamed ? "unnamed" : "differing");
  }
}

const Instruction* invalid_call(Warp& w, const Instruction* in, std::uint64_t target) {
  const auto lane = static_cast<std::uint32_t>(__builtin_ctz(w.mask));
  AccessFacts facts = facts_of(w, in, lane);
  facts.address = target;
  w.worker->checks->ends(facts, ReportKind::kInvalidJump, 718, "");
  return end_grid(w, 718);
}

const Instruction* stack_overflow(Warp& w, const Instruction* in) {
  const auto lane = static_cast<std::uint32_t>(__builtin_ctz(w.mask));
  w.worker->checks->ends(facts_of(w, in, lane), ReportKind::kStackOverflow, 700, "");
  return end_grid(w, 700);
}

} // namespace gmt::executor
