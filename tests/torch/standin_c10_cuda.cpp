// SPDX-License-Identifier: Apache-2.0
// Stands for PyTorch's libc10_cuda: a caching allocator whose blocks lie in segments of one stream,
// and which reports as PyTorch's does, with its lock held.
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

extern "C" int cudaMalloc(void**, std::size_t);
extern "C" int cudaFree(void*);

namespace c10 {

struct Device {
  std::int8_t type, index;
};
void reportMemoryUsageToProfiler(void*, std::int64_t, std::size_t, std::size_t, Device);
void reportOutOfMemoryToProfiler(std::int64_t, std::size_t, std::size_t, Device);

namespace cuda {

struct __attribute__((visibility("default"))) CUDAStream {
  Device device;
  std::int64_t id;
  void* stream() const;
};
static thread_local std::int64_t current_stream = 0;
// CUDA's streams by PyTorch's numbers, which are others
static std::vector<void*> streams{nullptr};
void* CUDAStream::stream() const { return streams[static_cast<std::size_t>(id)]; }
__attribute__((visibility("default"))) CUDAStream getCurrentCUDAStream(std::int8_t index);
CUDAStream getCurrentCUDAStream(std::int8_t index) { return {{1, index}, current_stream}; }

static std::int64_t number_of(void* stream) {
  for (std::size_t i = 0; i < streams.size(); ++i) {
    if (streams[i] == stream) return static_cast<std::int64_t>(i);
  }
  streams.push_back(stream);
  return static_cast<std::int64_t>(streams.size() - 1);
}

namespace CUDACachingAllocator {

struct Piece {
  std::size_t bytes;
  std::int64_t stream;
  bool is_free;
};
static std::mutex lock;
static std::map<char*, Piece> pieces;
static std::map<char*, std::size_t> segments;
static std::size_t allocated, reserved;
static bool is_silent; // as a version that reports in another way
constexpr std::size_t kRound = 512, kSegment = std::size_t{2} << 20;
constexpr Device kDevice{1, 0};

static std::map<char*, Piece>::iterator find_free(std::size_t bytes) {
  auto at = pieces.begin();
  while (at != pieces.end() &&
         !(at->second.is_free && at->second.stream == current_stream && at->second.bytes >= bytes))
    ++at;
  return at;
}

__attribute__((noinline)) static bool add_segment(std::size_t bytes) {
  const std::size_t size = (bytes + kSegment - 1) / kSegment * kSegment;
  void* segment = nullptr;
  if (cudaMalloc(&segment, size) != 0) return false;
  reserved += size;
  pieces[static_cast<char*>(segment)] = {size, current_stream, true};
  segments[static_cast<char*>(segment)] = size;
  return true;
}

__attribute__((noinline)) static void* allocate(std::size_t asked) {
  const std::scoped_lock held(lock);
  const std::size_t bytes = (asked + kRound - 1) / kRound * kRound;
  if (find_free(bytes) == pieces.end() && !add_segment(bytes)) {
    reportOutOfMemoryToProfiler(static_cast<std::int64_t>(asked), allocated, reserved, kDevice);
    return nullptr;
  }
  const auto at = find_free(bytes);
  if (at->second.bytes > bytes)
    pieces[at->first + bytes] = {at->second.bytes - bytes, current_stream, true};
  at->second.bytes = bytes;
  at->second.is_free = false;
  allocated += bytes;
  if (is_silent) return at->first;
  reportMemoryUsageToProfiler(at->first, static_cast<std::int64_t>(bytes), allocated, reserved,
                              kDevice);
  return at->first;
}

// Pieces are not joined: the tests need no more.
static void give_back(void* address) {
  const std::scoped_lock held(lock);
  const auto at = pieces.find(static_cast<char*>(address));
  at->second.is_free = true;
  allocated -= at->second.bytes;
  if (is_silent) return;
  reportMemoryUsageToProfiler(address, -static_cast<std::int64_t>(at->second.bytes), allocated,
                              reserved, kDevice);
}

// Segments without a tensor go back to CUDA.
__attribute__((noinline)) static void empty() {
  const std::scoped_lock held(lock);
  for (auto segment = segments.begin(); segment != segments.end();) {
    const auto first = pieces.find(segment->first);
    const auto last = pieces.lower_bound(segment->first + segment->second);
    auto used = first;
    while (used != last && used->second.is_free) ++used;
    if (used != last || cudaFree(segment->first) != 0) {
      ++segment;
      continue;
    }
    pieces.erase(first, last);
    reserved -= segment->second;
    segment = segments.erase(segment);
  }
}

} // namespace CUDACachingAllocator
} // namespace cuda
} // namespace c10

#define EXPORTED extern "C" __attribute__((visibility("default")))
EXPORTED void* standin_take(std::size_t bytes) {
  void* const address = c10::cuda::CUDACachingAllocator::allocate(bytes);
  asm volatile("" ::: "memory"); // no tail call: this function stands on the stack
  return address;
}
EXPORTED void standin_give_back(void* address) {
  c10::cuda::CUDACachingAllocator::give_back(address);
}
EXPORTED void standin_empty_cache() { c10::cuda::CUDACachingAllocator::empty(); }
EXPORTED void standin_be_silent() { c10::cuda::CUDACachingAllocator::is_silent = true; }
EXPORTED void standin_set_stream(void* stream) {
  c10::cuda::current_stream = c10::cuda::number_of(stream);
}
