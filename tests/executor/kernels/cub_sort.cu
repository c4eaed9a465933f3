// SPDX-License-Identifier: Apache-2.0
// CUB: radix sort of a whole array by one sweep, of pairs, and of segments.
#include <algorithm>

#include <cub/cub.cuh>

#include "torture.h"

template <class F> void with_storage(F f) {
  std::size_t bytes = 0;
  OK(f(nullptr, bytes));
  torture::Array<unsigned char> storage(bytes);
  OK(f(storage.get(), bytes));
}

int main() {
  const int n = 20000;
  auto keys = torture::numbers<unsigned>(n, 1);
  torture::Array<unsigned> dkeys(keys), sorted(n);
  with_storage([&](void* p, std::size_t& b) {
    return cub::DeviceRadixSort::SortKeys(p, b, dkeys.get(), sorted.get(), n);
  });
  std::sort(keys.begin(), keys.end());
  torture::expect("device_sort_keys", sorted, keys);

  const int m = 5000;
  auto doubles = torture::numbers<double>(m, 2);
  std::vector<int> order(m);
  for (int i = 0; i < m; ++i) order[i] = i;
  torture::Array<double> ddoubles(doubles), dsorted(m);
  torture::Array<int> dorder(order), moved(m);
  with_storage([&](void* p, std::size_t& b) {
    return cub::DeviceRadixSort::SortPairsDescending(p, b, ddoubles.get(), dsorted.get(),
                                                     dorder.get(), moved.get(), m);
  });
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return doubles[a] > doubles[b]; });
  torture::expect("device_sort_pairs_descending", moved, order);

  auto words = torture::numbers<int>(3000, 3);
  std::vector<int> offsets = {0, 10, 10, 500, 1700, 3000};
  torture::Array<int> dwords(words), out(3000), doffsets(offsets);
  with_storage([&](void* p, std::size_t& b) {
    return cub::DeviceSegmentedSort::SortKeys(p, b, dwords.get(), out.get(), 3000, 5,
                                              doffsets.get(), doffsets.get() + 1);
  });
  for (int s = 0; s < 5; ++s) std::sort(words.begin() + offsets[s], words.begin() + offsets[s + 1]);
  torture::expect("device_segmented_sort", out, words);
  return torture::finish();
}
