// SPDX-License-Identifier: Apache-2.0
// --kernel-checks inside the cache of PyTorch's allocator, which says what it gives out of a segment and takes back: what it
// has not given out is poison. A segment may be expandable: mapped piece by piece, with tensors across them. The program reports as that allocator does; PyTorch itself: tests/gpu/torch_mistakes.py.
//
// unlike-fenced: blocks of the fence and checks in the code exclude each other
// run: mistakes
// env: GPUMEMTRACE_SIM_KERNEL_CHECKS=1
// env: GPUMEMTRACE_SIM_DEVICE_CHECKS=none
// env: GPUMEMTRACE_SIM_GAPS=0
// options: check --kernel-checks
// expect: error kernel-out-of-bounds count=32 message="right behind the end of the 1.0 KiB block of a tensor made at kernel_checks_tensors.cu" stacks="accessed here"@fill:LINE(fill),"launched here"@mistakes:LINE(past),"allocated here"@take
// expect: error kernel-use-after-free count=1 message="the 4.0 KiB block of a tensor made at kernel_checks_tensors.cu" stacks="accessed here"@follow:LINE(follow),"launched here"@mistakes:LINE(late),"allocated here"@take
// run: clean
// env: GPUMEMTRACE_SIM_KERNEL_CHECKS=1
// env: GPUMEMTRACE_SIM_DEVICE_CHECKS=none
// env: GPUMEMTRACE_SIM_GAPS=0
// options: check --kernel-checks
// expect: clean
// not-checked: kernel-out-of-bounds
// run: sampled
// env: GPUMEMTRACE_SIM_KERNEL_CHECKS=1
// env: GPUMEMTRACE_SIM_DEVICE_CHECKS=none
// env: GPUMEMTRACE_SIM_GAPS=0
// options: check --kernel-checks-sample
// expect: clean
// not-checked: kernel-out-of-bounds
// run: expandable
// env: GPUMEMTRACE_SIM_KERNEL_CHECKS=1
// env: GPUMEMTRACE_SIM_DEVICE_CHECKS=none
// env: GPUMEMTRACE_SIM_GAPS=0
// options: check --kernel-checks
// expect: error kernel-out-of-bounds count=32 message="right behind the end of the 1.0 KiB block of a tensor made at kernel_checks_tensors.cu" stacks="accessed here"@fill:LINE(fill),"launched here"@mistakes:LINE(past),"allocated here"@take
// expect: error kernel-use-after-free count=1 message="the 4.0 KiB block of a tensor made at kernel_checks_tensors.cu" stacks="accessed here"@follow:LINE(follow),"launched here"@mistakes:LINE(late),"allocated here"@take
// run: grown
// env: GPUMEMTRACE_SIM_KERNEL_CHECKS=1
// env: GPUMEMTRACE_SIM_DEVICE_CHECKS=none
// env: GPUMEMTRACE_SIM_GAPS=0
// options: check --kernel-checks
// expect: clean
// not-checked: kernel-out-of-bounds
#include "answers.h"
#include "driver_function.h"

#undef NDEBUG
#include <cassert>
#include <cstdint>
#include <dlfcn.h>

struct Device { // c10::Device
  std::int8_t type, index;
};

__global__ void fill(int* to, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] = i; // @fill
}
__global__ void follow(int** to) { **to = 7; } // @follow

static char* segment;

static void say(void* block, std::int64_t bytes) {
  using Report = void(void*, std::int64_t, std::size_t, std::size_t, Device);
  static const auto report =
    reinterpret_cast<Report*>(dlsym(RTLD_DEFAULT, "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"));
  if (report != nullptr) report(block, bytes, 0, 0, {1, 0});
}
static int* take(std::size_t offset, std::int64_t bytes) {
  say(segment + offset, bytes);
  return reinterpret_cast<int*>(segment + offset);
}
static void give_back(int* block, std::int64_t bytes) { say(block, -bytes); }

static void mistakes() {
  int* small = take(0, 1024);
  fill<<<3, 128>>>(small, 256 + 32); // @past
  int* gone = take(8192, 4096);
  int** named = reinterpret_cast<int**>(take(16384, 512));
  CHECK(cudaMemcpy(named, &gone, sizeof gone, cudaMemcpyHostToDevice));
  give_back(gone, 4096);
  follow<<<1, 1>>>(named); // @late
  CHECK(cudaDeviceSynchronize());
}

