// SPDX-License-Identifier: Apache-2.0
// Thrust: selecting, searching, sets, gathering.
#include <algorithm>
#include <numeric>

#include <thrust/binary_search.h>
#include <thrust/copy.h>
#include <thrust/count.h>
#include <thrust/device_vector.h>
#include <thrust/extrema.h>
#include <thrust/gather.h>
#include <thrust/host_vector.h>
#include <thrust/partition.h>
#include <thrust/remove.h>
#include <thrust/sort.h>
#include <thrust/unique.h>

#include "torture.h"

struct IsEven {
  __host__ __device__ bool operator()(int x) const { return x % 2 == 0; }
};

template <class A, class B> bool same(const A& got, const B& want) {
  const thrust::host_vector<int> values = got;
  return values.size() == want.size() && std::equal(want.begin(), want.end(), values.begin());
}

int main() {
  OK(cudaFree(nullptr)); // says what is wrong where there is no device: Thrust throws
  const std::size_t n = 3000;
  const auto in = torture::numbers_below<int>(n, 1, 500);
  const thrust::device_vector<int> din(in.begin(), in.end());

  thrust::device_vector<int> out(n);
  out.erase(thrust::copy_if(din.begin(), din.end(), out.begin(), IsEven()), out.end());
  std::vector<int> want;
  std::copy_if(in.begin(), in.end(), std::back_inserter(want), IsEven());
  torture::report("thrust_copy_if", same(out, want));

  out = din;
  out.erase(thrust::remove_if(out.begin(), out.end(), IsEven()), out.end());
  want = in;
  want.erase(std::remove_if(want.begin(), want.end(), IsEven()), want.end());
  torture::report("thrust_remove_if", same(out, want));

  out = din;
  thrust::stable_partition(out.begin(), out.end(), IsEven());
  want = in;
  std::stable_partition(want.begin(), want.end(), IsEven());
  torture::report("thrust_stable_partition", same(out, want));

  want = in;
  std::sort(want.begin(), want.end());
  out.assign(want.begin(), want.end());
  const thrust::device_vector<int> sorted = out;
  const std::vector<int> host_sorted = want;
  out.erase(thrust::unique(out.begin(), out.end()), out.end());
  want.erase(std::unique(want.begin(), want.end()), want.end());
  torture::report("thrust_unique", same(out, want));

  std::vector<int> distinct(9000);
  std::iota(distinct.begin(), distinct.end(), 3);
  out.assign(distinct.begin(), distinct.end());
  out.erase(thrust::unique(out.begin(), out.end()), out.end());
  torture::report("thrust_unique_distinct", same(out, distinct));

  thrust::device_vector<int> positions(n);
  thrust::lower_bound(sorted.begin(), sorted.end(), din.begin(), din.end(), positions.begin());
  want.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    want[i] = static_cast<int>(std::lower_bound(host_sorted.begin(), host_sorted.end(), in[i]) -
                               host_sorted.begin());
  }
  torture::report("thrust_lower_bound", same(positions, want));

  out.resize(n);
  thrust::gather(positions.begin(), positions.end(), sorted.begin(), out.begin());
  torture::report("thrust_gather", same(out, in));
  const auto least = thrust::min_element(din.begin(), din.end()) - din.begin();
  torture::report("thrust_min_element",
                  least == std::min_element(in.begin(), in.end()) - in.begin());
  torture::report("thrust_count_if", thrust::count_if(din.begin(), din.end(), IsEven()) ==
                                       std::count_if(in.begin(), in.end(), IsEven()));
  return torture::finish();
}
