// SPDX-License-Identifier: Apache-2.0
// Thrust: transformations, reductions and scans, also by key.
#include <numeric>

#include <thrust/device_vector.h>
#include <thrust/functional.h>
#include <thrust/host_vector.h>
#include <thrust/inner_product.h>
#include <thrust/iterator/constant_iterator.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/transform.h>
#include <thrust/transform_reduce.h>

#include "torture.h"

struct Square {
  __host__ __device__ long long operator()(int x) const { return static_cast<long long>(x) * x; }
};

int main() {
  OK(cudaFree(nullptr)); // says what is wrong where there is no device: Thrust throws
  const int n = 5000;
  const auto in = torture::numbers_below<int>(n, 1, 1000);
  const thrust::device_vector<int> din(in.begin(), in.end());
  thrust::device_vector<int> out(n);
  std::vector<int> want(n);

  thrust::exclusive_scan(din.begin(), din.end(), out.begin(), 5);
  int sum = 5;
  for (int i = 0; i < n; ++i) {
    want[i] = sum;
    sum += in[i];
  }
  torture::report("thrust_exclusive_scan", thrust::host_vector<int>(out) ==
                                             thrust::host_vector<int>(want.begin(), want.end()));

  thrust::inclusive_scan(din.begin(), din.end(), out.begin(), thrust::maximum<int>());
  for (int i = 0; i < n; ++i) want[i] = i == 0 || in[i] > want[i - 1] ? in[i] : want[i - 1];
  torture::report("thrust_inclusive_scan_maximum",
                  thrust::host_vector<int>(out) ==
                    thrust::host_vector<int>(want.begin(), want.end()));

  torture::report("thrust_reduce", thrust::reduce(din.begin(), din.end()) ==
                                     std::accumulate(in.begin(), in.end(), 0));
  long long squares = 0;
  for (const int value : in) squares += static_cast<long long>(value) * value;
  torture::report("thrust_transform_reduce",
                  thrust::transform_reduce(din.begin(), din.end(), Square(), 0ll,
                                           thrust::plus<long long>()) == squares);

  thrust::transform(din.begin(), din.end(), thrust::counting_iterator<int>(0), out.begin(),
                    thrust::multiplies<int>());
  for (int i = 0; i < n; ++i) want[i] = in[i] * i;
  torture::report("thrust_transform", thrust::host_vector<int>(out) ==
                                        thrust::host_vector<int>(want.begin(), want.end()));

  thrust::device_vector<int> keys(n), unique_keys(n), sums(n);
  thrust::transform(thrust::counting_iterator<int>(0), thrust::counting_iterator<int>(n),
                    thrust::make_constant_iterator(7), keys.begin(), thrust::divides<int>());
  const auto ends =
    thrust::reduce_by_key(keys.begin(), keys.end(), din.begin(), unique_keys.begin(), sums.begin());
  std::vector<int> groups(static_cast<std::size_t>((n + 6) / 7));
  for (int i = 0; i < n; ++i) groups[static_cast<std::size_t>(i / 7)] += in[i];
  sums.resize(static_cast<std::size_t>(ends.second - sums.begin()));
  torture::report("thrust_reduce_by_key", thrust::host_vector<int>(sums) ==
                                            thrust::host_vector<int>(groups.begin(), groups.end()));
  return torture::finish();
}
