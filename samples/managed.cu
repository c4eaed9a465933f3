// SPDX-License-Identifier: Apache-2.0
// Managed memory has one address for both sides: the host writes it, a kernel changes it, the host reads it again
// after a synchronisation, and no copy is written down anywhere.
// Variants: clean (or no word); leak: the histogram is never freed.
//
// run:
// expect: clean
// run: clean
// expect: clean
// run: leak
// expect: error leak bytes=1024 count=1 stacks="allocated here"@make_histogram:LINE(alloc-histogram)
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CHECK(call) do { if (cudaError_t r = (call)) { std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, \
  cudaGetErrorString(r)); std::exit(1); } } while (0)

constexpr int kCount = 8192;
constexpr int kBins = 256;

__global__ void count_bytes(const unsigned char* text, int count, unsigned* bins)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count)
    atomicAdd(&bins[text[i]], 1u);
}

static unsigned* make_histogram()
{
  unsigned* bins = nullptr;
  CHECK(cudaMallocManaged(&bins, kBins * sizeof(unsigned))); // @alloc-histogram
  std::memset(bins, 0, kBins * sizeof(unsigned));
  return bins;
}

static unsigned char* make_text()
{
  unsigned char* text = nullptr;
  CHECK(cudaMallocManaged(&text, kCount));
  for (int i = 0; i < kCount; ++i)
    text[i] = static_cast<unsigned char>(i % 50);
  return text;
}

int main(int argc, char** argv)
{
  const char* variant = argc > 1 ? argv[1] : "clean";
  unsigned char* text = make_text();
  unsigned* bins = make_histogram();
  count_bytes<<<kCount / 256, 256>>>(text, kCount, bins);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());

  unsigned total = 0;
  for (int i = 0; i < kBins; ++i)
    total += bins[i];
  std::printf("%u bytes counted, %u of them zero\n", total, bins[0]);
  CHECK(cudaFree(text));
  if (std::strcmp(variant, "leak") != 0)
    CHECK(cudaFree(bins));

  return !std::strcmp(variant, "clean") && total != kCount;
}
