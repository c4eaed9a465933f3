// SPDX-License-Identifier: Apache-2.0
// How a lane begins an asynchronous copy: both ends are checked, and lead to memory from here on.
#include "simulated_cuda/executor/machine/access.h"
#include "simulated_cuda/executor/machine/async_copies.h"
#include "simulated_cuda/executor/machine/block.h"
#include "simulated_cuda/executor/machine/cluster.h"
#include "simulated_cuda/executor/machine/report_sink.h"
#include "simulated_cuda/executor/machine/workers/worker.h"
#include "simulated_cuda/executor/program/bulk_form.h"

#include <string>
#include <utility>

namespace gmt::executor {

AsyncCopies& copies_of(Block& block) {
  if (!block.copies) block.copies = std::make_unique<AsyncCopies>(block);
  return *block.copies;
}

void begin_small_copy(Warp& w, const Instruction* in, std::uint32_t lane, std::uint64_t to,
                      std::uint64_t from, std::uint32_t bytes, std::uint32_t loaded) {
  const Translation there = translate(w, in, lane, Space::kShared, to, bytes, Access::kStore);
  if (there.host == nullptr) return;
  AsyncCopy copy;
  if (loaded != 0) {
    const Translation here =
      translate(w, in, lane, Space::kGlobal, from, loaded, Access::kLoad, bytes);
    if (here.host == nullptr) return;
    copy.from.region = here.region;
    copy.from.offset = here.offset - here.region->base;
  }
  copy.warp = &w;
  copy.lane = lane;
  copy.in = in;
  copy.code = w.frame->code;
  copy.to = {there.block, nullptr, there.offset};
  copy.bytes = bytes;
  copy.loaded = loaded;
  copies_of(*w.block).begin(AsyncCopies::kSmall, std::move(copy));
}

namespace {

// The copy of a lane without its ends.
AsyncCopy copy_of(Warp& w, const Instruction* in, std::uint32_t lane, const BulkCopy& given) {
  AsyncCopy copy;
  copy.warp = &w;
  copy.lane = lane;
  copy.in = in;
  copy.code = w.frame->code;
  copy.bytes = copy.loaded = given.bytes;
  copy.combine = combine_of(bulk_form::combine(in->extra));
  copy.left_out = ~given.written & 0xffffu;
  return copy;
}

CopyEnd end_at(const Translation& there) {
  CopyEnd end;
  end.block = there.block;
  end.region = there.region;
  end.offset = there.offset - (there.region != nullptr ? there.region->base : 0);
  return end;
}

// Its bytes count for the mbarrier at the address.
void begin_counted(Warp& w, const Instruction* in, std::uint32_t lane, AsyncCopy copy,
                   std::uint64_t object) {
  const Translation there =
    translate(w, in, lane, Space::kShared, object, sizeof(std::uint64_t), Access::kAtomic);
  if (there.host == nullptr) return;
  if (there.block != w.block) w.block->cluster->note_object(*there.block, there.offset);
  copy.object = there.offset;
  copies_of(*there.block).begin_for_object(std::move(copy));
}

// To the same offsets in each of the blocks.
void begin_in_ranks(Warp& w, const Instruction* in, std::uint32_t lane, AsyncCopy copy,
                    const BulkCopy& given) {
  if (given.ranks == 0) return begin_counted(w, in, lane, std::move(copy), given.object);
  constexpr std::uint64_t kOffset = (std::uint64_t{1} << Cluster::kRankShift) - 1;
  for (std::uint32_t m = given.ranks; m != 0; m &= m - 1) {
    const auto rank = static_cast<std::uint64_t>(__builtin_ctz(m));
    const auto in_rank = [&](std::uint64_t address) {
      return rank == w.block->rank ? address & kOffset
                                   : (rank + 1) << Cluster::kRankShift | (address & kOffset);
    };
    const Translation to =
      translate(w, in, lane, Space::kShared, in_rank(given.to), given.bytes, Access::kStore, 1);
    if (to.host == nullptr) return;
    copy.to = end_at(to);
    begin_counted(w, in, lane, copy, in_rank(given.object));
  }
}

} // namespace

void begin_bulk_copy(Warp& w, const Instruction* in, std::uint32_t lane, const BulkCopy& given) {
  constexpr std::uint32_t kAlignment = 16;
  if (given.bytes == 0) return;
  AsyncCopy copy = copy_of(w, in, lane, given);
  const bool to_global = (in->extra & bulk_form::kToGlobal) != 0;
  const bool from_global = (in->extra & bulk_form::kFromGlobal) != 0;
  if (given.bytes % kAlignment != 0) { // an H100 does nothing, and says nothing
    return w.worker->checks->ends(facts_of(w, in, lane), ReportKind::kOther, 0,
                                  "an asynchronous copy of " + std::to_string(given.bytes) +
                                    " bytes, which is no multiple of 16, is not done");
  }
  const Translation from = translate(w, in, lane, from_global ? Space::kGlobal : Space::kShared,
                                     given.from, given.bytes, Access::kLoad, kAlignment);
  if (from.host == nullptr) return;
  copy.from = end_at(from);
  const Translation to = translate(w, in, lane, to_global ? Space::kGlobal : Space::kShared,
                                   given.to, given.bytes, Access::kStore, kAlignment);
  if (to.host == nullptr) return;
  copy.to = end_at(to);
  if ((in->extra & bulk_form::kGroup) != 0)
    return copies_of(*w.block).begin(AsyncCopies::kBulk, std::move(copy));
  begin_in_ranks(w, in, lane, std::move(copy), given);
}

bool begin_piece(Warp& w, const Instruction* in, std::uint32_t lane, const BulkPiece& piece) {
  const bool to_global = (in->extra & bulk_form::kToGlobal) != 0;
  BulkCopy given;
  given.to = piece.shared;
  given.object = piece.object;
  given.bytes = piece.bytes;
  given.ranks = piece.ranks;
  AsyncCopy copy = copy_of(w, in, lane, given);
  copy.combine = piece.combine;
  copy.rounds_to_tf32 = piece.rounds_to_tf32;
  CopyEnd device;
  if (piece.global != 0) {
    const Translation found = translate(w, in, lane, Space::kGlobal, piece.global, piece.bytes,
                                        to_global ? Access::kStore : Access::kLoad, 1);
    if (found.host == nullptr && to_global) return false;
    if (found.host != nullptr) device = end_at(found);
  }
  if (device.region == nullptr) { // the bytes count for the mbarrier all the same
    copy.loaded = 0;
    copy.is_read = !piece.fill.empty();
    for (std::uint32_t i = 0; i < piece.bytes && copy.is_read; ++i)
      copy.value.push_back(piece.fill[i % piece.fill.size()]);
    copy.unwritten.assign(copy.value.size(), false);
  }
  const Translation shared = translate(w, in, lane, Space::kShared, piece.shared, piece.bytes,
                                       to_global ? Access::kLoad : Access::kStore, 1);
  if (shared.host == nullptr) return false;
  copy.from = to_global ? end_at(shared) : device;
  copy.to = to_global ? device : end_at(shared);
  if (to_global) copies_of(*w.block).begin(AsyncCopies::kBulk, std::move(copy));
  else begin_in_ranks(w, in, lane, std::move(copy), given);
  return true;
}

void begin_bulk_store(Warp& w, const Instruction* in, std::uint32_t lane, const BulkCopy& given,
                      const std::byte* value) {
  AsyncCopy copy = copy_of(w, in, lane, given);
  const Translation to =
    translate(w, in, lane, Space::kShared, given.to, given.bytes, Access::kStore);
  if (to.host == nullptr) return;
  copy.to = end_at(to);
  copy.loaded = 0;
  copy.is_read = true;
  copy.value.assign(value, value + given.bytes);
  copy.unwritten.assign(given.bytes, false);
  begin_counted(w, in, lane, std::move(copy), given.object);
}

} // namespace gmt::executor
