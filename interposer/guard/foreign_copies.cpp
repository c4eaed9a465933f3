// SPDX-License-Identifier: Apache-2.0
#include "interposer/guard/foreign_copies.h"

#include <algorithm>

#include "interposer/guard/driver.h"
#include "interposer/guard/fence.h"
#include "interposer/loader/real_dlsym.h"
#include "trace/api_id.h"

namespace gmt::interposer {

namespace {

using trace::Side;

// Of a copy without rows, whose width would be more than the pitch of any can be.
constexpr std::uint64_t kMostWidth = std::uint64_t{1} << 30;

CUcontext foreign_context(Side side, std::uint64_t address, CUdevice current) noexcept {
  GuardBlock block;
  if (side == Side::kArray || !find_guarded(address, &block)) return nullptr;
  const bool is_foreign =
    block.state == BlockState::kLive && block.pool == nullptr && block.device != current;
  return is_foreign ? block.context : nullptr;
}

CUmemorytype type_of(Side side) noexcept {
  switch (side) {
  case Side::kHost: return CU_MEMORYTYPE_HOST;
  case Side::kArray: return CU_MEMORYTYPE_ARRAY;
  case Side::kDevice: return CU_MEMORYTYPE_DEVICE;
  default: return CU_MEMORYTYPE_UNIFIED;
  }
}

void put_destination(CUDA_MEMCPY3D_PEER& to, const trace::CopyView& copy) noexcept {
  const std::uint64_t address = copy.destination();
  to.dstHost = reinterpret_cast<void*>(address);
  to.dstDevice = address;
  if (to.dstMemoryType != CU_MEMORYTYPE_ARRAY) return;
  to.dstArray = reinterpret_cast<CUarray>(address);
  to.dstXInBytes = copy.destination_x();
  to.dstY = copy.destination_y();
  to.dstZ = copy.destination_z();
}

void put_source(CUDA_MEMCPY3D_PEER& to, const trace::CopyView& copy) noexcept {
  const std::uint64_t address = copy.source();
  to.srcHost = reinterpret_cast<const void*>(address);
  to.srcDevice = address;
  if (to.srcMemoryType != CU_MEMORYTYPE_ARRAY) return;
  to.srcArray = reinterpret_cast<CUarray>(address);
  to.srcXInBytes = copy.source_x();
  to.srcY = copy.source_y();
  to.srcZ = copy.source_z();
}

CUDA_MEMCPY3D_PEER described(const Record& record, const CopyContexts& contexts) noexcept {
  const trace::CopyView copy(record);
  CUDA_MEMCPY3D_PEER to{};
  to.dstMemoryType = type_of(trace::destination_side(record.flags));
  to.srcMemoryType = type_of(trace::source_side(record.flags));
  to.dstContext = contexts.destination != nullptr ? contexts.destination : contexts.current;
  to.srcContext = contexts.source != nullptr ? contexts.source : contexts.current;
  put_destination(to, copy);
  put_source(to, copy);
  if (!copy.has_second_slot() || copy.height() == 0) return to; // and has no rows
  to.dstPitch = copy.destination_pitch();
  to.srcPitch = copy.source_pitch();
  to.dstHeight = copy.destination_rows();
  to.srcHeight = copy.source_rows();
  to.WidthInBytes = copy.width();
  to.Height = copy.height();
  to.Depth = std::max<std::uint64_t>(copy.depth(), 1);
  return to;
}

CUresult submit(const CUDA_MEMCPY3D_PEER& to, const Record& record, bool per_thread) noexcept {
  using Copy = CUresult(const CUDA_MEMCPY3D_PEER*);
  using CopyAsync = CUresult(const CUDA_MEMCPY3D_PEER*, CUstream);
  if ((record.flags & trace::kCopyAsync) == 0) {
    const std::uint16_t row =
      per_thread ? trace::kApi_cuMemcpy3DPeer_ptds : trace::kApi_cuMemcpy3DPeer;
    return reinterpret_cast<Copy*>(driver_own_function(row))(&to);
  }
  const std::uint16_t row =
    per_thread ? trace::kApi_cuMemcpy3DPeerAsync_ptsz : trace::kApi_cuMemcpy3DPeerAsync;
  const auto stream = reinterpret_cast<CUstream>(trace::CopyView(record).stream());
  return reinterpret_cast<CopyAsync*>(driver_own_function(row))(&to, stream);
}

} // namespace

bool has_foreign_block(const Record& record, CopyContexts* contexts) noexcept {
  CUdevice device = -1;
  if (guard_driver.current(&contexts->current) != 0 || contexts->current == nullptr) return false;
  if (guard_driver.device(&device) != 0) return false;
  const trace::CopyView copy(record);
  contexts->destination =
    foreign_context(trace::destination_side(record.flags), copy.destination(), device);
  contexts->source = foreign_context(trace::source_side(record.flags), copy.source(), device);
  return contexts->destination != nullptr || contexts->source != nullptr;
}

CUresult copy_between(const Record& record, const CopyContexts& contexts,
                      bool per_thread) noexcept {
  CUDA_MEMCPY3D_PEER to = described(record, contexts);
  if (to.Height != 0) return submit(to, record, per_thread);
  to.Height = to.Depth = 1;
  const std::uint64_t bytes = trace::CopyView(record).bytes();
  CUresult result = CUDA_SUCCESS;
  for (std::uint64_t done = 0; done < bytes && result == CUDA_SUCCESS; done += to.WidthInBytes) {
    to.WidthInBytes = std::min(bytes - done, kMostWidth);
    to.dstPitch = to.srcPitch = to.WidthInBytes;
    result = submit(to, record, per_thread);
    to.dstDevice += to.WidthInBytes;
    to.srcDevice += to.WidthInBytes;
    to.dstHost = static_cast<char*>(to.dstHost) + to.WidthInBytes;
    to.srcHost = static_cast<const char*>(to.srcHost) + to.WidthInBytes;
  }
  return result;
}

} // namespace gmt::interposer
