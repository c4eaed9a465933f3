// SPDX-License-Identifier: Apache-2.0
// Results of kernels as one number each, compared with what an H100 gave (h100.results). With
// `record` as the program's argument the numbers are printed as lines of that file.
#pragma once

#include "../kernels/torture.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <initializer_list>
#include <map>
#include <string>
#include <utility>

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

namespace torture {

const std::map<std::string, u64> known_results = {
#define RECORDED(name, number) {name, number##ull},
#include "h100.results"
#undef RECORDED
};

inline bool recording = false;
inline std::string selected;
inline std::FILE* raw_results = nullptr;

inline void compare(const std::string& name, const void* bytes, std::size_t size) {
  u64 number = 0xcbf29ce484222325ull;
  for (std::size_t i = 0; i < size; ++i)
    number = (number ^ static_cast<const u8*>(bytes)[i]) * 0x100000001b3ull;
  if (raw_results != nullptr) {
    std::fprintf(raw_results, "%s %zu\n", name.c_str(), size);
    std::fwrite(bytes, 1, size, raw_results);
  }
  if (recording) {
    std::printf("RECORDED(\"%s\", 0x%016llx)\n", name.c_str(),
                static_cast<unsigned long long>(number));
    return;
  }
  const auto known = known_results.find(name);
  report(name.c_str(), known != known_results.end() && known->second == number);
}

template <class T> void compare(const std::string& name, const Array<T>& got) {
  const std::vector<T> values = got.host();
  compare(name, values.data(), values.size() * sizeof(T));
}

// Names that begin with what the program's argument says.
inline bool is_wanted(const std::string& name) {
  return name.compare(0, selected.size(), selected) == 0;
}

// Integers of any bits, or floats of all their digits from 2^-7 to 4.
template <class T> std::vector<T> operands(std::size_t count, u64 seed) {
  Random random(seed);
  std::vector<T> values(count);
  for (T& value : values) {
    if constexpr (std::is_integral_v<T>) {
      value = static_cast<T>(random.next() >> 24);
    } else {
      const u64 bits = random.next();
      const double magnitude = std::ldexp(1 + random.unit(), static_cast<int>(bits % 9) - 7);
      value = static_cast<T>((bits >> 20 & 1) != 0 ? -magnitude : magnitude);
    }
  }
  return values;
}

// Arguments: [record] [RAW-FILE] [FIRST-LETTERS-OF-A-NAME]
inline int run(int count, char** arguments, std::initializer_list<void (*)()> tests) {
  if (count > 2 && std::strcmp(arguments[1], "record") == 0) {
    recording = true;
    raw_results = std::fopen(arguments[2], "w");
  }
  const int name = recording ? 3 : 1;
  if (count > name) selected = arguments[name];
  for (void (*test)() : tests) test();
  if (raw_results != nullptr) std::fclose(raw_results);
  return finish();
}

// Launches with attributes: clusters, and as much shared memory as is asked for.
template <class... P, class... A>
void launch(void (*kernel)(P...), dim3 grid, dim3 block, std::size_t shared, unsigned cluster,
            A... arguments) {
  OK(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                          cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)));
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared;
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = cluster;
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  OK(cudaLaunchKernelEx(&config, kernel, static_cast<P>(arguments)...));
}

} // namespace torture

__device__ inline u32 shared_address(const void* p) {
  return static_cast<u32>(__cvta_generic_to_shared(p));
}

// 2^x for x from -126 to 0, the same bits on every machine: ex2.approx is not.
__device__ inline float exact_exp2(float x) {
  x = fmaxf(x, -126.f);
  const float whole = rintf(x), f = x - whole;
  float p = 1.5403530e-4f;
  p = fmaf(p, f, 1.3333558e-3f);
  p = fmaf(p, f, 9.6181291e-3f);
  p = fmaf(p, f, 5.5504109e-2f);
  p = fmaf(p, f, 2.4022651e-1f);
  p = fmaf(p, f, 6.9314718e-1f);
  p = fmaf(p, f, 1.f);
  return p * __int_as_float((static_cast<int>(whole) + 127) << 23);
}
