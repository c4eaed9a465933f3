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

void device_wrote(CUdeviceptr address, std::size_t bytes) {
  for (LateBytes* kept : all_kept()) {
    if (kept->is_unsure_ || address >= kept->end_ || address + bytes <= kept->begin_) continue;
    for (const CopyRow& row : kept->rows_)
      kept->is_unsure_ |= address < row.address + row.bytes && row.address < address + bytes;
  }
}

void kernel_ran(const executor::Accesses& accesses) {
  if (accesses.is_known && !accesses.uses_host_memory) return;
  for (LateBytes* kept : all_kept()) kept->is_unsure_ = true;
}

} // namespace gmt::sim
