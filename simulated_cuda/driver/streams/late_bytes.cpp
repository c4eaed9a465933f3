// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/driver/streams/late_bytes.h"

#include "simulated_cuda/driver/execution/unwritten_copy.h"
#include "simulated_cuda/driver/state/observer.h"
#include "simulated_cuda/driver/state/state.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <set>
#include <utility>

namespace gmt::sim {
namespace {

std::set<LateBytes*>& all_kept() {
  static auto* const kept = new std::set<LateBytes*>;
  return *kept;
}

std::size_t bytes_kept = 0;

// What the host wrote of the managed memory of the kernel that runs next.
struct ForKernel {
  std::vector<std::pair<CUdeviceptr, CUdeviceptr>> changed; // begin and end
  std::size_t bytes = 0;                                    // of all that was looked at
};
ForKernel& for_kernel() {
  static auto* const next = new ForKernel;
  return *next;
}

std::size_t bytes_of(const std::vector<CopyRow>& rows) {
  std::size_t bytes = 0;
  for (const CopyRow& row : rows) bytes += row.bytes;
  return bytes;
}

void say_it(const trace::ExecutionHostWrite& said) {
  const trace::ExecutionObserver* listener = execution_observer();
  constexpr std::size_t kNeeded =
    offsetof(trace::ExecutionObserver, host_wrote) + sizeof listener->host_wrote;
  if (listener == nullptr || listener->size < kNeeded || listener->host_wrote == nullptr) return;
  trace::ExecutionHostWrite write = said;
  write.size = sizeof write;
  write.call = observed_call();
  write.context = reinterpret_cast<std::uint64_t>(this_thread().current());
  listener->host_wrote(&write);
}

} // namespace

LateBytes::LateBytes(std::vector<CopyRow> rows) : rows_(std::move(rows)) {
  bytes_.reserve(bytes_of(rows_));
  begin_ = rows_.front().address;
  for (const CopyRow& row : rows_) {
    bytes_.insert(bytes_.end(), row.start, row.start + row.bytes);
    begin_ = std::min(begin_, row.address);
    end_ = std::max(end_, row.address + row.bytes);
  }
  bytes_kept += bytes_.size();
  all_kept().insert(this);
}

LateBytes::~LateBytes() {
  bytes_kept -= bytes_.size();
  all_kept().erase(this);
}

std::unique_ptr<LateBytes> LateBytes::keep(std::vector<CopyRow> rows) {
  if (rows.empty() || !is_host_memory(rows.front().address)) return nullptr;
  const std::size_t bytes = bytes_of(rows);
  if (bytes > kMostBytes - bytes_kept) {
    trace::ExecutionHostWrite unknown{};
    unknown.address = rows.front().address;
    unknown.bytes = bytes;
    say_it(unknown);
    return nullptr;
  }
  return std::unique_ptr<LateBytes>(new LateBytes(std::move(rows)));
}

void LateBytes::look() const {
  if (is_unsure_) return;
  trace::ExecutionHostWrite write{};
  write.is_known = 1;
  write.bytes = bytes_.size();
  const std::byte* before = bytes_.data();
  for (const CopyRow& row : rows_) {
    if (std::memcmp(before, row.start, row.bytes) != 0) {
      for (std::size_t i = 0; i < row.bytes; ++i) {
        if (before[i] == row.start[i]) continue;
        if (write.changed++ == 0) write.address = row.address + i;
      }
    }
    before += row.bytes;
  }
  if (write.changed != 0) say_it(write);
}

void LateBytes::look_for_kernel() const {
  if (is_unsure_) return;
  ForKernel& next = for_kernel();
  next.bytes += bytes_.size();
  const std::byte* before = bytes_.data();
  for (const CopyRow& row : rows_) {
    for (std::size_t i = 0; i < row.bytes;) {
      std::size_t end = i;
      while (end < row.bytes && before[end] != row.start[end]) ++end;
      if (end != i) next.changed.emplace_back(row.address + i, row.address + end);
      i = end + 1;
    }
    before += row.bytes;
  }
}

void device_wrote(CUdeviceptr address, std::size_t bytes) {
  for (LateBytes* kept : all_kept()) {
    if (kept->is_unsure_ || address >= kept->end_ || address + bytes <= kept->begin_) continue;
    for (const CopyRow& row : kept->rows_)
      kept->is_unsure_ |= address < row.address + row.bytes && row.address < address + bytes;
  }
}

std::vector<CopyRow> managed_rows(const KernelOperation& kernel) {
  std::set<const Block*> blocks;
  const auto add = [&](const Block* block) {
    if (block != nullptr && block->kind == BlockKind::kManaged) blocks.insert(block);
  };
  const std::vector<std::byte>& arguments = kernel.argument_bytes;
  for (std::size_t at = 0; at + sizeof(CUdeviceptr) <= arguments.size();
       at += sizeof(CUdeviceptr)) {
    CUdeviceptr value = 0;
    std::memcpy(&value, arguments.data() + at, sizeof value);
    add(state().blocks.containing(value));
  }
  state().blocks.for_each([&](const Block& block) {
    if ((block.flags & kStaticVariable) != 0) add(&block);
  });
  std::vector<CopyRow> rows;
  for (const Block* block : blocks)
    rows.push_back({block->base, state().blocks.view(block->base, block->size), block->size});
  return rows;
}

namespace {

constexpr std::size_t kMostLookedAt = std::size_t{1} << 20; // bytes that the host wrote

// Atomics and strong loads may have waited for the host.
void say_what_host_wrote(const ForKernel& looked, const executor::Accesses& accesses) {
  if (!accesses.is_known || accesses.may_wait) return;
  trace::ExecutionHostWrite write{};
  write.is_known = 1;
  write.bytes = looked.bytes;
  std::size_t left = kMostLookedAt;
  for (const auto& [begin, end] : looked.changed) {
    std::vector<executor::UsedRows> rows; // that meet the range
    for (const executor::UsedRows& row : accesses.rows) {
      if (begin < row.address + (row.count - 1) * row.pitch + row.width && row.address < end)
        rows.push_back(row);
    }
    for (CUdeviceptr at = begin; at < end && !rows.empty() && left != 0; ++at, --left) {
      const auto holds = [&](const executor::UsedRows& row) {
        const std::uint64_t offset = at - row.address;
        if (at < row.address) return false;
        if (row.count == 1) return offset < row.width;
        return offset / row.pitch < row.count && offset % row.pitch < row.width;
      };
      if (std::ranges::any_of(rows, holds) && write.changed++ == 0) write.address = at;
    }
  }
  if (write.changed != 0) say_it(write);
}

} // namespace

void kernel_ran(const executor::Accesses& accesses) {
  if (const ForKernel looked = std::exchange(for_kernel(), {}); !looked.changed.empty())
    say_what_host_wrote(looked, accesses);
  if (accesses.is_known && !accesses.uses_host_memory) return;
  for (LateBytes* kept : all_kept()) kept->is_unsure_ = true;
}

} // namespace gmt::sim
