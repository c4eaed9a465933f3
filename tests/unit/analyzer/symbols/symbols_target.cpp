// SPDX-License-Identifier: Apache-2.0
// What the symbols test resolves: always compiled with -g -O2, as a library of its own. The marks
// at line ends are looked up in this file by the test. Each function hands its caller's address to
// the test.
namespace target {

using Callback = void (*)(void*);
volatile int sink = 0;

// Not inlined, so that the return address it reports lies in what was inlined around the call.
[[gnu::noinline]] void report(Callback callback) {
  callback(__builtin_return_address(0));
  sink = sink + 1;
}

template <typename T> [[gnu::always_inline]] inline void inner(Callback callback, T value) {
  sink = sink + static_cast<int>(value);
  report(callback); // @inner
  sink = sink + 2;
}

[[gnu::always_inline]] static inline void middle(Callback callback) {
  inner<long>(callback, 3); // @middle
  sink = sink + 3;
}

struct Model {
  [[gnu::noinline]] void outer(Callback callback, int times) const {
    for (int i = 0; i < times; ++i) middle(callback); // @outer
    sink = sink + 4;
  }
};

namespace {
[[gnu::noinline]] void hidden(Callback callback, int times) {
  report(callback); // @hidden
  sink = sink + times;
}
} // namespace

} // namespace target

extern "C" [[gnu::visibility("default")]] void gmt_symbols_target(target::Callback callback) {
  target::Model().outer(callback, 1);
  target::hidden(callback, target::sink);
  target::report(callback); // @plain
  target::sink = target::sink + 5;
}
