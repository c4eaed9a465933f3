// SPDX-License-Identifier: Apache-2.0
// Moves of matrices of 8 by 8 elements of 16 bits between rows and fragments. As rows, lane 8i + r
// has row r of matrix i in four registers. As a fragment, register i has matrix i: lane 4r + c has
// elements 2c and 2c + 1 of row r, so that the register's lanes are the matrix row by row.
#include "simulated_cuda/executor/machine/async_copies.h"
#include "simulated_cuda/executor/machine/handlers/lanes.h"
#include "simulated_cuda/executor/machine/handlers/missing_lanes.h"
#include "simulated_cuda/executor/machine/report_sink.h"
#include "simulated_cuda/executor/machine/warpgroups.h"
#include "simulated_cuda/executor/machine/workers/worker.h"

#include <array>
#include <string>

namespace gmt::executor {
namespace {

constexpr u32 kRows = 8, kWords = 4; // of a matrix and of its row

// .aligned: the whole warp executes it. Lanes that have not come are waited for.
Next meet(Warp& w, Next in) {
  if ((w.alive & ~w.mask) == 0 || goes_on_without(w, in)) return in + 1;
  return w.wait_for(in, w.alive);
}

// Elements of 16 bits in 32 lanes: a matrix row by row. Each round puts the elements of rows i and
// i + 4 in turn into rows 2i and 2i + 1, so that the number of an element goes round by one bit.
void transpose(u16* to, const u16* from) {
  using Row [[gnu::vector_size(2 * kRows)]] = u16;
  std::array<Row, kRows> rows, mixed;
  std::memcpy(rows.data(), from, sizeof rows);
  for (u32 round = 0; round < 3; ++round) {
    for (u32 i = 0; i < kRows / 2; ++i) {
      const Row a = rows[i], b = rows[i + kRows / 2];
      mixed[2 * i] = __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
      mixed[2 * i + 1] = __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
    }
    rows = mixed;
  }
  std::memcpy(to, rows.data(), sizeof rows);
}
void turn(u32* to, const u32* from) {
  std::array<u16, 2 * kLanes> a, b;
  std::memcpy(a.data(), from, sizeof a);
  transpose(b.data(), a.data());
  std::memcpy(to, b.data(), sizeof b);
}

template <u32 kMatrices, bool kTrans>
Next spread(Warp& w, Next in) {
  const u32* rows = at<const u32>(w, in->r[4]);
  alignas(64) u32 t[kMatrices][kLanes];
  for (u32 i = 0; i < kMatrices; ++i) {
    for (u32 r = 0; r < kRows; ++r) {
      for (u32 j = 0; j < kWords; ++j)
        t[i][r * kWords + j] = rows[j * 4 * kLanes + i * kRows + r]; // temporaries of 16 bytes a
                                                                     // lane
    }
    if (kTrans) turn(t[i], t[i]);
  }
  for (u32 i = 0; i < kMatrices; ++i) blend(at<u32>(w, in->r[i]), t[i], w.mask);
  return in + 1;
}

template <u32 kMatrices, bool kTrans>
Next collect(Warp& w, Next in) {
  const u32* fragments = at<const u32>(w, in->r[4]);
  alignas(64) u32 t[kWords][kLanes] = {};
  for (u32 i = 0; i < kMatrices; ++i) {
    u32 matrix[kLanes];
    std::memcpy(matrix, fragments + i * 4 * kLanes, sizeof matrix);
    if (kTrans) turn(matrix, matrix);
    for (u32 r = 0; r < kRows; ++r) {
      for (u32 j = 0; j < kWords; ++j) t[j][i * kRows + r] = matrix[r * kWords + j];
    }
  }
  for (u32 j = 0; j < kWords; ++j) blend(at<u32>(w, in->r[j]), t[j], w.mask);
  return in + 1;
}

Next turn_fragment(Warp& w, Next in) {
  alignas(64) u32 t[kLanes];
  turn(t, at<const u32>(w, in->r[4]));
  blend(at<u32>(w, in->r[0]), t, w.mask);
  return in + 1;
}

// Addresses of elements of a matrix in memory: program/decode_wmma.cpp says what `immediate` holds.
// kOuter: the stride is that of the outer index.
template <bool kOuter>
Next element_address(Warp& w, Next in) {
  const auto layout = static_cast<u64>(in->immediate);
  const u32 outer = layout & 0xff, inner = layout >> 8 & 0xff, step = layout >> 16 & 0xff;
  const u32 bits_shift = layout >> 24 & 0xff;
  const u64* base = at<const u64>(w, in->r[1]);
  const u32* stride = at<const u32>(w, in->r[2]);
  alignas(64) u64 t[kLanes];
  for (u32 l = 0; l < kLanes; ++l) {
    const u64 along = outer + l / kWords, across = inner + step * (l % kWords);
    const u64 element = kOuter ? along * stride[l] + across : across * stride[l] + along;
    t[l] = base[l] + (element << bits_shift >> 3);
  }
  blend(at<u64>(w, in->r[0]), t, w.mask);
  return in + 1;
}

// A descriptor of wgmma: where a matrix begins in shared memory, and its strides, in units of 16
// bytes; over how many bytes each 8 rows are mixed, and
// which of 8 rows of 128 bytes the beginning counts as. Lane 8i + r gets the address of row r of
// matrix i, as ldmatrix wants it. Rows of a matrix that lies by columns are those of k.
struct Descriptor {
  u64 start, leading, stride, base;
  u32 width; // bytes, 16: rows are not mixed
  explicit Descriptor(u64 bits)
      : start((bits & 0x3fff) << 4), leading((bits >> 16 & 0x3fff) << 4),
        stride((bits >> 32 & 0x3fff) << 4), base(bits >> 49 & 7) {
    static constexpr u32 kWidths[] = {16, 128, 64, 32};
    width = kWidths[bits >> 62];
  }
  // Of 16 bytes: `chunk` along k of row `outer`
  u64 by_rows(u64 outer, u64 chunk) const {
    const u64 along = width == 16 ? chunk * leading : chunk * 16;
    return mixed(start + outer / kRows * stride + outer % kRows * width + along);
  }
  // Of 16 bytes: `chunk` along the rows or columns, of one k
  u64 by_columns(u64 chunk, u64 k) const {
    const u64 in_row = width / 16;
    if (width == 16) return start + chunk * stride + k / kRows * leading + k % kRows * 16;
    return mixed(start + chunk % in_row * 16 + chunk / in_row * leading + k % kRows * width +
                 k / kRows * stride);
  }
  u64 mixed(u64 address) const {
    return address ^ ((((address >> 7) - base) & (width / 16 - 1)) << 4);
  }
};

// Of A matrices 0 and 1 have rows 0 to 7 and 8 to 15, 2 and 3 the next 16 bytes of each. Of B 0
// and 1 have the bytes of 8 columns, 2 and 3 those of the next 8; beside a sparse A, whose k is
// twice as long, all four have those of the same 8.
enum class Matrix { kA, kB, kWideB };
struct PartIndex {
  u32 block, chunk; // 8 rows or columns, and 16 bytes of each
};
template <Matrix kMatrix>
constexpr PartIndex index_of(u32 part) {
  if constexpr (kMatrix == Matrix::kA) return {part % 2, part / 2};
  if constexpr (kMatrix == Matrix::kWideB) return {0, part};
  return {part / 2, part % 2};
}

// Threads must let wgmma see what they wrote. Of each row of 16 bytes one word tells.
void check_rows(Warp& w, Next in, const u64* rows) {
  const AsyncCopies& copies = copies_of(*w.block);
  for_lanes(w.mask & in->extra, [&](u32 l) {
    if (rows[l] >= w.block->shared_bytes) return; // the load says so
    auto other = copies.unfenced_store(rows[l], sizeof(u32));
    if (!other) return;
    other->how = "no proxy fence of a product";
    AccessFacts facts = facts_of(w, in, l);
    facts.access = Access::kLoad;
    facts.bytes = kWords * sizeof(u32);
    facts.space = Space::kShared;
    facts.address = rows[l];
    w.worker->checks->race(facts, *other);
  });
}

template <Matrix kMatrix>
Next descriptor_address(Warp& w, Next in) {
  const u64* descriptors = at<const u64>(w, in->r[1]);
  const u64 first =
    (static_cast<u64>(in->immediate) & 0xffff) + (kMatrix == Matrix::kA ? w.id % 4 * 16 : 0);
  const bool is_by_columns = in->immediate >> 16 != 0;
  alignas(64) u64 t[kLanes];
  for (u32 l = 0; l < kLanes; ++l) {
    const u32 matrix = l / kRows, r = l % kRows;
    const auto [block, chunk] = index_of<kMatrix>(matrix);
    const Descriptor of(descriptors[l]);
    t[l] = is_by_columns ? of.by_columns(first / kRows + block, chunk * kRows + r)
                         : of.by_rows(first + block * kRows + r, chunk);
  }
  blend(at<u64>(w, in->r[0]), t, w.mask);
  // The four warps have the same B
  if (w.block->races != nullptr && (kMatrix == Matrix::kA || w.id % 4 == 0)) check_rows(w, in, t);
  return in + 1;
}

Next meet_group(Warp& w, Next in) { return meet_warpgroup(w, in); }

Next fence_group(Warp& w, Next in) {
  copies_of(*w.block).fenced_warps |= 1u << w.id;
  return meet_warpgroup(w, in);
}

// Without a fence before it, the product's registers may not hold what threads wrote there.
// `extra`: they hold what was computed behind the last one.
Next begin_product(Warp& w, Next in) {
  const Next next = meet(w, in);
  const bool is_fenced = (copies_of(*w.block).fenced_warps >> w.id & 1) != 0;
  if (next != in + 1 || (is_fenced && in->extra == 0)) return next;
  w.worker->checks->wrong_mask(facts_of(w, in, static_cast<u32>(__builtin_ctz(w.mask))),
                               is_fenced ? "unfenced values" : "unfenced");
  return next;
}

template <u32 kMatrices>
void add_moves(FormTable& table) {
  const std::string count = ".x" + std::to_string(kMatrices);
  table.add(("matrix.spread" + count).c_str(), spread<kMatrices, false>);
  table.add(("matrix.spread" + count + ".trans").c_str(), spread<kMatrices, true>);
  table.add(("matrix.collect" + count).c_str(), collect<kMatrices, false>);
  table.add(("matrix.collect" + count + ".trans").c_str(), collect<kMatrices, true>);
}

} // namespace

void GMT_GROUP(fragments)(FormTable& table) {
  add_moves<1>(table);
  add_moves<2>(table);
  add_moves<4>(table);
  table.add("matrix.turn", turn_fragment);
  table.add("warp.meet", meet);
  table.add("wgmma.begin", begin_product);
  table.add("wgmma.fence", fence_group);
  table.add("wgmma.meet", meet_group);
  table.add("wgmma.rows", descriptor_address<Matrix::kA>);
  table.add("wgmma.columns", descriptor_address<Matrix::kB>);
  table.add("wgmma.columns.wide", descriptor_address<Matrix::kWideB>);
  table.add("matrix.address.outer", element_address<true>);
  table.add("matrix.address.inner", element_address<false>);
}

} // namespace gmt::executor
