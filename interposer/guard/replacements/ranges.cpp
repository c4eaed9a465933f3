// SPDX-License-Identifier: Apache-2.0
// Replacements of copies and sets: CUDA knows the bytes that were asked for and refuses what leaves
// them, but of a mapping it knows only whole pages. So what leaves a fenced block is refused here,
// and copies that only a mapping makes CUDA refuse are made in another way (foreign_copies.h). The
// recorders know where each call's ranges are.
#define __CUDA_API_VERSION_INTERNAL // the types of all versions
#define CUDA_ENABLE_DEPRECATED
#include <cuda.h>
#include <cudaProfilerTypedefs.h>
#include <cudaTypedefs.h>

#include <algorithm>
#include <string_view>

#include "interposer/guard/driver.h"
#include "interposer/guard/fence.h"
#include "interposer/guard/foreign_copies.h"
#include "interposer/guard/replacements/replacements.h"
#include "interposer/recorders/arrays.h"
#include "interposer/recorders/batches.h"
#include "interposer/recorders/bindings.h"
#include "interposer/recorders/copies_and_launches.h"
#include "interposer/recorders/graphs.h"
#include "interposer/recorders/orders.h"
#include "interposer/recorders/pools.h"
#include "interposer/recorders/runtime_recorders.h"
#include "trace/cuda_constants.h"

namespace gmt::interposer {

namespace {

struct RangeOfRows {
  std::uint64_t address, bytes, pitch, height, depth, rows;
};

// Bytes from the first to the last one.
std::uint64_t extent_of(const RangeOfRows& r) noexcept {
  if (r.height == 0) return r.bytes;
  const std::uint64_t rows = r.rows != 0 ? r.rows : r.height;
  const std::uint64_t slices = std::max<std::uint64_t>(r.depth, 1) - 1;
  return (slices * rows + r.height - 1) * r.pitch + r.bytes;
}

bool leaves_block(const RangeOfRows& r) noexcept {
  GuardBlock block;
  const std::uint64_t extent = extent_of(r);
  if (extent == 0 || !find_guarded(r.address, &block)) return false;
  return block.state != BlockState::kLive || r.address < block.address || r.address > block.end() ||
         extent > block.end() - r.address;
}

bool copy_leaves_block(const Record& record) noexcept {
  const trace::CopyView copy(record);
  const bool shaped = copy.has_second_slot() && copy.height() != 0;
  const std::uint64_t row = shaped ? copy.width() : copy.bytes();
  const std::uint64_t height = shaped ? copy.height() : 0;
  const RangeOfRows to{copy.destination(),     row, copy.destination_pitch(), height, copy.depth(),
                       copy.destination_rows()};
  const RangeOfRows from{copy.source(), row,          copy.source_pitch(),
                         height,        copy.depth(), copy.source_rows()};
  return (trace::destination_side(record.flags) != Side::kArray && leaves_block(to)) ||
         (trace::source_side(record.flags) != Side::kArray && leaves_block(from));
}

bool set_leaves_block(const Record& record) noexcept {
  const trace::SetView set(record);
  const bool shaped = set.has_second_slot() && set.height() != 0;
  return leaves_block({set.destination(), shaped ? set.width() : set.bytes(), set.pitch(),
                       shaped ? set.height() : 0, 1, 0});
}

template <class Rec> inline constexpr bool kIsOneCopy = false;
template <Side D, Side S, int... P> inline constexpr bool kIsOneCopy<Copy<D, S, P...>> = true;
template <Side D, Side S, int... P> inline constexpr bool kIsOneCopy<CopyArray<D, S, P...>> = true;
template <int... P> inline constexpr bool kIsOneCopy<CopyShape<P...>> = true;

template <class Rec> inline constexpr bool kHasRanges = kIsOneCopy<Rec>;
template <unsigned E, int... P> inline constexpr bool kHasRanges<Set<E, P...>> = true;
template <unsigned E, int... P> inline constexpr bool kHasRanges<Set2D<E, P...>> = true;

template <int... P> inline constexpr bool kHasRanges<CopyBatch<P...>> = true;
template <int... P> inline constexpr bool kHasRanges<CopyBatch3D<P...>> = true;

template <class Rec, class Tuple> bool any_leaves_block(const Tuple& arguments) noexcept {
  const unsigned records = records_of<Rec>(arguments);
  for (unsigned i = 0; i < records; ++i) {
    Record record;
    fill_record<Rec>(record, arguments, i);
    if (record.kind == Kind::kSet && set_leaves_block(record)) return true;
    if (record.kind == Kind::kCopy && copy_leaves_block(record)) return true;
  }
  return false;
}

template <std::uint16_t Row, bool PerThread, class Function, class Rec> struct Ranged;

template <std::uint16_t Row, bool PerThread, class... Args, class Rec>
struct Ranged<Row, PerThread, CUresult (*)(Args...), Rec> {
  static CUresult call(Args... args) noexcept {
    const Arguments<Args...> arguments{{args}...};
    if (guard_is_on() && any_leaves_block<Rec>(arguments)) return CUDA_ERROR_INVALID_VALUE;
    const CUresult result = driver_row<CUresult(Args...)>(Row)(args...);
    if constexpr (kIsOneCopy<Rec>) {
      if (result == CUDA_ERROR_INVALID_VALUE && guard_is_on())
        return copy_foreign(arguments, args...);
    }
    return result;
  }

  static CUresult copy_foreign(const Arguments<Args...>& arguments, Args... args) noexcept {
    Record record;
    fill_record<Rec>(record, arguments, 0);
    CopyContexts contexts;
    if (!has_foreign_block(record, &contexts)) return CUDA_ERROR_INVALID_VALUE;
    // Streams 0, 1 and 2 are those of the context that is current.
    const bool has_own_stream = trace::CopyView(record).stream() > cuda::kStreamPerThread;
    if (has_own_stream && contexts.only_foreign() != nullptr) {
      const WithContext with(contexts.only_foreign());
      const CUresult result = driver_row<CUresult(Args...)>(Row)(args...);
      if (result != CUDA_ERROR_INVALID_VALUE) return result;
    } // else the other side is memory that needs its own context
    return copy_between(record, contexts, PerThread);
  }
};

constexpr bool has_thread_stream(std::string_view symbol) noexcept {
  return symbol.ends_with("_ptds") || symbol.ends_with("_ptsz");
}

// Only what has ranges is made: rows of other kinds need not have a type that fits.
template <std::uint16_t Row, bool PerThread, class Function, class Rec>
void install_row(Install install) noexcept {
  if constexpr (kHasRanges<Rec>)
    install(Row, reinterpret_cast<void*>(&Ranged<Row, PerThread, Function, Rec>::call));
}

} // namespace

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
void install_ranges(Install install) noexcept {
#define DRV(symbol, base, introduced, order, ...)                                                  \
  install_row<trace::kApi_##symbol, has_thread_stream(#symbol), PFN_##base##_v##introduced,        \
              __VA_ARGS__>(install);
#define RT(symbol, declared, ...)
#include "trace/cuda_api.def"
}
#pragma GCC diagnostic pop

} // namespace gmt::interposer
