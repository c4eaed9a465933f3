// SPDX-License-Identifier: Apache-2.0
// Algorithms of libraries and of science: what an H100 gave, bit by bit.
#include "algorithms.h"

#include "science_tests.h"
#include "textured.h"

#include <algorithm>

namespace algorithms {

template <class T, class F> void test_reduction(const char* name) {
  if (!torture::is_wanted(name)) return;
  const torture::Array<T> in(torture::operands<T>(16 * 1000, 51));
  torture::Array<T> out(16);
  reduce_rows<T, F><<<16, 128>>>(in, out, 1000);
  torture::compare(name, out);
}

template <class T> void test_turn(const char* name) {
  if (!torture::is_wanted(name)) return;
  const torture::Array<T> in(torture::operands<T>(70 * 45, 52));
  torture::Array<T> out(70 * 45);
  turn<T><<<dim3(3, 2), dim3(32, 8)>>>(in, out, 70, 45);
  torture::compare(name, out);
}

void test_sums() {
  test_reduction<float, Plus>("reduction.sum f32");
  test_reduction<double, Plus>("reduction.sum f64");
  test_reduction<int, Most>("reduction.most s32");
  test_reduction<float, Most>("reduction.most f32");
  test_reduction<u64, Xor>("reduction.xor u64");
  const torture::Array<float> floats(torture::operands<float>(16 * 1000, 53));
  torture::Array<float> parts(32), sum(1);
  torture::Array<u32> done(1);
  last_block<<<20, 256>>>(floats, parts, sum, done, 16000);
  torture::compare("reduction.last block", sum);
  torture::Array<float2> both(16);
  moments<<<16, 32>>>(floats, both, 1000);
  torture::compare("reduction.moments", both);
  torture::Array<int> indices(16);
  largest_index<<<16, 128>>>(floats, indices, 1000);
  torture::compare("reduction.place of the largest", indices);
}

void test_orders() {
  const torture::Array<u32> words(torture::operands<u32>(4096, 54));
  const torture::Array<u8> bytes(torture::operands<u8>(4096, 55));
  torture::Array<u32> out(4096), next(1);
  torture::Array<u64> states(32);
  look_back<<<32, 128>>>(words, out, states, next);
  torture::compare("scan.looks back", out);
  const int* numbers = reinterpret_cast<const int*>(words.get());
  torture::Array<int> sums(4096), counts(16);
  segmented_scan<<<16, 256>>>(numbers, bytes, sums);
  torture::compare("scan.segments", sums);
  torture::Array<u32> keys(torture::numbers_below<u32>(4096, 56, 500)),
    values(torture::operands<u32>(4096, 57));
  bitonic<<<8, 256>>>(keys, values);
  torture::compare("sort.bitonic, keys", keys);
  torture::compare("sort.bitonic, values", values);
  radix_pass<<<16, 256>>>(words, out, 0);
  for (int shift = 4; shift < 32; shift += 8) {
    radix_pass<<<16, 256>>>(out, keys, shift);
    radix_pass<<<16, 256>>>(keys, out, (shift + 4) % 32);
  }
  torture::compare("sort.radix", out);
  auto sorted = torture::numbers_below<u32>(4096, 58, 9000);
  std::sort(sorted.begin(), sorted.begin() + 2048);
  std::sort(sorted.begin() + 2048, sorted.end());
  const torture::Array<u32> halves(sorted);
  merge_path<<<8, 128>>>(halves, halves + 2048, out, 2048);
  torture::compare("sort.merge", out);
  torture::Array<u32> bins(256);
  histogram<<<4, 256>>>(bytes, bins, 4096);
  torture::compare("histogram", bins);
  torture::Array<int> kept(4096);
  compact<<<16, 256>>>(numbers, kept, counts);
  torture::compare("compact", kept);
  torture::compare("compact, counts", counts);
}

struct Matrix {
  std::vector<int> starts{0}, columns, rows;
};
Matrix random_matrix(int rows, int columns) {
  torture::Random random(59);
  Matrix m;
  for (int row = 0; row < rows; ++row) {
    const int count = row % 17 == 0 ? 0 : static_cast<int>(random.next() >> 40) % 21;
    for (int i = 0; i < count; ++i) {
      m.columns.push_back(static_cast<int>(random.next() >> 33) % columns);
      m.rows.push_back(row);
    }
    m.starts.push_back(static_cast<int>(m.columns.size()));
  }
  return m;
}

void test_sparse() {
  constexpr int kRows = 256;
  const Matrix m = random_matrix(kRows, kRows);
  const std::size_t count = m.columns.size();
  const torture::Array<int> starts(m.starts), columns(m.columns), rows(m.rows);
  const torture::Array<float> values(torture::operands<float>(count, 60)),
    x(torture::operands<float>(kRows, 61)), a(torture::operands<float>(kRows * 64, 62)),
    b(torture::operands<float>(kRows * 64, 63));
  const Csr csr{starts, columns, values};
  torture::Array<float> y(kRows), z(kRows), product(kRows * 64), sampled(count);
  csr_thread<<<2, 128>>>(csr, x, y);
  torture::compare("sparse.by threads", y);
  csr_tile<<<16, 128>>>(csr, x, z);
  torture::compare("sparse.by tiles", z);
  csr_matrix<<<kRows, 64>>>(csr, b, product, 64);
  torture::compare("sparse.by a matrix", product);
  sampled_product<<<kRows, 128>>>(csr, a, b, sampled, 64);
  torture::compare("sparse.sampled product", sampled);
  const torture::Array<int> integers(torture::numbers_below<int>(kRows, 64, 1000));
  torture::Array<int> sums(kRows);
  coordinates<<<(static_cast<int>(count) + 127) / 128, 128>>>(rows, csr, integers, sums,
                                                              static_cast<int>(count));
  torture::compare("sparse.coordinates", sums);
  const torture::Array<u32> keys(torture::numbers_below<u32>(512, 65, 700));
  torture::Array<u32> table(1024), counts(1024), found(512);
  hash_insert<<<4, 128>>>(keys, table, counts, 1024);
  hash_find<<<4, 128>>>(keys, table, counts, found, 1024);
  torture::compare("hash table", found);
  std::vector<int> from_first(kRows, -1);
  from_first[1] = 0;
  torture::Array<int> level(from_first), more(1);
  for (int now = 0; now < 40; ++now) {
    OK(cudaMemset(more, 0, sizeof(int)));
    breadth_first<<<2, 128>>>(csr, level, now, more);
    if (more.host()[0] == 0) break;
  }
  torture::compare("breadth first", level);
}

void test() {
  test_turn<u8>("turned.8 bits");
  test_turn<float>("turned.32 bits");
  test_turn<u64>("turned.64 bits");
  test_sums();
  test_orders();
  test_sparse();
}

} // namespace algorithms

int main(int count, char** arguments) {
  return torture::run(count, arguments, {algorithms::test, science::test, textured::test});
}
