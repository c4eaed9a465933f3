// SPDX-License-Identifier: Apache-2.0
// Names of CUDA's error codes. A table of our own, since the command builds without CUDA; numbers
// are the same in driver and runtime for all that the two share (driver_types.h: "corresponds to
// CUresult").

#include "analyzer/base/text_format.h"

#include <algorithm>
#include <iterator>

namespace gmt {
namespace {

struct ErrorName {
  std::uint16_t code;
  const char* driver;
  const char* runtime;
};

constexpr ErrorName kErrors[] = {
#define ERROR_BOTH(number, driver_name, runtime_name, text) {number, #driver_name, #runtime_name},
#define ERROR_DRIVER(number, name, text) {number, #name, nullptr},
#define ERROR_RUNTIME(number, name, text) {number, nullptr, #name},
#include "trace/cuda_results.def"
#undef ERROR_BOTH
#undef ERROR_DRIVER
#undef ERROR_RUNTIME
};

constexpr bool out_of_order(const ErrorName& a, const ErrorName& b) { return a.code >= b.code; }
static_assert(std::adjacent_find(std::begin(kErrors), std::end(kErrors), out_of_order) ==
                std::end(kErrors),
              "error_name() searches by halves");

} // namespace

std::string error_name(std::uint16_t code, bool runtime) {
  const auto* found =
    std::lower_bound(std::begin(kErrors), std::end(kErrors), code,
                     [](const ErrorName& e, std::uint16_t c) { return e.code < c; });
  const bool known = found != std::end(kErrors) && found->code == code;
  const char* name = nullptr;
  if (known) name = runtime ? found->runtime : found->driver;
  if (name == nullptr) return cat({"error ", std::to_string(code)});
  return cat({name, " (", std::to_string(code), ")"});
}

std::string_view as_written(std::string_view symbol) {
  for (const std::string_view suffix : {"_ptsz", "_ptds"})
    if (symbol.ends_with(suffix)) symbol.remove_suffix(suffix.size());
  const std::size_t last = symbol.find_last_not_of("0123456789");
  const bool versioned =
    last != symbol.npos && last + 1 < symbol.size() && symbol.substr(0, last + 1).ends_with("_v");
  return versioned ? symbol.substr(0, last - 1) : symbol;
}

} // namespace gmt
