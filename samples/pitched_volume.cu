// SPDX-License-Identifier: Apache-2.0
// A volume of 50 x 20 x 10 floats: cudaMalloc3D pads each row to the pitch, cudaMemcpy3D copies between it and a dense
// host array. An extent counts bytes first, then rows, then slices.
// Variants: clean (or no word); swapped: height and depth are exchanged on the way to the device, so that twenty
// slices are asked for where ten were allocated. CUDA refuses the copy with "invalid argument".
//
// run:
// expect: clean
// run: clean
// expect: clean
// run: swapped
// expect: error copy-out-of-bounds count=1 api=cudaMemcpy3D stacks="allocated here"@make_volume:LINE(alloc),"copied here"@upload:LINE(upload)
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

// CHECK ends the program; TRY says what failed and goes on, as the faulty variants must reach their end.
#define FAILED(result) std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(result))
#define CHECK(call) do { if (cudaError_t r = (call)) { FAILED(r); std::exit(1); } } while (0)
#define TRY(call) do { if (cudaError_t r = (call)) { FAILED(r); (void)cudaGetLastError(); } } while (0)

constexpr size_t kColumns = 50, kRows = 20, kSlices = 10;
constexpr size_t kWidth = kColumns * sizeof(float);

__global__ void scale(cudaPitchedPtr volume, float factor)
{
  int column = threadIdx.x;
  size_t row = blockIdx.y * volume.ysize + blockIdx.x;
  float* values = reinterpret_cast<float*>(static_cast<char*>(volume.ptr) + row * volume.pitch);
  if (column < static_cast<int>(kColumns))
    values[column] *= factor;
}

static cudaPitchedPtr make_volume()
{
  cudaPitchedPtr volume{};
  CHECK(cudaMalloc3D(&volume, make_cudaExtent(kWidth, kRows, kSlices))); // @alloc
  CHECK(cudaMemset3D(volume, 0, make_cudaExtent(kWidth, kRows, kSlices)));
  return volume;
}

static void upload(cudaPitchedPtr volume, std::vector<float>& host, cudaExtent extent)
{
  cudaMemcpy3DParms copy{};
  copy.srcPtr = make_cudaPitchedPtr(host.data(), kWidth, kColumns, extent.height);
  copy.dstPtr = volume;
  copy.extent = extent;
  copy.kind = cudaMemcpyHostToDevice;
  TRY(cudaMemcpy3D(&copy)); // @upload
}

static void download(std::vector<float>& host, cudaPitchedPtr volume)
{
  cudaMemcpy3DParms copy{};
  copy.srcPtr = volume;
  copy.dstPtr = make_cudaPitchedPtr(host.data(), kWidth, kColumns, kRows);
  copy.extent = make_cudaExtent(kWidth, kRows, kSlices);
  copy.kind = cudaMemcpyDeviceToHost;
  CHECK(cudaMemcpy3D(&copy));
}

int main(int argc, char** argv)
{
  bool swapped = argc > 1 && !std::strcmp(argv[1], "swapped");
  std::vector<float> host(kColumns * kRows * kSlices, 1.5f), result(host.size(), 0.0f);
  cudaPitchedPtr volume = make_volume();
  upload(volume, host, swapped ? make_cudaExtent(kWidth, kSlices, kRows) : make_cudaExtent(kWidth, kRows, kSlices));
  scale<<<dim3(kRows, kSlices), 64>>>(volume, 2.0f);
  CHECK(cudaGetLastError());
  download(result, volume);
  CHECK(cudaFree(volume.ptr));

  int wrong = 0;
  for (float value : result)
    wrong += value != 3.0f;
  std::printf("pitch %zu, %d of %zu elements differ\n", volume.pitch, wrong, result.size());
  return !swapped && wrong != 0;
}
