// SPDX-License-Identifier: Apache-2.0
// Kernels that leave their memory, as they do in practice. CUDA's blocks lie in pages of 2 MiB, so that without the
// fence nothing is noticed; with --guard the GPU faults at once, and the program gets error 700 from CUDA. Words:
//   stencil      reads a halo that the last block does not have
//   off-by-one   stores one element past the end
//   kept         uses a buffer that was freed, through a structure that still has its address
//   stream       the same with memory that was freed in the stream's order
//   wrong-pitch  takes the width for the pitch of a larger matrix
//   no-mask      has no test for the threads behind the last element
//   graph        the store of off-by-one, in a graph
//   slack        stores 8 bytes behind the block, where the mapping still goes on
//   underrun     stores in front of the block
//   clean        all of it as it should be
//
// A word with "-fenced" behind it does the same; it gives the run under --guard a name of its own.
//
// run: clean
// expect: clean
// run: clean-fenced
// options: --guard
// expect: clean
// run: clean-before
// options: --guard before
// expect: clean
// run: slack
// expect-real: clean
// expect-simulated: error kernel-out-of-bounds count=2 message="right behind the end of 3.9 KiB" stacks="accessed here"@fill:LINE(fill),"launched here"@launch:LINE(launch),"allocated here"@run:LINE(alloc)
// run: slack-fenced
// options: --guard
// expect: error kernel-out-of-bounds count=1 message="8 bytes" stacks="allocated here"@run:LINE(alloc),"launched here"@launch:LINE(launch),"launched here"@launch:LINE(launch),"freed here"@run:LINE(free)
// run: underrun-fenced
// options: --guard
// expect: error kernel-out-of-bounds count=1 message="8 bytes" stacks="allocated here"@run:LINE(alloc),"launched here"@launch:LINE(launch),"launched here"@launch:LINE(launch),"freed here"@run:LINE(free)
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CHECK(call)                                                                                                    \
  do {                                                                                                                 \
    cudaError_t r = (call);                                                                                            \
    if (r) {                                                                                                           \
      std::printf("%s: %s\n", #call, cudaGetErrorName(r));                                                             \
      std::exit(3);                                                                                                    \
    }                                                                                                                  \
  } while (0)

constexpr int kElements = 1000; // 4,000 bytes: a block of 4,096 at the end of its mapping, with 512 bytes of alignment
constexpr int kRows = 8;

struct Kept { // what a program keeps of a buffer
  float* data;
  int count;
};

__global__ void blur(const float* in, float* out, int n, int halo) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int k = 0; k <= halo; ++k) sum += in[i + k];
  if (i < n) out[i] = sum;
}

__global__ void fill(float* out, int first, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[first + i] = 1.0f; // @fill
}

__global__ void fill_all(float* out) { out[blockIdx.x * blockDim.x + threadIdx.x] = 1.0f; }

__global__ void add_one(Kept kept) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kept.count) kept.data[i] += 1.0f;
}

__global__ void fill_rows(char* matrix, size_t pitch, int rows, int columns) {
  for (int row = blockIdx.x; row < rows; row += gridDim.x)
    for (int i = threadIdx.x; i < columns; i += blockDim.x) reinterpret_cast<float*>(matrix + row * pitch)[i] = 1.0f;
}

void launch(float* data, int first, int count) {
  fill<<<(count + 255) / 256, 256>>>(data, first, count); // @launch
}

// How far behind its end a store is certain to be seen: blocks end at multiples of 512 bytes.
constexpr int kPastMapping = 128;

void stencil(float* data) {
  float* out = nullptr;
  CHECK(cudaMalloc(&out, kElements * sizeof(float)));
  blur<<<4, 256>>>(data, out, kElements, kPastMapping);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(out));
}

void freed(const char* how) {
  Kept kept{nullptr, kElements};
  const bool in_stream = std::strcmp(how, "stream") == 0;
  if (in_stream) CHECK(cudaMallocAsync(&kept.data, kElements * sizeof(float), nullptr));
  else CHECK(cudaMalloc(&kept.data, kElements * sizeof(float)));
  add_one<<<4, 256>>>(kept);
  if (in_stream) CHECK(cudaFreeAsync(kept.data, nullptr));
  else CHECK(cudaFree(kept.data));
  CHECK(cudaDeviceSynchronize());
  add_one<<<4, 256>>>(kept);
  CHECK(cudaDeviceSynchronize());
}

void matrix(bool wrong) {
  char* rows = nullptr;
  size_t pitch = 0;
  CHECK(cudaMallocPitch(reinterpret_cast<void**>(&rows), &pitch, 100 * sizeof(float), kRows));
  fill_rows<<<8, 128>>>(rows, wrong ? 2 * pitch : pitch, kRows, 100);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(rows));
}

void in_graph(float* data, int first) {
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  fill<<<1, 32, 0, stream>>>(data, first, 32);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  CHECK(cudaGraphLaunch(executable, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaGraphExecDestroy(executable));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaStreamDestroy(stream));
}

void run(const char* what) {
  float* data = nullptr;
  CHECK(cudaMalloc(&data, kElements * sizeof(float))); // @alloc
  CHECK(cudaMemset(data, 0, kElements * sizeof(float)));
  launch(data, 0, kElements);
  if (std::strcmp(what, "stencil") == 0) stencil(data);
  if (std::strcmp(what, "off-by-one") == 0) launch(data, kPastMapping, kElements);
  if (std::strcmp(what, "kept") == 0 || std::strcmp(what, "stream") == 0) freed(what);
  if (std::strcmp(what, "wrong-pitch") == 0 || std::strcmp(what, "clean") == 0) matrix(what[0] == 'w');
  if (std::strcmp(what, "no-mask") == 0) fill_all<<<5, 256>>>(data);
  if (std::strcmp(what, "graph") == 0) in_graph(data, kElements + kPastMapping);
  if (std::strcmp(what, "slack") == 0) launch(data, kElements, 2);
  if (std::strcmp(what, "underrun") == 0) launch(data, -2, 2);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(data)); // @free
}

int main(int argc, char** argv) {
  char what[32] = "clean";
  if (argc > 1) std::snprintf(what, sizeof what, "%s", argv[1]);
  for (const char* suffix : {"-fenced", "-before"})
    if (char* end = std::strstr(what, suffix)) *end = '\0';
  run(what);
  std::printf("%s: no error\n", what);
  return 0;
}
