// SPDX-License-Identifier: Apache-2.0
// Advice that is followed to the letter: of each pair the first run makes a mistake, and the second does what the
// finding of the first says. It must be silent, and its results right.
//
// run: array
// expect: error copy-direction count=1 message="is the handle of 4.0 KiB of CUDA array memory allocated by cudaMallocArray, which is no address; CUDA refused it. Use cudaMemcpy2DToArray" stacks="copied here"@fill_array:LINE(handle),"allocated here"@main:LINE(array)
// expect: warning unused count=1 stacks="allocated here"@main:LINE(array)
// run: array-followed
// expect: clean
// run: order
// unlike-late: the copy comes before what should have come before it
// expect: error stream-order count=1 message="Call cudaEventRecord on" stacks="used here"@ordered:LINE(unordered),"allocated here"@ordered:LINE(made)
// run: order-followed
// expect: clean
// run: registered
// expect: warning api-error count=1 message="is already 4.0 KiB of registered host memory" stacks="failed here"@register_again:LINE(again),"registered here"@register_again:LINE(first)
// run: registered-followed
// expect: clean
// run: prefetch
// expect: warning api-error count=1 message="a prefetch needs managed memory, and this is 4.0 KiB of device memory" stacks="failed here"@prefetch:LINE(prefetch),"allocated here"@prefetch:LINE(plain)
// run: prefetch-followed
// expect: clean
// run: threads
// expect: warning api-error count=1 message="for fill(int*, int): a block of 2,048 threads, where 1,024 are the most" stacks="failed here"@fill_by:LINE(threads)
// run: threads-followed
// expect: clean
#include "answers.h"

#include <cuda_runtime.h>

#include <string_view>
#include <vector>

constexpr int kSide = 64, kCount = kSide * kSide;

static bool followed; // the advice

__global__ void fill(int* to, int value) { to[blockIdx.x * blockDim.x + threadIdx.x] = value; }

static void must_be(int expected, int got)
{
  if (got == expected) return;
  std::printf("%d is wrong, %d is right\n", got, expected);
  std::exit(4);
}

static void fill_array(cudaArray_t array, const std::vector<unsigned char>& image)
{
  if (followed)
    CHECK(cudaMemcpy2DToArray(array, 0, 0, image.data(), kSide, kSide, kSide, cudaMemcpyHostToDevice));
  else
    ANSWERS(1, cudaMemcpy(array, image.data(), kCount, cudaMemcpyHostToDevice)); // @handle
}

static void ordered()
{
  constexpr int kBytes = 1024 * sizeof(int);
  int host[1024], *block = nullptr;
  cudaStream_t maker = nullptr, reader = nullptr;
  cudaEvent_t written = nullptr;
  CHECK(cudaStreamCreateWithFlags(&maker, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&reader, cudaStreamNonBlocking));
  CHECK(cudaEventCreate(&written));
  CHECK(cudaMallocAsync(&block, kBytes, maker)); // @made
  fill<<<4, 256, 0, maker>>>(block, 7);
  if (followed) {
    CHECK(cudaEventRecord(written, maker)); // behind the work whose result is needed
    CHECK(cudaStreamWaitEvent(reader, written));
  }
  CHECK(cudaMemcpyAsync(host, block, kBytes, cudaMemcpyDeviceToHost, reader)); // @unordered
  CHECK(cudaStreamSynchronize(reader));
  CHECK(cudaStreamSynchronize(maker));
  if (followed) must_be(7, host[1023]);
  CHECK(cudaFreeAsync(block, maker));
  CHECK(cudaStreamSynchronize(maker));
  CHECK(cudaEventDestroy(written));
  CHECK(cudaStreamDestroy(reader));
  CHECK(cudaStreamDestroy(maker));
}

static void register_again()
{
  alignas(4096) static char memory[8192];
  if (followed) {
    CHECK(cudaHostRegister(memory, 8192, cudaHostRegisterDefault)); // the whole range once
  } else {
    CHECK(cudaHostRegister(memory + 4096, 4096, cudaHostRegisterDefault)); // @first
    ANSWERS(712, cudaHostRegister(memory, 8192, cudaHostRegisterDefault)); // @again
  }
  CHECK(cudaHostUnregister(followed ? memory : memory + 4096));
}

static void prefetch()
{
  int* block = nullptr;
  if (followed)
    CHECK(cudaMallocManaged(&block, 4096));
  else
    CHECK(cudaMalloc(&block, 4096)); // @plain
  fill<<<4, 256>>>(block, 3);
  CHECK(cudaDeviceSynchronize());
  cudaMemLocation device{};
  device.type = cudaMemLocationTypeDevice;
  device.id = 0;
  if (followed) CHECK(cudaMemPrefetchAsync(block, 4096, device, 0, nullptr));
  else ANSWERS(1, cudaMemPrefetchAsync(block, 4096, device, 0, nullptr)); // @prefetch
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(block));
}

static void fill_by(int* block)
{
  if (followed)
    fill<<<2, 1024>>>(block, 5);
  else
    fill<<<1, 2048>>>(block, 5); // @threads
}

static void too_many_threads()
{
  int *block = nullptr, host[2048];
  CHECK(cudaMalloc(&block, sizeof host));
  CHECK(cudaMemset(block, 0, sizeof host));
  fill_by(block);
  if (followed) CHECK(cudaGetLastError());
  else (void)cudaGetLastError();
  CHECK(cudaMemcpy(host, block, sizeof host, cudaMemcpyDeviceToHost));
  must_be(followed ? 5 : 0, host[2047]);
  CHECK(cudaFree(block));
}

int main(int argc, char** argv)
{
  const std::string_view word = argc > 1 ? argv[1] : "";
  constexpr std::string_view kEnding = "-followed";
  followed = word.size() > kEnding.size() && word.substr(word.size() - kEnding.size()) == kEnding;
  const auto begins = [word](std::string_view with) { return word.substr(0, with.size()) == with; };
  if (begins("array")) {
    std::vector<unsigned char> image(kCount, 3), back(kCount);
    cudaArray_t array = nullptr;
    cudaChannelFormatDesc bytes = cudaCreateChannelDesc<unsigned char>();
    CHECK(cudaMallocArray(&array, &bytes, kSide, kSide)); // @array
    fill_array(array, image);
    if (followed) {
      CHECK(cudaMemcpy2DFromArray(back.data(), kSide, array, 0, 0, kSide, kSide, cudaMemcpyDeviceToHost));
      must_be(3, back[7]);
    }
    CHECK(cudaFreeArray(array));
  } else if (begins("order")) {
    ordered();
  } else if (begins("registered")) {
    register_again();
  } else if (begins("prefetch")) {
    prefetch();
  } else {
    too_many_threads();
  }
}
