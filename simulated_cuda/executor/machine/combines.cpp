// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/executor/machine/combines.h"

#include "simulated_cuda/executor/program/bulk_form.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>

namespace gmt::executor {
namespace {

template <class T>
void store_as(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}
template <class T>
T loaded_as(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
template <class T>
void combine_add(std::byte* to, const std::byte* by) {
  store_as<T>(to, static_cast<T>(loaded_as<T>(to) + loaded_as<T>(by)));
}
template <class T>
void combine_min(std::byte* to, const std::byte* by) {
  store_as<T>(to, std::min(loaded_as<T>(to), loaded_as<T>(by)));
}
template <class T>
void combine_max(std::byte* to, const std::byte* by) {
  store_as<T>(to, std::max(loaded_as<T>(to), loaded_as<T>(by)));
}
template <class T>
void combine_and(std::byte* to, const std::byte* by) {
  store_as<T>(to, loaded_as<T>(to) & loaded_as<T>(by));
}
template <class T>
void combine_or(std::byte* to, const std::byte* by) {
  store_as<T>(to, loaded_as<T>(to) | loaded_as<T>(by));
}
template <class T>
void combine_xor(std::byte* to, const std::byte* by) {
  store_as<T>(to, loaded_as<T>(to) ^ loaded_as<T>(by));
}
void combine_inc(std::byte* to, const std::byte* by) {
  const auto old = loaded_as<std::uint32_t>(to);
  store_as<std::uint32_t>(to, old >= loaded_as<std::uint32_t>(by) ? 0 : old + 1);
}
void combine_dec(std::byte* to, const std::byte* by) {
  const auto old = loaded_as<std::uint32_t>(to), most = loaded_as<std::uint32_t>(by);
  store_as<std::uint32_t>(to, old == 0 || old > most ? most : old - 1);
}

// In the order of bulk_form::kCombines.
constexpr Combine kCombines[] = {{4, combine_add<std::uint32_t>},
                                 {4, combine_add<std::uint32_t>},
                                 {8, combine_add<std::uint64_t>},
                                 {8, combine_add<std::uint64_t>},
                                 {4, combine_add<float>},
                                 {8, combine_add<double>},
                                 {4, combine_min<std::uint32_t>},
                                 {4, combine_min<std::int32_t>},
                                 {8, combine_min<std::uint64_t>},
                                 {8, combine_min<std::int64_t>},
                                 {4, combine_max<std::uint32_t>},
                                 {4, combine_max<std::int32_t>},
                                 {8, combine_max<std::uint64_t>},
                                 {8, combine_max<std::int64_t>},
                                 {4, combine_and<std::uint32_t>},
                                 {8, combine_and<std::uint64_t>},
                                 {4, combine_or<std::uint32_t>},
                                 {8, combine_or<std::uint64_t>},
                                 {4, combine_xor<std::uint32_t>},
                                 {8, combine_xor<std::uint64_t>},
                                 {4, combine_inc},
                                 {4, combine_dec}};
static_assert(std::size(kCombines) == bulk_form::kCombines.size());

} // namespace

const Combine* combine_of(std::uint32_t number) {
  return number == 0 || number > std::size(kCombines) ? nullptr : kCombines + (number - 1);
}

const Combine* combine_named(std::string_view name) {
  const auto& all = bulk_form::kCombines;
  const auto found = std::ranges::find(all, name);
  return found == all.end() ? nullptr : kCombines + (found - all.begin());
}

} // namespace gmt::executor
