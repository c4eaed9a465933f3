// SPDX-License-Identifier: Apache-2.0
// An image of 100 x 64 floats, read through a texture object. A texture over linear memory wants every row on the
// device's texture pitch alignment (32 bytes on an H200): cudaMallocPitch sees to it.
// Variants: clean (or no word); flat: rows of 400 bytes one behind the other, 16 bytes off that alignment: creating
// the texture fails with "invalid argument", and the image is read without one.
//
// run:
// expect: clean
// run: clean
// expect: clean
// run: flat
// expect: warning pitch-misaligned count=1 api=cudaCreateTextureObject message="multiple of 32 bytes" stacks="allocated here"@make_flat:LINE(alloc-flat),"failed here"@make_texture:LINE(create)
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

// CHECK ends the program; TRY says what failed and goes on, as the faulty variants must reach their end.
#define FAILED(result) std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(result))
#define CHECK(call) do { if (cudaError_t r = (call)) { FAILED(r); std::exit(1); } } while (0)
#define TRY(call) do { if (cudaError_t r = (call)) { FAILED(r); (void)cudaGetLastError(); } } while (0)

constexpr int kColumns = 100, kRows = 64;
constexpr size_t kWidth = kColumns * sizeof(float);

__global__ void read_texture(cudaTextureObject_t texture, float* sums)
{
  int row = threadIdx.x;
  float sum = 0.0f;
  for (int column = 0; column < kColumns; ++column)
    sum += tex2D<float>(texture, column + 0.5f, row + 0.5f);
  sums[row] = sum;
}

__global__ void read_memory(const char* image, size_t pitch, float* sums)
{
  int row = threadIdx.x;
  float sum = 0.0f;
  for (int column = 0; column < kColumns; ++column)
    sum += reinterpret_cast<const float*>(image + row * pitch)[column];
  sums[row] = sum;
}

static float* make_pitched(size_t* pitch, const float* host)
{
  float* image = nullptr;
  CHECK(cudaMallocPitch(&image, pitch, kWidth, kRows));
  CHECK(cudaMemcpy2D(image, *pitch, host, kWidth, kWidth, kRows, cudaMemcpyHostToDevice));
  return image;
}

static float* make_flat(size_t* pitch, const float* host)
{
  float* image = nullptr;
  *pitch = kWidth;
  CHECK(cudaMalloc(&image, kRows * kWidth)); // @alloc-flat
  CHECK(cudaMemcpy(image, host, kRows * kWidth, cudaMemcpyHostToDevice));
  return image;
}

static cudaTextureObject_t make_texture(float* image, size_t pitch)
{
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypePitch2D;
  resource.res.pitch2D.devPtr = image;
  resource.res.pitch2D.desc = cudaCreateChannelDesc<float>();
  resource.res.pitch2D.width = kColumns;
  resource.res.pitch2D.height = kRows;
  resource.res.pitch2D.pitchInBytes = pitch;
  cudaTextureDesc sampling{};
  cudaTextureObject_t texture = 0;
  TRY(cudaCreateTextureObject(&texture, &resource, &sampling, nullptr)); // @create
  return texture;
}

int main(int argc, char** argv)
{
  bool flat = argc > 1 && !std::strcmp(argv[1], "flat");
  cudaDeviceProp device;
  CHECK(cudaGetDeviceProperties(&device, 0));
  std::vector<float> host(kRows * kColumns, 0.5f), sums(kRows, 0.0f);

  size_t pitch = 0;
  float* image = flat ? make_flat(&pitch, host.data()) : make_pitched(&pitch, host.data());
  float* device_sums = nullptr;
  CHECK(cudaMalloc(&device_sums, kRows * sizeof(float)));
  cudaTextureObject_t texture = make_texture(image, pitch);
  if (texture != 0) {
    read_texture<<<1, kRows>>>(texture, device_sums);
    CHECK(cudaGetLastError());
  } else {
    read_memory<<<1, kRows>>>(reinterpret_cast<const char*>(image), pitch, device_sums);
    CHECK(cudaGetLastError());
  }
  CHECK(cudaMemcpy(sums.data(), device_sums, kRows * sizeof(float), cudaMemcpyDeviceToHost));
  if (texture != 0)
    CHECK(cudaDestroyTextureObject(texture));
  CHECK(cudaFree(device_sums));
  CHECK(cudaFree(image));

  std::printf("pitch %zu, %s, first row sums to %g\n", pitch, texture != 0 ? "through a texture" : "without a texture",
              sums[0]);
  // The simulated device samples no texture, so its sums mean nothing.
  bool kernels_run = std::strcmp(device.name, "gpumemtrace simulated device") != 0;
  return (texture == 0) != flat || (kernels_run && sums[kRows - 1] != kColumns * 0.5f);
}
