// SPDX-License-Identifier: Apache-2.0
// A matrix of 100 columns of float: its rows are 400 bytes long, and cudaMallocPitch places each at a multiple of the
// pitch (512), so that every row begins on a full memory sector. Row addresses are computed in bytes, then cast.
// Variants: clean (or no word);
//   flat         cudaMalloc and rows of 400 bytes: every other row starts in the middle of a 32-byte sector
//   flat-copy    one flat copy of rows x 400 bytes into pitched memory: all rows but the first land at wrong addresses
//   wrong-pitch  the width is given as the pitch, with the same result, row by row
//   width        the width is given in elements of the padded row: larger than the host's pitch, CUDA refuses it.
//                It is the runtime that does, before any driver call, so a static runtime leaves nothing to see.
//
// run:
// expect: clean
// run: clean
// expect: clean
// run: flat
// expect: warning pitch-misaligned count=1 bytes=3072 api=cudaMemcpy2D message="cudaMallocPitch(&p, &pitch, 400, 64)" stacks="allocated here"@make_flat_matrix:LINE(alloc-flat),"copied here"@upload:LINE(upload)
// expect: warning pitch-misaligned count=1 bytes=3072 api=cudaMemcpy2D stacks="allocated here"@make_flat_matrix:LINE(alloc-flat),"copied here"@main:LINE(download)
// run: flat-copy
// expect: warning pitch-mismatch count=1 api=cudaMemcpy stacks="allocated here"@make_matrix:LINE(alloc-pitched),"copied here"@upload_flat:LINE(upload-flat)
// run: wrong-pitch
// expect: warning pitch-mismatch count=1 api=cudaMemcpy2D message="returned (512)" stacks="allocated here"@make_matrix:LINE(alloc-pitched),"copied here"@upload:LINE(upload)
// run: width
// expect-shared: warning pitch-mismatch count=1 api=cudaMemcpy2D message="source pitch of 400" stacks="failed here"@upload_too_wide:LINE(too-wide)
// expect-static: clean
// not-checked-static: pitch-mismatch
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

// CHECK ends the program; TRY says what failed and goes on, as the faulty variants must reach their end.
#define FAILED(result) std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(result))
#define CHECK(call) do { if (cudaError_t r = (call)) { FAILED(r); std::exit(1); } } while (0)
#define TRY(call) do { if (cudaError_t r = (call)) { FAILED(r); (void)cudaGetLastError(); } } while (0)

constexpr int kRows = 64;
constexpr int kColumns = 100;
constexpr size_t kWidth = kColumns * sizeof(float);

__global__ void scale(float* matrix, size_t pitch, float factor)
{
  int column = blockIdx.x * blockDim.x + threadIdx.x;
  float* row = reinterpret_cast<float*>(reinterpret_cast<char*>(matrix) + blockIdx.y * pitch);
  if (column < kColumns)
    row[column] *= factor;
}

static float* make_matrix(size_t* pitch)
{
  float* matrix = nullptr;
  CHECK(cudaMallocPitch(&matrix, pitch, kWidth, kRows)); // @alloc-pitched
  CHECK(cudaMemset2D(matrix, *pitch, 0, kWidth, kRows));
  return matrix;
}

static float* make_flat_matrix(size_t* pitch)
{
  float* matrix = nullptr;
  *pitch = kWidth;
  CHECK(cudaMalloc(&matrix, kRows * kWidth)); // @alloc-flat
  return matrix;
}

static void upload(float* matrix, size_t pitch, const float* host)
{
  CHECK(cudaMemcpy2D(matrix, pitch, host, kWidth, kWidth, kRows, cudaMemcpyHostToDevice)); // @upload
}

static void upload_flat(float* matrix, const float* host)
{
  TRY(cudaMemcpy(matrix, host, kRows * kWidth, cudaMemcpyHostToDevice)); // @upload-flat
}

static void upload_too_wide(float* matrix, size_t pitch, const float* host)
{
  TRY(cudaMemcpy2D(matrix, pitch, host, kWidth, pitch, kRows, cudaMemcpyHostToDevice)); // @too-wide
}

int main(int argc, char** argv)
{
  const char* variant = argc > 1 ? argv[1] : "clean";
  auto is = [&](const char* word) { return !std::strcmp(variant, word); };
  std::vector<float> host(kRows * kColumns, 1.5f), result(kRows * kColumns, 0.0f);

  size_t pitch = 0;
  float* matrix = is("flat") ? make_flat_matrix(&pitch) : make_matrix(&pitch);
  if (is("flat-copy"))
    upload_flat(matrix, host.data());
  else if (is("wrong-pitch"))
    upload(matrix, kWidth, host.data());
  else if (is("width"))
    upload_too_wide(matrix, pitch, host.data());
  else
    upload(matrix, pitch, host.data());

  scale<<<dim3((kColumns + 127) / 128, kRows), 128>>>(matrix, pitch, 2.0f);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy2D(result.data(), kWidth, matrix, pitch, kWidth, kRows, cudaMemcpyDeviceToHost)); // @download
  CHECK(cudaFree(matrix));

  int wrong = 0;
  for (float value : result)
    wrong += value != 3.0f;
  std::printf("pitch %zu, %d of %d elements differ from 3\n", pitch, wrong, kRows * kColumns);
  return is("clean") && wrong != 0;
}
