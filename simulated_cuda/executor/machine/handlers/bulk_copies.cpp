// SPDX-License-Identifier: Apache-2.0
// Bulk copies, st.async and red.async: what a lane's registers say. machine/async_copies.h does the
// rest.
#include "simulated_cuda/executor/machine/async_copies.h"
#include "simulated_cuda/executor/machine/block.h"
#include "simulated_cuda/executor/machine/handlers/lanes.h"
#include "simulated_cuda/executor/machine/tensor_copies.h"
#include "simulated_cuda/executor/program/bulk_form.h"

#include <optional>

namespace gmt::executor {
namespace {

template <class T>
T value_of(Warp& w, u32 operand, u32 lane, T otherwise) {
  return operand == kNoOperand ? otherwise : at<const T>(w, operand)[lane];
}

// Operands: the destination, the source, the bytes, the mbarrier, the blocks of the cluster, and
// which bytes are written.
Next copy(Warp& w, Next in) {
  for_lanes(w.mask, [&](u32 l) {
    BulkCopy copy;
    copy.to = value_of<u64>(w, in->r[0], l, 0);
    copy.from = value_of<u64>(w, in->r[1], l, 0);
    copy.bytes = value_of<u32>(w, in->r[2], l, 0);
    copy.object = value_of<u64>(w, in->r[3], l, 0);
    copy.ranks = value_of<u32>(w, in->r[4], l, 0);
    copy.written = value_of<u32>(w, in->r[5], l, ~0u);
    begin_bulk_copy(w, in, l, copy);
  });
  return in + 1;
}

// Operands: the destination, the mbarrier, and up to four values.
Next store(Warp& w, Next in) {
  const u32 count = in->extra >> bulk_form::kCountShift & 0xf;
  const u32 bytes = in->extra >> bulk_form::kBytesShift & 0xf;
  for_lanes(w.mask, [&](u32 l) {
    std::byte values[32];
    for (u32 i = 0; i < count; ++i)
      std::memcpy(values + i * bytes, at<const std::byte>(w, in->r[2 + i]) + l * bytes, bytes);
    BulkCopy copy;
    copy.to = at<const u64>(w, in->r[0])[l];
    copy.object = at<const u64>(w, in->r[1])[l];
    copy.bytes = count * bytes;
    begin_bulk_store(w, in, l, copy, values);
  });
  return in + 1;
}

TensorCopy tensor_copy(Warp& w, Next in, u32 lane) {
  TensorCopy copy;
  copy.map = value_of<u64>(w, in->r[0], lane, 0);
  copy.shared = value_of<u64>(w, in->r[1], lane, 0);
  copy.object = value_of<u64>(w, in->r[2], lane, 0);
  copy.ranks = value_of<u32>(w, in->r[3], lane, 0);
  for (u32 d = 0; d < bulk_form::rank(in->extra); ++d)
    copy.at[d] = at<const s32>(w, in->r[4] + d * bulk_form::kCoordinateBytes)[lane];
  if ((in->extra & bulk_form::kOffsets) != 0) {
    const u32 rank = bulk_form::rank(in->extra);
    for (u32 d = 0; d + 2 < rank; ++d)
      copy.offsets[d] =
        at<const u32>(w, in->r[4] + (rank + d) * bulk_form::kCoordinateBytes)[lane] & 0xffff;
  }
  return copy;
}

// Operands: the tensor map, shared memory, the mbarrier, the blocks of the cluster, and the first
// coordinate. The others lie behind that, and then the offsets of im2col. CUTLASS stores tiles with
// all lanes of a warp: what an earlier lane stores is not stored again, so that the two do not
// race.
Next tensor(Warp& w, Next in) {
  const bool is_store =
    (in->extra & bulk_form::kToGlobal) != 0 && bulk_form::operation(in->extra).empty();
  std::optional<TensorCopy> last;
  for_lanes(w.mask, [&](u32 l) {
    const TensorCopy copy = tensor_copy(w, in, l);
    if (is_store && last == copy) return;
    begin_tensor_copy(w, in, l, copy);
    last = copy;
  });
  return in + 1;
}

Next wait_read(Warp& w, Next in) {
  AsyncCopies& copies = copies_of(*w.block);
  for_lanes(w.mask,
            [&](u32 l) { copies.wait_read(w.id * kLanes + l, static_cast<u32>(in->immediate)); });
  return in + 1;
}

Next fence(Warp& w, Next in) {
  copies_of(*w.block).fence_proxy(w);
  return in + 1;
}

} // namespace

void GMT_GROUP(bulk_copies)(FormTable& table) {
  table.add("cp.async.bulk", copy);
  table.add("st.async", store);
  table.add("cp.async.bulk.tensor", tensor);
  table.add("cp.async.bulk.wait_group.read", wait_read);
  table.add("fence.proxy.async", fence);
}

} // namespace gmt::executor
