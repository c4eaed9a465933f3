// SPDX-License-Identifier: Apache-2.0
// The one generic wrapper around every hooked call, and the rules for all code in this folder.
//
// This code runs inside a process that is not ours:
// 1. It never ends, stops or slows the host. On an internal failure it counts it, switches itself
//    off and forwards the call.
// 2. It holds no lock over a real CUDA call, and makes no CUDA call but pure queries that stream
//    capture allows. The exceptions are the rings of instrumented kernels (ring.h says how) and
//    what is asked of CUPTI (collector/windows/windows.h), which never waits for kernels.
// 3. It has no static constructor or destructor: constinit or raw storage, started lazily and
//    leaked at exit.
// 4. Hooks are noexcept, throw nothing, and allocate only on slow paths (the first event of a
//    thread, a new stack, growth), where signals are blocked. errno is preserved.
// 5. Thread-local state is initial-exec and trivial.
// 6. Output parameters are read only after success, unknown pointers are forwarded, and the real
//    result is returned.
// 7. It does not call the public dlsym (a lint greps for it), but real_dlsym() of real_dlsym.h.
// 8. After fork it writes to nothing of the parent's: a child makes its own trace at its first CUDA
//    call.
#pragma once

#include <string_view>
#include <type_traits>

#include "interposer/calls/call.h"
#include "interposer/calls/call_path.h"
#include "interposer/hooks/dlsym_hook.h"
#include "interposer/loader/look_ups.h"
#include "interposer/loader/real_dlsym.h"
#include "interposer/log/idle.h"
#include "interposer/log/record_range.h"
#include "interposer/recorders/allocations.h"
#include "interposer/recorders/arrays.h"
#include "interposer/recorders/batches.h"
#include "interposer/recorders/bindings.h"
#include "interposer/recorders/copies_and_launches.h"
#include "interposer/recorders/graphs.h"
#include "interposer/recorders/lives.h"
#include "interposer/recorders/orders.h"
#include "interposer/recorders/pools.h"
#include "interposer/recorders/runtime_recorders.h"

namespace gmt::interposer {

template <class Result> std::uint16_t result_code(const Result& r) {
  if constexpr (std::is_enum_v<Result> || std::is_integral_v<Result>) {
    return static_cast<std::uint16_t>(static_cast<unsigned>(r) & 0x7fff);
  } else {
    return 0;
  }
}

// What a row answers when the real function cannot be found: nothing is there to forward to.
template <class Result> Result not_found() {
  if constexpr (!std::is_void_v<Result>) {
    if constexpr (std::is_enum_v<Result>) {
      return static_cast<Result>(500); // CUDA_ERROR_NOT_FOUND, cudaErrorSymbolNotFound
    } else {
      return Result{};
    }
  }
}

// The per-thread-default-stream twins end in _ptds or _ptsz.
constexpr bool is_per_thread(std::string_view name) {
  return name.ends_with("_ptds") || name.ends_with("_ptsz");
}

// The NULL stream of a per-thread row is stream 2.
inline void mark_per_thread(Record& r) {
  constexpr std::uint64_t kPerThreadStream = 2; // CU_STREAM_PER_THREAD
  unsigned word = trace::CopyWord::stream;      // and that of the other kinds, but for those below
  static_assert(unsigned{trace::AllocWord::stream} == trace::CopyWord::stream &&
                unsigned{trace::SetWord::stream} == trace::CopyWord::stream &&
                unsigned{trace::UseWord::stream} == trace::CopyWord::stream);
  if (r.kind == Kind::kLaunch) {
    word = trace::LaunchWord::stream;
  } else if (r.kind == Kind::kSync) {
    word = trace::SyncWord::stream;
  } else if (r.kind == Kind::kFree) {
    word = trace::FreeWord::stream;
  } else if (r.kind == Kind::kLife || r.kind == Kind::kNote) {
    return;
  }
  if (r.w[word] == 0) r.set(word, kPerThreadStream);
}

// ---- driver rows

// Whether a recorder has an after() of its own: the record is as it was published if not.
template <class Rec, class Tuple>
inline constexpr bool kAddsMoreAfter =
  &Rec::template after<Tuple> != &Recorder::template after<Tuple>;

template <std::uint16_t Row, class Function, class RecorderOf> struct Entry;

template <std::uint16_t Row, class Result, class... Args,
          class Rec> struct Entry<Row, Result (*)(Args...), Rec> {
  using Real = Result (*)(Args...);
  static constexpr bool kPerThread = is_per_thread(trace::kApiNames[Row]);

