// SPDX-License-Identifier: Apache-2.0
// What writes memory of the device beside kernels. It is said before the driver gets the call, in
// no order with what the device does: memory counts as written too early rather than too late.
#include <type_traits>
#include <utility>

#include "interposer/kernel_checks/library/replacements.h"
#include "interposer/kernel_checks/library/written.h"

namespace gmt::interposer::kernel_checks {

namespace {

using Address = CUdeviceptr;
using Bytes = std::size_t;

// How a call of these arguments says what it writes.
void note(Address to, Address, Bytes bytes) noexcept { mark_written(to, bytes); } // copies
void note(Address to, Address, Bytes bytes, CUstream) noexcept { mark_written(to, bytes); }
void note(Address to, const void*, Bytes bytes) noexcept { mark_written(to, bytes); }
void note(Address to, const void*, Bytes bytes, CUstream) noexcept { mark_written(to, bytes); }
void note(Address to, CUcontext, Address, CUcontext, Bytes bytes) noexcept {
  mark_written(to, bytes);
}
void note(Address to, CUcontext, Address, CUcontext, Bytes bytes, CUstream) noexcept {
  mark_written(to, bytes);
}
void note(Address to, CUarray, Bytes, Bytes bytes) noexcept { mark_written(to, bytes); }
// The driver may take an address of the device as that of a copy to the host, too.
Address as_address(const void* to) noexcept { return reinterpret_cast<Address>(to); }
void note(void* to, Address, Bytes bytes) noexcept { mark_written(as_address(to), bytes); }
void note(void* to, Address, Bytes bytes, CUstream) noexcept {
  mark_written(as_address(to), bytes);
}
void note(void* to, CUarray, Bytes, Bytes bytes) noexcept { mark_written(as_address(to), bytes); }
void note(void* to, CUarray, Bytes, Bytes bytes, CUstream) noexcept {
  mark_written(as_address(to), bytes);
}
template <class Shape> Address target_of(const Shape& shape) noexcept {
  const bool is_at_host = shape.dstMemoryType == CU_MEMORYTYPE_HOST ||
                          (shape.dstMemoryType == CU_MEMORYTYPE_UNIFIED && shape.dstDevice == 0);
  return is_at_host ? as_address(shape.dstHost) : shape.dstDevice;
}
// Without a pitch, all of the block.
void note_shape(const CUDA_MEMCPY2D* shape) noexcept {
  if (shape == nullptr) return;
  const Bytes pitch = shape->dstPitch;
  if (pitch == 0) return mark_block_written(target_of(*shape));
  mark_rows_written(target_of(*shape) + shape->dstY * pitch + shape->dstXInBytes,
                    shape->WidthInBytes, pitch, shape->Height);
}
// The same of slices, if there are few: each takes a set of its states.
template <class Shape> void note_shape(const Shape* shape) noexcept {
  constexpr Bytes kMostSlices = 64;
  if (shape == nullptr) return;
  const Bytes pitch = shape->dstPitch, slice = pitch * shape->dstHeight;
  if (slice == 0 || shape->Depth > kMostSlices) return mark_block_written(target_of(*shape));
  Address begin = target_of(*shape) + shape->dstY * pitch + shape->dstXInBytes;
  begin += shape->dstZ * slice;
  for (Bytes i = 0; i < shape->Depth; ++i)
    mark_rows_written(begin + i * slice, shape->WidthInBytes, pitch, shape->Height);
}
void note(const CUDA_MEMCPY2D* shape) noexcept { note_shape(shape); }
void note(const CUDA_MEMCPY2D* shape, CUstream) noexcept { note_shape(shape); }
void note(const CUDA_MEMCPY3D* shape) noexcept { note_shape(shape); }
void note(const CUDA_MEMCPY3D* shape, CUstream) noexcept { note_shape(shape); }
void note(const CUDA_MEMCPY3D_PEER* shape) noexcept { note_shape(shape); }
void note(const CUDA_MEMCPY3D_PEER* shape, CUstream) noexcept { note_shape(shape); }
// Sets: the value's type says how large an element is.
template <class Value> void note_set(Address to, Value, Bytes count) noexcept {
  mark_written(to, count * sizeof(Value));
}
void note(Address to, unsigned char value, Bytes count) noexcept { note_set(to, value, count); }
void note(Address to, unsigned short value, Bytes count) noexcept { note_set(to, value, count); }
void note(Address to, unsigned value, Bytes count) noexcept { note_set(to, value, count); }
template <class Value> void note(Address to, Value value, Bytes count, CUstream) noexcept {
  note_set(to, value, count);
}
template <class Value>
void note(Address to, Bytes pitch, Value, Bytes width, Bytes height) noexcept {
  mark_rows_written(to, width * sizeof(Value), pitch, height);
}
template <class Value>
void note(Address to, Bytes pitch, Value, Bytes width, Bytes height, CUstream) noexcept {
  mark_rows_written(to, width * sizeof(Value), pitch, height);
}
// Operations of streams
void note(CUstream, Address to, cuuint32_t, unsigned) noexcept { mark_written(to, 4); }
void note(CUstream, Address to, cuuint64_t, unsigned) noexcept { mark_written(to, 8); }
// Devices that are no GPU may write it from now on.
void note(const void*, CUpointer_attribute, Address block) noexcept { mark_block_written(block); }
void note(void*, Address begin, Bytes bytes, CUmemRangeHandleType, unsigned long long) noexcept {
  mark_written(begin, bytes);
}

template <Name kName, class... Args> struct Writes {
  static CUresult call(Args... args) noexcept {
    note(args...);
    return static_cast<CUresult>(own<kName, Args...>(args...));
  }
};
template <Name kName, class... Args> struct WritesAnything {
  static CUresult call(Args... args) noexcept {
    mark_all_written();
    return static_cast<CUresult>(own<kName, Args...>(args...));
  }
};
template <Name kName, class... Args> void put_write() noexcept {
  replace(kName.text, reinterpret_cast<void*>(&Writes<kName, Args...>::call));
}
template <Name kName, class... Args> void put_anything() noexcept {
  replace(kName.text, reinterpret_cast<void*>(&WritesAnything<kName, Args...>::call));
}

} // namespace

void replace_writes() noexcept {
#define PUT_SYNC(symbol, suffix, ...)                                                              \
  put_write<symbol suffix, __VA_ARGS__>(), put_write<symbol suffix "_ptds", __VA_ARGS__>()
#define PUT_ASYNC(symbol, suffix, ...)                                                             \
  put_write<symbol suffix, __VA_ARGS__>(), put_write<symbol suffix "_ptsz", __VA_ARGS__>()
#define PUT_BOTH(symbol, suffix, ...)                                                              \
  PUT_SYNC(symbol, suffix, __VA_ARGS__);                                                           \
  PUT_ASYNC(symbol "Async", suffix, __VA_ARGS__, CUstream)
  PUT_BOTH("cuMemcpy", "", Address, Address, Bytes);
  PUT_BOTH("cuMemcpyDtoD", "_v2", Address, Address, Bytes);
  PUT_BOTH("cuMemcpyHtoD", "_v2", Address, const void*, Bytes);
  PUT_BOTH("cuMemcpyDtoH", "_v2", void*, Address, Bytes);
  PUT_BOTH("cuMemcpyAtoH", "_v2", void*, CUarray, Bytes, Bytes);
  PUT_BOTH("cuMemcpyPeer", "", Address, CUcontext, Address, CUcontext, Bytes);
  PUT_SYNC("cuMemcpyAtoD", "_v2", Address, CUarray, Bytes, Bytes);
  PUT_BOTH("cuMemcpy2D", "_v2", const CUDA_MEMCPY2D*);
  PUT_SYNC("cuMemcpy2DUnaligned", "_v2", const CUDA_MEMCPY2D*);
  PUT_BOTH("cuMemcpy3D", "_v2", const CUDA_MEMCPY3D*);
  PUT_BOTH("cuMemcpy3DPeer", "", const CUDA_MEMCPY3D_PEER*);
#define PUT_SET(bits, Value)                                                                       \
  PUT_SYNC("cuMemsetD" bits, "_v2", Address, Value, Bytes);                                        \
  PUT_ASYNC("cuMemsetD" bits "Async", "", Address, Value, Bytes, CUstream);                        \
  PUT_SYNC("cuMemsetD2D" bits, "_v2", Address, Bytes, Value, Bytes, Bytes);                        \
  PUT_ASYNC("cuMemsetD2D" bits "Async", "", Address, Bytes, Value, Bytes, Bytes, CUstream)
  PUT_SET("8", unsigned char);
  PUT_SET("16", unsigned short);
  PUT_SET("32", unsigned);
#define PUT_VALUE(suffix)                                                                          \
  PUT_ASYNC("cuStreamWriteValue32", suffix, CUstream, Address, cuuint32_t, unsigned);              \
  PUT_ASYNC("cuStreamWriteValue64", suffix, CUstream, Address, cuuint64_t, unsigned)
  PUT_VALUE("");
  PUT_VALUE("_v2");
#define PUT_ANYTHING(symbol, ...)                                                                  \
  put_anything<symbol, __VA_ARGS__>(), put_anything<symbol "_ptsz", __VA_ARGS__>()
  PUT_ANYTHING("cuStreamBatchMemOp", CUstream, unsigned, CUstreamBatchMemOpParams*, unsigned);
  PUT_ANYTHING("cuStreamBatchMemOp_v2", CUstream, unsigned, CUstreamBatchMemOpParams*, unsigned);
  PUT_ANYTHING("cuMemcpyBatchAsync", Address*, Address*, Bytes*, Bytes, CUmemcpyAttributes*, Bytes*,
               Bytes, Bytes*, CUstream);
  PUT_ANYTHING("cuMemcpyBatchAsync_v2", const Address*, const Address*, const Bytes*, Bytes,
               CUmemcpyAttributes*, Bytes*, Bytes, CUstream);
  PUT_ANYTHING("cuMemcpy3DBatchAsync", Bytes, CUDA_MEMCPY3D_BATCH_OP*, Bytes*, unsigned long long,
               CUstream);
  PUT_ANYTHING("cuMemcpy3DBatchAsync_v2", Bytes, CUDA_MEMCPY3D_BATCH_OP*, unsigned long long,
               CUstream);
  PUT_ANYTHING("cuMemBatchDecompressAsync", CUmemDecompressParams*, Bytes, unsigned, Bytes*,
               CUstream);
  put_anything<"cuLaunch", CUfunction>();
  put_anything<"cuLaunchGrid", CUfunction, int, int>();
  put_anything<"cuLaunchGridAsync", CUfunction, int, int, CUstream>();
  put_anything<"cuLaunchCooperativeKernelMultiDevice", CUDA_LAUNCH_PARAMS*, unsigned, unsigned>();
#undef PUT_ANYTHING
#undef PUT_SYNC
#undef PUT_ASYNC
#undef PUT_BOTH
#undef PUT_SET
#undef PUT_VALUE
  put_write<"cuPointerSetAttribute", const void*, CUpointer_attribute, Address>();
  put_write<"cuMemGetHandleForAddressRange", void*, Address, Bytes, CUmemRangeHandleType,
            unsigned long long>();
}

} // namespace gmt::interposer::kernel_checks
