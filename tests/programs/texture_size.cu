// SPDX-License-Identifier: Apache-2.0
// Textures over linear memory: CUDA makes one that is larger than its block, and what it fetches behind the block is
// other memory or 0.
//
// run:
// expect: clean
// run: larger
// expect: warning copy-out-of-bounds count=1 bytes=4096 api=cudaCreateTextureObject message="a texture of 8,192 bytes, 4,096 bytes past the end" stacks="used here"@make_linear:LINE(linear),"allocated here"@linear:LINE(block)
// expect: warning copy-out-of-bounds count=1 api=cudaCreateTextureObject message="rows at a pitch of" stacks="used here"@make_rows:LINE(rows),"allocated here"@rows:LINE(pitched)
#include "answers.h"

static cudaTextureDesc as_elements()
{
  cudaTextureDesc description{};
  description.readMode = cudaReadModeElementType;
  return description;
}

static void make_linear(void* memory, size_t bytes)
{
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = memory;
  resource.res.linear.desc = cudaCreateChannelDesc<float>();
  resource.res.linear.sizeInBytes = bytes;
  const cudaTextureDesc description = as_elements();
  cudaTextureObject_t texture = 0;
  CHECK(cudaCreateTextureObject(&texture, &resource, &description, nullptr)); // @linear
  CHECK(cudaDestroyTextureObject(texture));
}

static void make_rows(void* memory, size_t pitch, size_t width, size_t height)
{
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypePitch2D;
  resource.res.pitch2D.devPtr = memory;
  resource.res.pitch2D.desc = cudaCreateChannelDesc<float>();
  resource.res.pitch2D.width = width;
  resource.res.pitch2D.height = height;
  resource.res.pitch2D.pitchInBytes = pitch;
  const cudaTextureDesc description = as_elements();
  cudaTextureObject_t texture = 0;
  CHECK(cudaCreateTextureObject(&texture, &resource, &description, nullptr)); // @rows
  CHECK(cudaDestroyTextureObject(texture));
}

static void linear(size_t past)
{
  char* memory = nullptr;
  CHECK(cudaMalloc(&memory, 4096)); // @block
  TOUCH(memory, 4096);
  make_linear(memory, 4096 + past);
  make_linear(memory + 1024, 3072);
  CHECK(cudaFree(memory));
}

// The last row of plain memory need not have its padding.
static void rows(size_t more)
{
  constexpr size_t kWidth = 100, kHeight = 50;
  void *memory = nullptr, *plain = nullptr;
  size_t pitch = 0;
  CHECK(cudaMallocPitch(&memory, &pitch, kWidth * sizeof(float), kHeight)); // @pitched
  TOUCH(memory, pitch * kHeight);
  make_rows(memory, pitch, kWidth, kHeight + more);
  const size_t bytes = pitch * (kHeight - 1) + kWidth * sizeof(float);
  CHECK(cudaMalloc(&plain, bytes));
  TOUCH(plain, bytes);
  make_rows(plain, pitch, kWidth, kHeight);
  CHECK(cudaFree(memory));
  CHECK(cudaFree(plain));
}

int main(int argc, char** argv)
{
  const bool larger = started_with(argc, argv, "larger");
  linear(larger ? 4096 : 0);
  rows(larger ? 10 : 0);
  return 0;
}