  static Result call(Args... args) noexcept {
    const Real real = reinterpret_cast<Real>(driver_function_for_call(Row));
    if (real == nullptr) return not_found<Result>();
    if (waits_for_request()) [[unlikely]]
      return real(args...);
    Call call(Row, __builtin_return_address(0), __builtin_frame_address(0));
    constexpr Kind kFrequent = Rec::kFrequent;
    const bool begun = kFrequent != Kind::kNone ? call.begin_here(true) : call.begin(true);
    if (!begun) return reinterpret_cast<Real>(driver_own_function(Row))(args...);
    const Arguments<Args...> arguments{{args}...};
    const unsigned records = records_of<Rec>(arguments);
    fill_record<Rec>(call.record, arguments, 0);
    if constexpr (kPerThread) mark_per_thread(call.record);
    [[maybe_unused]] typename Rec::Around around;
    constexpr bool kAddsMore = kAddsMoreAfter<Rec, Arguments<Args...>>;
    if constexpr (kFrequent != Kind::kNone) {
      call.template publish_here<kFrequent>(records);
    } else {
      call.publish_in_flight(records);
    }
    const Result result = real(args...);
    if (result_code(result) == 0) Rec::after(call.record, arguments);
    if constexpr (kFrequent != Kind::kNone) {
      call.template complete_here<kFrequent>(result_code(result), kAddsMore);
    } else {
      call.complete(result_code(result), kAddsMore);
    }
    if constexpr (requires { Rec::request(arguments); }) {
      if (may_exceed_limits(result_code(result))) [[unlikely]]
        call.note_limits(Rec::request(arguments));
    }
    for (unsigned i = 1; i < records; ++i) {
      call.begin_member();
      fill_record<Rec>(call.record, arguments, i);
      if constexpr (kPerThread) mark_per_thread(call.record);
      if (result_code(result) == 0) Rec::after(call.record, arguments);
      call.add_member(i, result_code(result));
    }
    return result;
  }
};

// cuGetProcAddress: call the real one, then translate the pointer it answered.
template <std::uint16_t Row, class Result, class... Args, int Pointer>
struct Entry<Row, Result (*)(Args...), Route<Pointer>> {
  using Real = Result (*)(Args...);

  static Result call(Args... args) noexcept {
    const Real real = reinterpret_cast<Real>(driver_function_for_call(Row));
    if (real == nullptr) return not_found<Result>();
    Call call(Row, __builtin_return_address(0), __builtin_frame_address(0));
    note_look_up(argument<0>(Arguments<Args...>{{args}...}));
    if (!call.begin(false)) return reinterpret_cast<Real>(driver_own_function(Row))(args...);
    const Result result = real(args...);
    call.complete(result_code(result), false);
    if (result_code(result) != 0) return result;
    void** answer = argument<Pointer>(Arguments<Args...>{{args}...});
    if (answer != nullptr && *answer != nullptr) *answer = route_driver_pointer(*answer);
    return result;
  }
};

// What is not recorded: straight to the driver.
template <std::uint16_t Row, class Result, class... Args>
struct Entry<Row, Result (*)(Args...), Unrecorded> {
  using Real = Result (*)(Args...);

  static Result call(Args... args) noexcept {
    const Real real = reinterpret_cast<Real>(driver_function_for_call(Row));
    return real != nullptr ? real(args...) : not_found<Result>();
  }
};

// Heard also where the driver refuses it: before there is a context, or without one.
template <std::uint16_t Row, class Result, bool On>
struct Entry<Row, Result (*)(), ProfilerSwitch<On>> {
  using Real = Result (*)();

  static Result call() noexcept {
    profiler_was_switched(On);
    const Real real = reinterpret_cast<Real>(driver_function_for_call(Row));
    return real != nullptr ? real() : not_found<Result>();
  }
};

// ---- runtime rows

inline void* find_real(std::uint16_t row, void* caller, bool wrapped) noexcept {
  if (take_called_by_name()) return runtime_function_by_name(row);
  if (wrapped) return runtime_function_behind_wrapper(row);
  return runtime_function(row, caller);
}

template <std::uint16_t Row, class Function, class RecorderOf> struct RuntimeEntry;

template <std::uint16_t Row, class Result, class... Args, class Rec>
struct RuntimeEntry<Row, Result (*)(Args...), Rec> {
  using Real = Result (*)(Args...);

  static Result call(Args... args) noexcept {
    void* const caller = __builtin_return_address(0);
    RuntimeCall call(Row, __builtin_frame_address(0));
    const bool wrapped = any_runtime_wrapper.load(std::memory_order_relaxed) && call.is_repeated();
    const Real real = reinterpret_cast<Real>(find_real(Row, caller, wrapped));
    if (real == nullptr) return not_found<Result>();
    if (waits_for_request()) [[unlikely]]
      return real(args...);
    if constexpr (std::is_same_v<Rec, Registration>) {
      if (!Process::is_on()) return real(args...);
    }
    const Arguments<Args...> arguments{{args}...};
    Rec::before(call.record, arguments);
    call.enter();
    if constexpr (std::is_void_v<Result>) {
      real(args...);
      call.leave(0, caller);
    } else {
      const Result result = real(args...);
      if constexpr (requires { Rec::refused(call.record, arguments, caller); }) {
        if (call.is_refused(result_code(result))) [[unlikely]]
          Rec::refused(call.record, arguments, caller);
      }
      // An allocation of zero bytes reaches no driver: its address is NULL and there is nothing to
      // read.
      call.leave(result_code(result), caller);
      return result;
    }
  }
};

} // namespace gmt::interposer
