// SPDX-License-Identifier: Apache-2.0
// Runs the kernels of science.h.
#pragma once

#include "science.h"

namespace science {

template <class In, class Out, class K, class... More>
void test_one(const char* name, K kernel, dim3 grid, dim3 block, std::size_t in,
              std::size_t out_count, More... more) {
  if (!torture::is_wanted(name)) return;
  const torture::Array<float> given(torture::operands<float>(in * sizeof(In) / sizeof(float), 71));
  torture::Array<Out> out(out_count);
  kernel<<<grid, block>>>(reinterpret_cast<const In*>(given.get()), out.get(), more...);
  torture::compare(name, out);
}
template <class In, class Out, class K, class... More>
void test_words(const char* name, K kernel, dim3 grid, dim3 block, std::size_t in,
                std::size_t out_count, More... more) {
  if (!torture::is_wanted(name)) return;
  const torture::Array<In> given(torture::operands<In>(in, 72));
  torture::Array<Out> out(out_count);
  kernel<<<grid, block>>>(given.get(), out.get(), more...);
  torture::compare(name, out);
}

inline void test_transforms() {
  std::vector<float2> twiddles(128);
  std::vector<u32> powers(128);
  u64 root = 1, power = 1; // 31 is a generator; its 15 * 2^19th power has order 256
  for (int i = 0; i < 15 << 19; ++i) root = root * 31 % kPrime;
  for (int i = 0; i < 128; ++i) {
    twiddles[i] = make_float2(static_cast<float>(std::cos(-2 * 3.141592653589793 * i / 256)),
                              static_cast<float>(std::sin(-2 * 3.141592653589793 * i / 256)));
    powers[i] = static_cast<u32>(power);
    power = power * root % kPrime;
  }
  const torture::Array<float2> given_twiddles(twiddles);
  const torture::Array<u32> given_powers(powers);
  test_one<float2, float2>("transform.fourier", fourier, 4, 128, 1024, 1024, given_twiddles.get());
  test_words<u32, u32>("transform.numbers", number_transform, 4, 128, 1024, 1024,
                       given_powers.get());
}

inline void test_stencils() {
  test_one<float, float>("stencil.heat f32", heat<float>, dim3(3, 6), dim3(32, 8), 96 * 48, 96 * 48,
                         96, 48);
  test_words<double, double>("stencil.heat f64", heat<double>, dim3(3, 6), dim3(32, 8), 96 * 48,
                             96 * 48, 96, 48);
  test_one<float, float>("stencil.heat in three dimensions", heat_3d, dim3(2, 2), dim3(16, 16),
                         32 * 32 * 32, 32 * 32 * 32, 32);
  if (torture::is_wanted("stencil.red, black")) {
    torture::Array<float> u(torture::operands<float>(64 * 64, 73));
    const torture::Array<float> f(torture::operands<float>(64 * 64, 74));
    red_black<<<1, 256>>>(u, f, 64);
    torture::compare("stencil.red, black", u);
  }
}

inline void test_pictures() {
  const auto weights = torture::operands<float>(17, 75);
  OK(cudaMemcpyToSymbol(kernel_17, weights.data(), sizeof kernel_17));
  test_one<float, float>("filter.rows", filter_17<true>, dim3(3, 6), dim3(32, 8), 96 * 48, 96 * 48,
                         96, 48);
  test_one<float, float>("filter.columns", filter_17<false>, dim3(3, 6), dim3(32, 8), 96 * 48,
                         96 * 48, 96, 48);
  test_words<u8, u8>("filter.median", median, 40, 64, 64 * 40, 64 * 40, 64, 40);
  test_one<uchar4, u32>("filter.edges", edges, 40, 64, 64 * 40, 64 * 40, 64, 40);
  if (torture::is_wanted("nearest centre")) {
    const torture::Array<float> points(torture::operands<float>(1024 * 4, 76)),
      centres(torture::operands<float>(11 * 4, 77));
    torture::Array<u8> out(1024);
    torture::Array<int> counts(16);
    nearest_centre<<<8, 128>>>(reinterpret_cast<const float4*>(points.get()),
                               reinterpret_cast<const float4*>(centres.get()), out, counts, 11);
    torture::compare("nearest centre", out);
    torture::compare("nearest centre, counts", counts);
  }
}

inline void test_words_and_games() {
  test_words<u32, u32>("digest", digest, 2, 64, 128 * 16, 128 * 8);
  test_words<u32, u32>("cipher", cipher, 2, 64, 16, 128 * 16);
  test_words<u8, u32>("checksums", checksums, 1, 256, 256 * 40, 256, 40);
  test_words<u64, u64>("life", life, 2, 64, 128, 128, 128);
  torture::Array<uint4> numbers(256);
  philox<<<2, 128>>>(numbers);
  torture::compare("philox", numbers);
  torture::Array<u16> picture(64 * 64);
  mandelbrot<float><<<64, 64>>>(picture, 64);
  torture::compare("mandelbrot f32", picture);
  mandelbrot<double><<<64, 64>>>(picture, 64);
  torture::compare("mandelbrot f64", picture);
  const torture::Array<u8> a(torture::operands<u8>(3 * 128, 78)),
    b(torture::operands<u8>(3 * 200, 79));
  torture::Array<int> best(3);
  alignment<<<3, 128>>>(a, b, best, 200);
  torture::compare("alignment", best);
  torture::Array<int> lengths(torture::numbers_below<int>(48 * 48, 80, 1000));
  shortest_paths<<<1, 256>>>(lengths, 48);
  torture::compare("shortest paths", lengths);
}

inline void test() {
  test_transforms();
  test_stencils();
  test_one<float, float>("factors.LU f32", factorize<float>, 3, 32, 3 * 1024, 3 * 1024);
  test_words<double, double>("factors.LU f64", factorize<double>, 2, 32, 2 * 1024, 2 * 1024);
  test_one<float, float>("factors.cholesky", cholesky, 3, dim3(32, 32), 3 * 1024, 3 * 1024);
  test_one<float, float>("factors.orthogonal", orthogonal, 3, 32, 3 * 512, 3 * 512);
  test_one<float4, float4>("bodies", bodies, 4, 64, 256, 256, 256);
  test_pictures();
  test_words_and_games();
  test_words<double, double>("options", options, 4, 64, 256, 256);
  test_one<float, float4>("waves", waves, 4, 64, 256, 256);
}

} // namespace science
