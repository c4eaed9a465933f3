// SPDX-License-Identifier: Apache-2.0
// Two devices exchange a block by cudaMemcpyPeer, with peer access where the machine allows it: then the copy goes
// straight from one memory to the other. A machine with one device skips all of it.
// Variants: clean (or no word); without-peer-access: the same, where no device reaches another, and the
//   copy goes by way of host memory;
//   staged: peer access is not enabled, so the copy goes by way of host memory;
//   leak: the block on the second device is forgotten (nothing leaks where there is one device).
//
// run:
// env: GPUMEMTRACE_SIM_DEVICES=2
// expect: clean
// run: clean
// env: GPUMEMTRACE_SIM_DEVICES=2
// expect: clean
// run: without-peer-access
// env: GPUMEMTRACE_SIM_DEVICES=2
// env: GPUMEMTRACE_SIM_PEER_ACCESS=0
// expect: clean
// expect-simulated: note copy-staged count=1 bytes=65536 api=cudaMemcpyPeer stacks="copied here"@main:LINE(copy)
// run: staged
// env: GPUMEMTRACE_SIM_DEVICES=2
// expect: clean
// expect-simulated: note copy-staged count=1 bytes=65536 api=cudaMemcpyPeer stacks="copied here"@main:LINE(copy)
// run: leak
// env: GPUMEMTRACE_SIM_DEVICES=2
// device: simulated
// expect: error leak bytes=65536 count=1 stacks="allocated here"@make_block:LINE(alloc)
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(call) do { if (cudaError_t r = (call)) { std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, \
  cudaGetErrorString(r)); std::exit(1); } } while (0)

constexpr size_t kBytes = 64 * 1024;

static unsigned char* make_block(int device)
{
  unsigned char* block = nullptr;
  CHECK(cudaSetDevice(device));
  CHECK(cudaMalloc(&block, kBytes)); // @alloc
  CHECK(cudaMemset(block, 0, kBytes));
  return block;
}

static void let_reach(int device, int other)
{
  int possible = 0;
  CHECK(cudaDeviceCanAccessPeer(&possible, device, other));
  CHECK(cudaSetDevice(device));
  if (possible)
    CHECK(cudaDeviceEnablePeerAccess(other, 0));
}

static void free_on(int device, unsigned char* block)
{
  CHECK(cudaSetDevice(device));
  CHECK(cudaFree(block));
}

int main(int argc, char** argv)
{
  const char* variant = argc > 1 ? argv[1] : "clean";
  int devices = 0;
  CHECK(cudaGetDeviceCount(&devices));
  if (devices < 2) {
    std::printf("skipped: %d device\n", devices);
    return 0;
  }
  unsigned char* first = make_block(0);
  unsigned char* second = make_block(1);
  if (std::strcmp(variant, "staged") != 0) {
    let_reach(0, 1);
    let_reach(1, 0);
  }

  std::vector<unsigned char> sent(kBytes), received(kBytes);
  for (size_t i = 0; i < kBytes; ++i)
    sent[i] = static_cast<unsigned char>(i % 251);
  CHECK(cudaMemcpy(first, sent.data(), kBytes, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpyPeer(second, 1, first, 0, kBytes)); // @copy
  CHECK(cudaMemcpy(received.data(), second, kBytes, cudaMemcpyDeviceToHost));

  free_on(0, first);
  if (std::strcmp(variant, "leak") != 0)
    free_on(1, second);
  std::printf("what came over %s\n", sent == received ? "is the same" : "differs");
  return sent != received;
}
