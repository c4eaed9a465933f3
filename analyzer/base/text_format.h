// SPDX-License-Identifier: Apache-2.0
// Numbers and error codes as a person reads them: the same wording in every detector and every
// output. Formatting is inline, so that outputs need nothing but this header; error_name() lives in
// text_format.cpp.
#pragma once

#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <iterator>
#include <string>
#include <string_view>

namespace gmt {

// One allocation for a whole sentence: cat({call, " of ", format_address(a)}).
inline std::string cat(std::initializer_list<std::string_view> parts) {
  std::size_t size = 0;
  for (const std::string_view part : parts) size += part.size();
  std::string text;
  text.reserve(size);
  for (const std::string_view part : parts) text.append(part);
  return text;
}

// 1234567 -> "1,234,567".
inline std::string format_count(std::uint64_t n) {
  std::string digits = std::to_string(n);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, 1, ',');
  return digits;
}

// "1 block", "16 blocks", "2 processes".
inline std::string format_plural(std::uint64_t n, std::string_view noun) {
  const std::string_view ending = noun.ends_with('s') ? "es" : "s";
  return cat({format_count(n), " ", noun, n == 1 ? "" : ending});
}

// "100 bytes", "1.0 MiB": one decimal, binary units; exact below 1 KiB.
inline std::string format_bytes(std::uint64_t bytes) {
  static constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return format_plural(bytes, "byte");
  double value = static_cast<double>(bytes) / 1024;
  unsigned unit = 0;
  while (value >= 1023.95 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %s", value, kUnits[unit]);
  return text;
}

// Every byte counts where one does: "1,025 bytes".
inline std::string format_exact_bytes(std::uint64_t bytes) { return format_plural(bytes, "byte"); }

// "59.0 us", "1.2 s": three digits or more.
inline std::string format_duration(double nanoseconds) {
  static constexpr const char* kUnits[] = {"ns", "us", "ms", "s"};
  unsigned unit = 0;
  while (nanoseconds >= 999.95 && unit + 1 < std::size(kUnits)) {
    nanoseconds /= 1000;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof text, "%.*f %s", unit == 0 || nanoseconds >= 99.95 ? 0 : 1,
                nanoseconds, kUnits[unit]);
  return text;
}

inline std::string format_address(std::uint64_t address) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address));
  return text;
}

// "CUDA_ERROR_INVALID_VALUE (1)"; with `runtime` "cudaErrorInvalidValue (1)"; "error 1234" if
// unknown.
std::string error_name(std::uint16_t code, bool runtime);

// A call by the name that programs write, for a symbol such as cuMemcpyHtoDAsync_v2_ptsz: the
// headers of CUDA put the suffixes there.
std::string_view as_written(std::string_view symbol);

// The program's own spelling says which of the two APIs it uses: cudaMalloc, but cuMemAlloc.
inline bool is_runtime_name(std::string_view call) {
  return call.starts_with("cuda") || call.starts_with("__cuda");
}

} // namespace gmt
