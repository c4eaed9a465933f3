// SPDX-License-Identifier: Apache-2.0
// One leak of every family of memory that the runtime API gives out.
//
// run: pitched
// expect: error leak bytes=4096 count=1 stacks="allocated here"@leak_pitched:LINE(pitched)
// run: 3d
// expect: error leak bytes=16384 count=1 stacks="allocated here"@leak_3d:LINE(3d)
// run: array
// expect: error leak count=1 stacks="allocated here"@leak_array:LINE(array)
// run: mipmapped
// expect: error leak count=1 stacks="allocated here"@leak_mipmapped:LINE(mipmapped)
// run: managed
// expect: error leak bytes=4096 count=1 stacks="allocated here"@leak_managed:LINE(managed)
// run: pinned
// expect: error leak bytes=4096 count=1 stacks="allocated here"@leak_pinned:LINE(pinned)
// run: registered
// expect: error leak bytes=8192 count=1 stacks="registered here"@leak_registered:LINE(registered)
// run: sparse
// expect: error leak count=1 stacks="allocated here"@leak_sparse:LINE(sparse)
// expect: warning unused count=1 stacks="allocated here"@leak_sparse:LINE(sparse)
// run: attached
// expect: error leak bytes=4096 count=1 stacks="allocated here"@leak_attached:LINE(attached)
// run: async
// expect: error leak bytes=4096 count=1 stacks="allocated here"@leak_async:LINE(async)
#include "answers.h"

static void leak_pitched()
{
  char* block = nullptr;
  size_t pitch = 0;
  CHECK(cudaMallocPitch(&block, &pitch, 400, 8)); // @pitched
  CHECK(cudaMemset2D(block, pitch, 0, 400, 8));
}

static void leak_3d()
{
  cudaPitchedPtr block;
  cudaExtent extent = make_cudaExtent(400, 8, 4);
  CHECK(cudaMalloc3D(&block, extent)); // @3d
  CHECK(cudaMemset3D(block, 0, extent));
}

static void leak_array()
{
  cudaArray_t array = nullptr;
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  float row[64] = {};
  CHECK(cudaMallocArray(&array, &format, 64, 1)); // @array
  CHECK(cudaMemcpy2DToArray(array, 0, 0, row, sizeof row, sizeof row, 1, cudaMemcpyHostToDevice));
}

static void leak_mipmapped()
{
  cudaMipmappedArray_t mipmapped = nullptr;
  cudaArray_t level = nullptr;
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  float row[32] = {};
  CHECK(cudaMallocMipmappedArray(&mipmapped, &format, make_cudaExtent(64, 64, 0), 2)); // @mipmapped
  CHECK(cudaGetMipmappedArrayLevel(&level, mipmapped, 1));
  CHECK(cudaMemcpy2DToArray(level, 0, 0, row, sizeof row, sizeof row, 1, cudaMemcpyHostToDevice));
  CHECK(cudaFreeArray(level)); // a level is a view: this frees nothing
}

// Without memory of its own: nothing is mapped into it.
static void leak_sparse()
{
  cudaArray_t array = nullptr;
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  CHECK(cudaMalloc3DArray(&array, &format, make_cudaExtent(512, 512, 0), cudaArraySparse)); // @sparse
}

// Memory that only one stream's kernels may use.
static void leak_attached()
{
  cudaStream_t stream = nullptr;
  char* block = nullptr;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaMallocManaged(&block, 4096, cudaMemAttachHost)); // @attached
  CHECK(cudaStreamAttachMemAsync(stream, block, 0, cudaMemAttachSingle));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaMemsetAsync(block, 1, 4096, stream));
  CHECK(cudaStreamDestroy(stream));
}

static void leak_managed()
{
  char* block = nullptr;
  CHECK(cudaMallocManaged(&block, 4096)); // @managed
  std::memset(block, 1, 4096);
}

static void leak_pinned()
{
  char* block = nullptr;
  CHECK(cudaMallocHost(&block, 4096)); // @pinned
  std::memset(block, 1, 4096);
}

static void leak_registered()
{
  alignas(4096) static char memory[8192];
  CHECK(cudaHostRegister(memory, sizeof memory, cudaHostRegisterDefault)); // @registered
}

static void leak_async()
{
  char* block = nullptr;
  CHECK(cudaMallocAsync(&block, 4096, nullptr)); // @async
  CHECK(cudaMemsetAsync(block, 0, 4096, nullptr));
  CHECK(cudaDeviceSynchronize());
}

int main(int argc, char** argv)
{
  if (started_with(argc, argv, "pitched"))
    leak_pitched();
  else if (started_with(argc, argv, "3d"))
    leak_3d();
  else if (started_with(argc, argv, "array"))
    leak_array();
  else if (started_with(argc, argv, "mipmapped"))
    leak_mipmapped();
  else if (started_with(argc, argv, "managed"))
    leak_managed();
  else if (started_with(argc, argv, "pinned"))
    leak_pinned();
  else if (started_with(argc, argv, "registered"))
    leak_registered();
  else if (started_with(argc, argv, "sparse"))
    leak_sparse();
  else if (started_with(argc, argv, "attached"))
    leak_attached();
  else
    leak_async();
  return 0;
}
