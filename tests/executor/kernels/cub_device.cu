// SPDX-License-Identifier: Apache-2.0
// CUB over the whole device: reduction, scan with look-back, selection, run lengths, histogram.
#include <algorithm>

#include <cub/cub.cuh>

#include "torture.h"

// Asks for the size of the temporary memory, then runs.
template <class F> void with_storage(F f) {
  std::size_t bytes = 0;
  OK(f(nullptr, bytes));
  torture::Array<unsigned char> storage(bytes);
  OK(f(storage.get(), bytes));
}

struct IsSmall {
  __host__ __device__ bool operator()(int x) const { return x < 300; }
};

int main() {
  const int n = 6000;
  const auto in = torture::numbers_below<int>(n, 1, 1000);
  torture::Array<int> din(in), out(n), one(1);

  with_storage(
    [&](void* p, std::size_t& b) { return cub::DeviceReduce::Sum(p, b, din.get(), one.get(), n); });
  int sum = 0;
  for (const int value : in) sum += value;
  torture::expect("device_sum", one, {sum});
  with_storage(
    [&](void* p, std::size_t& b) { return cub::DeviceReduce::Max(p, b, din.get(), one.get(), n); });
  torture::expect("device_max", one, {*std::max_element(in.begin(), in.end())});

  with_storage([&](void* p, std::size_t& b) {
    return cub::DeviceScan::ExclusiveSum(p, b, din.get(), out.get(), n);
  });
  std::vector<int> want(n);
  for (int i = 1; i < n; ++i) want[i] = want[i - 1] + in[i - 1];
  torture::expect("device_exclusive_sum", out, want);

  torture::Array<int> selected(n), count(1);
  with_storage([&](void* p, std::size_t& b) {
    return cub::DeviceSelect::If(p, b, din.get(), selected.get(), count.get(), n, IsSmall());
  });
  want.assign(n, 0);
  const auto kept = std::copy_if(in.begin(), in.end(), want.begin(), IsSmall()) - want.begin();
  torture::expect("device_select_if", selected, want);
  torture::expect("device_select_count", count, {static_cast<int>(kept)});

  std::vector<int> runs(n);
  for (int i = 0; i < n; ++i) runs[i] = in[i / 5] % 4;
  torture::Array<int> druns(runs), values(n), lengths(n), run_count(1);
  with_storage([&](void* p, std::size_t& b) {
    return cub::DeviceRunLengthEncode::Encode(p, b, druns.get(), values.get(), lengths.get(),
                                              run_count.get(), n);
  });
  std::vector<int> want_lengths(n);
  int at = -1;
  for (int i = 0; i < n; ++i) {
    if (i == 0 || runs[i] != runs[i - 1]) ++at;
    ++want_lengths[at];
  }
  torture::expect("device_run_lengths", lengths, want_lengths);

  torture::Array<int> bins(10);
  with_storage([&](void* p, std::size_t& b) {
    return cub::DeviceHistogram::HistogramEven(p, b, din.get(), bins.get(), 11, 0, 1000, n);
  });
  std::vector<int> want_bins(10);
  for (const int value : in) ++want_bins[value / 100];
  torture::expect("device_histogram", bins, want_bins);
  return torture::finish();
}
