// SPDX-License-Identifier: Apache-2.0
// The unit of tail_calls_target.cpp's library that the other one calls.
namespace target {

using Callback = void (*)(int);
void record(Callback callback, int way);
extern volatile int sink;

[[gnu::noinline]] void in_other_unit(Callback callback, int way) {
  sink = sink + 12;
  record(callback, way);
}

} // namespace target
