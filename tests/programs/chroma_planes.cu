// SPDX-License-Identifier: Apache-2.0
// A picture in one pitched allocation: a plane of full size and behind it two chroma planes of half the width and
// height, at half the pitch (I420). The wrong pitch at the allocation's base stays a mistake.
//
// run:
// expect: clean
// run: wrong-pitch
// expect: warning pitch-mismatch count=1 api=cudaMemcpy2D stacks="copied here"@main:LINE(wrong),"allocated here"@main:LINE(alloc)
#include "answers.h"

#include <vector>

int main(int argc, char** argv)
{
  constexpr size_t kWidth = 1024, kHeight = 256, kRows = kHeight + kHeight / 2;
  constexpr auto kUp = cudaMemcpyHostToDevice, kDown = cudaMemcpyDeviceToHost;
  std::vector<char> host(kWidth * kRows, 7), back(kWidth * kRows);
  char* picture = nullptr;
  size_t pitch = 0;
  CHECK(cudaMallocPitch(&picture, &pitch, kWidth, kRows)); // @alloc
  if (started_with(argc, argv, "wrong-pitch"))
    CHECK(cudaMemcpy2D(picture, pitch / 2, host.data(), kWidth / 2, kWidth / 2, kHeight, kUp)); // @wrong
  CHECK(cudaMemcpy2D(picture, pitch, host.data(), kWidth, kWidth, kHeight, kUp));
  char* chroma[] = {picture + pitch * kHeight, picture + pitch * kHeight + pitch / 2 * (kHeight / 2)};
  for (char* plane : chroma)
    CHECK(cudaMemcpy2D(plane, pitch / 2, host.data(), kWidth / 2, kWidth / 2, kHeight / 2, kUp));
  CHECK(cudaMemcpy2D(back.data(), kWidth / 2, chroma[1], pitch / 2, kWidth / 2, kHeight / 2, kDown));
  CHECK(cudaMemset2D(chroma[0], pitch / 2, 0, kWidth / 2, kHeight / 2));
  CHECK(cudaMemcpy2D(back.data(), kWidth, picture, pitch, kWidth, kRows, kDown));
  CHECK(cudaFree(picture));
  return 0;
}
