// SPDX-License-Identifier: Apache-2.0
// What the tail calls test resolves: always compiled with -g -O2, as a library of its own. Each way
// to the callback is taken in turn, and the callback is given its number. "noipa" keeps a function
// as it is written; where it is missing, the compiler may make clones.
namespace target {

using Callback = void (*)(int);
volatile int sink = 0;

[[gnu::noinline]] void record(Callback callback, int way) {
  callback(way);
  sink = sink + 1;
}

[[gnu::noinline, gnu::noipa]] void direct(Callback callback, int way) {
  sink = sink + 2;
  record(callback, way);
}

[[gnu::noinline, gnu::noipa]] void chain(Callback callback, int way) {
  sink = sink + 3;
  direct(callback, way);
}

[[gnu::noinline, gnu::noipa]] void plain(Callback callback, int way) {
  record(callback, way);
  sink = sink + 4;
}

// Makes a tail call, but not on this way.
[[gnu::noinline, gnu::noipa]] void either(Callback callback, int way, bool plainly) {
  if (plainly) {
    record(callback, way);
    sink = sink + 5;
    return;
  }
  direct(callback, way);
}

// Goes out of the library at once.
[[gnu::noinline, gnu::noipa]] void leave(Callback callback, int way) {
  sink = sink + 6;
  callback(way);
}

// Its only caller lets the compiler make a clone for the one value.
[[gnu::noinline]] static void cloned(Callback callback, int way, int times) {
  for (int i = 0; i < times; ++i) sink = sink + i;
  if (sink == -1) return direct(callback, way);
  record(callback, way);
  sink = sink + 7;
}

struct Model {
  [[gnu::noinline]] Model(Callback callback, int way, bool plainly) {
    if (plainly) {
      record(callback, way);
      sink = sink + 8;
      return;
    }
    direct(callback, way);
  }
};

struct Base {
  virtual ~Base() = default;
  virtual void go(Callback callback, int way) = 0;
};
struct Derived : Base {
  [[gnu::noipa]] void go(Callback callback, int way) override { direct(callback, way); }
};

// Inlined with its call site: the frame that is missing is the inlined one's callee.
[[gnu::always_inline]] inline void inlined(Callback callback, int way) {
  direct(callback, way);
  sink = sink + 9;
}

// As nvcc makes of a kernel: the function of its name, and the stub that launches it.
[[gnu::noinline, gnu::noipa]] static void __device_stub__kernel(Callback callback, int way) {
  callback(way);
  sink = sink + 10;
}
[[gnu::noinline, gnu::noipa]] void kernel(Callback callback, int way) {
  __device_stub__kernel(callback, way);
}

void in_other_unit(Callback callback, int way);
void (*volatile pointer)(Callback, int) = &direct;
Base* volatile object = nullptr;

} // namespace target

extern "C" [[gnu::visibility("default")]] void gmt_tail_calls_target(target::Callback callback) {
  using namespace target;
  Derived derived;
  object = &derived;
  direct(callback, 0);
  chain(callback, 1);
  plain(callback, 2);
  either(callback, 3, true);
  either(callback, 4, false);
  leave(callback, 5);
  cloned(callback, 6, 3);
  Model(callback, 7, true);
  Model(callback, 8, false);
  object->go(callback, 9);
  pointer(callback, 10);
  inlined(callback, 11);
  in_other_unit(callback, 12);
  kernel(callback, 13);
  sink = sink + 11;
}