// A segment as PyTorch has it with expandable_segments.
class Expandable {
public:
  static constexpr std::size_t kPiece = 2 << 20, kMost = 3;
  Expandable() { answers(reserve_(&begin_, kMost * kPiece, 0, 0, 0)); }
  ~Expandable() { answers(give_back_(begin_, kMost * kPiece)); }
  char* piece(std::size_t number) const { return reinterpret_cast<char*>(begin_ + number * kPiece); }
  void map(std::size_t number) {
    CUmemAllocationProp what{};
    what.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    what.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CUmemGenericAllocationHandle memory;
    answers(create_(&memory, kPiece, &what, 0));
    answers(map_(begin_ + number * kPiece, kPiece, 0, memory, 0));
    answers(release_(memory)); // the mapping keeps it
    CUmemAccessDesc who{what.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    answers(let_(begin_ + number * kPiece, kPiece, &who, 1));
  }
  void unmap(std::size_t number) { answers(unmap_(begin_ + number * kPiece, kPiece)); }

private:
  static void answers(CUresult result) { assert(result == CUDA_SUCCESS); }

  CUdeviceptr begin_ = 0;
  decltype(&cuMemAddressReserve) reserve_ = driver_function<decltype(cuMemAddressReserve)>("cuMemAddressReserve", 10020);
  decltype(&cuMemAddressFree) give_back_ = driver_function<decltype(cuMemAddressFree)>("cuMemAddressFree", 10020);
  decltype(&cuMemCreate) create_ = driver_function<decltype(cuMemCreate)>("cuMemCreate", 10020);
  decltype(&cuMemRelease) release_ = driver_function<decltype(cuMemRelease)>("cuMemRelease", 10020);
  decltype(&cuMemMap) map_ = driver_function<decltype(cuMemMap)>("cuMemMap", 10020);
  decltype(&cuMemUnmap) unmap_ = driver_function<decltype(cuMemUnmap)>("cuMemUnmap", 10020);
  decltype(&cuMemSetAccess) let_ = driver_function<decltype(cuMemSetAccess)>("cuMemSetAccess", 10020);
};

// The tensor that is dropped lies in two pieces.
static void expandable() {
  Expandable space;
  space.map(0);
  space.map(1);
  segment = space.piece(1) - 10240;
  mistakes();
  for (std::size_t number : {0, 1}) space.unmap(number);
}

// Both ends, and the middle, where a tensor that lies in two pieces has both.
static void use(int* tensor, int bytes) {
  const int n = bytes / 4;
  for (int* part : {tensor, tensor + n / 2 - 64, tensor + n - 128}) fill<<<1, 128>>>(part, 128);
}

// Pieces come behind tensors and before them, and one is given back; each tensor is used rightly.
static void grown() {
  constexpr int kHalf = Expandable::kPiece / 2;
  Expandable space;
  space.map(1);
  segment = space.piece(1);
  int* first = take(0, kHalf);
  use(first, kHalf);
  space.map(2);
  int* across = take(kHalf + kHalf / 2, kHalf); // in both
  use(across, kHalf);
  space.map(0);
  segment = space.piece(0);
  int* before = take(kHalf, kHalf);
  for (int* tensor : {before, first, across}) use(tensor, kHalf);
  CHECK(cudaDeviceSynchronize());
  give_back(first, kHalf);
  give_back(across, kHalf);
  CHECK(cudaDeviceSynchronize());
  space.unmap(1);
  segment = space.piece(2);
  int* last = take(512, 4096);
  use(last, 4096);
  use(before, kHalf);
  space.map(1);
  segment = space.piece(1);
  use(take(0, Expandable::kPiece), Expandable::kPiece);
  use(last, 4096);
  CHECK(cudaDeviceSynchronize());
  for (std::size_t number : {0, 1, 2}) space.unmap(number);
}

// Blocks of other sizes come and go at the same address while kernels may still run.
static void reuse(cudaStream_t stream) {
  for (int round = 0; round < 20; ++round) {
    for (int granules : {1, 7, 8, 3}) {
      int* block = take(4096, granules * 512);
      fill<<<granules, 128, 0, stream>>>(block, granules * 128);
      give_back(block, granules * 512);
    }
  }
}

// A graph uses what it was captured with, whatever the allocator has done with it since.
static void graph(cudaStream_t stream) {
  cudaGraph_t captured;
  cudaGraphExec_t exec;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  int* block = take(65536, 4096);
  fill<<<8, 128, 0, stream>>>(block, 1024);
  give_back(block, 4096);
  CHECK(cudaStreamEndCapture(stream, &captured));
  CHECK(cudaGraphInstantiate(&exec, captured, 0));
  give_back(take(65536, 512), 512);
  for (int i = 0; i < 2; ++i) CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(captured));
}

// A sample does not look into the cache: it would cost what it must not.
static void sampled() {
  int* small = take(0, 1024);
  for (int i = 0; i < 100; ++i) {
    fill<<<3, 128>>>(small, 256 + 32);
    CHECK(cudaDeviceSynchronize());
  }
}

static void clean() {
  cudaStream_t one, other;
  cudaEvent_t done;
  CHECK(cudaStreamCreate(&one));
  CHECK(cudaStreamCreate(&other));
  CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
  reuse(one);
  // Dropped while another stream still uses it, and not given out again until that is done.
  int* lent = take(32768, 8192);
  fill<<<16, 128, 0, one>>>(lent, 2048);
  CHECK(cudaEventRecord(done, one));
  CHECK(cudaStreamWaitEvent(other, done, 0));
  fill<<<16, 128, 0, other>>>(lent, 2048);
  give_back(lent, 8192);
  fill<<<1, 128, 0, one>>>(take(0, 512), 128);
  CHECK(cudaDeviceSynchronize());
  reuse(other);
  graph(one);
  reuse(one);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaStreamDestroy(one));
  CHECK(cudaStreamDestroy(other));
  CHECK(cudaEventDestroy(done));
}

int main(int, char** arguments) {
  if (arguments[1][0] == 'e' || arguments[1][0] == 'g') {
    CHECK(cudaFree(nullptr)); // a context
    arguments[1][0] == 'e' ? expandable() : grown();
    return 0;
  }
  CHECK(cudaMalloc(&segment, 2 << 20));
  switch (arguments[1][0]) {
  case 'm': mistakes(); break;
  case 's': sampled(); break;
  default: clean();
  }
  CHECK(cudaFree(segment));
  return 0;
}
