// SPDX-License-Identifier: Apache-2.0
// A complex FFT forth and back with cuFFT, which takes its work area itself.
// libraries: cufft
#include <cufft.h>

#include <cmath>
#include <vector>

#include "library_program.h"

int main(int argc, char** argv) {
  need_gpu();
  constexpr int n = 1 << 16;
  std::vector<cufftComplex> signal(n), back(n);
  for (int i = 0; i < n; ++i) signal[i] = {std::sin(0.01f * static_cast<float>(i)), 0.0f};
  cufftComplex* data;
  MUST(cudaMalloc(&data, n * sizeof(cufftComplex)));
  MUST(cudaMemcpy(data, signal.data(), n * sizeof(cufftComplex), cudaMemcpyHostToDevice));
  cufftHandle plan;
  MUST(cufftPlan1d(&plan, n, CUFFT_C2C, 1));
  MUST(cufftExecC2C(plan, data, data, CUFFT_FORWARD));
  MUST(cufftExecC2C(plan, data, data, CUFFT_INVERSE));
  MUST(cudaMemcpy(back.data(), data, n * sizeof(cufftComplex), cudaMemcpyDeviceToHost));
  MUST(cufftDestroy(plan));
  MUST(cudaFree(data));
  if (std::fabs(back[100].x / n - signal[100].x) > 1e-3f) return 1;
  return finish(argc, argv);
}
