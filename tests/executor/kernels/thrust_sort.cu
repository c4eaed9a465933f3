// SPDX-License-Identifier: Apache-2.0
// Thrust: sorting of keys, pairs and structures.
#include <algorithm>

#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/host_vector.h>
#include <thrust/sort.h>

#include "torture.h"

struct Item {
  int group;
  int order;
};
struct ByGroup {
  __host__ __device__ bool operator()(const Item& a, const Item& b) const {
    return a.group < b.group;
  }
};

int main() {
  OK(cudaFree(nullptr)); // says what is wrong where there is no device: Thrust throws
  const std::size_t n = 3000;
  auto keys = torture::numbers<int>(n, 1);
  thrust::device_vector<int> dkeys(keys.begin(), keys.end());
  thrust::sort(dkeys.begin(), dkeys.end());
  std::sort(keys.begin(), keys.end());
  torture::report("thrust_sort",
                  std::equal(keys.begin(), keys.end(), thrust::host_vector<int>(dkeys).begin()));

  auto small = torture::numbers_below<int>(n, 2, 50);
  std::vector<int> order(n);
  for (std::size_t i = 0; i < n; ++i) order[i] = static_cast<int>(i);
  thrust::device_vector<int> dsmall(small.begin(), small.end()), dorder(order.begin(), order.end());
  thrust::stable_sort_by_key(dsmall.begin(), dsmall.end(), dorder.begin());
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return small[a] < small[b]; });
  torture::report("thrust_stable_sort_by_key",
                  std::equal(order.begin(), order.end(), thrust::host_vector<int>(dorder).begin()));

  std::vector<Item> items(n);
  for (std::size_t i = 0; i < n; ++i)
    items[i] = {static_cast<int>(torture::Random(i + 9).next() % 30), static_cast<int>(i)};
  thrust::device_vector<Item> ditems(items.begin(), items.end());
  thrust::stable_sort(ditems.begin(), ditems.end(), ByGroup()); // a merge sort
  std::stable_sort(items.begin(), items.end(), ByGroup());
  const thrust::host_vector<Item> got = ditems;
  bool good = true;
  for (std::size_t i = 0; i < n; ++i)
    good = good && got[i].group == items[i].group && got[i].order == items[i].order;
  torture::report("thrust_stable_sort_structures", good);
  return torture::finish();
}
