// SPDX-License-Identifier: Apache-2.0
// The arguments of a hooked call, each with its type. std::tuple would do, but its constructors
// took more than half of the time to compile hooks/entries.cpp: nearly each row has a list of its
// own.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace gmt::interposer {

template <std::size_t I, class T> struct Argument {
  T value;
};

template <class Positions, class... Args> struct ArgumentList;
template <std::size_t... I, class... Args>
struct ArgumentList<std::index_sequence<I...>, Args...> : Argument<I, Args>... {
  static constexpr std::size_t kCount = sizeof...(Args);
};

// Made of a call's arguments by Arguments<Args...>{{args}...}.
template <class... Args> using Arguments = ArgumentList<std::index_sequence_for<Args...>, Args...>;

// The I-th argument. A position that the call does not have does not compile.
template <std::size_t I, class T> const T& argument(const Argument<I, T>& of_call) {
  return of_call.value;
}

template <std::size_t I, class List>
using ArgumentType = std::remove_cvref_t<decltype(argument<I>(std::declval<const List&>()))>;

} // namespace gmt::interposer
