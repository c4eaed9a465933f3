// SPDX-License-Identifier: Apache-2.0
// Tells whether this thread has a core for itself. On a rented machine the core's other hardware
// thread may work for another machine; then all that this one does takes up to twice as long. No
// counter of the guest shows that, so a loop that keeps all units of the core busy is timed. One
// like it took 0.20 ms alone and 0.35 to 0.42 ms beside a busy neighbour (a Xeon of 2023).
#pragma once

#include <algorithm>
#include <chrono>

#include <sched.h>

class QuietCore {
public:
  QuietCore() {
    if (sched_getaffinity(0, sizeof allowed_, &allowed_) != 0) CPU_ZERO(&allowed_);
    for (int core = 0; core < CPU_SETSIZE; ++core) {
      if (!CPU_ISSET(core, &allowed_)) continue;
      move_to(core);
      for (int turn = 0; turn < 5; ++turn) fastest_ = std::min(fastest_, loop_seconds());
    }
    for (int tries = 0; tries < 3 * CPU_COUNT(&allowed_) && !quiet(); ++tries) move_on();
  }
  ~QuietCore() { sched_setaffinity(0, sizeof allowed_, &allowed_); }
  QuietCore(const QuietCore&) = delete;
  QuietCore& operator=(const QuietCore&) = delete;

  // True if the core is this thread's alone at this moment.
  bool quiet() {
    const double seconds = loop_seconds();
    fastest_ = std::min(fastest_, seconds);
    return seconds <= kNoise * fastest_;
  }

  // To the next core that the process may use.
  void move_on() {
    if (CPU_COUNT(&allowed_) == 0) return;
    int core = core_;
    do core = (core + 1) % CPU_SETSIZE;
    while (!CPU_ISSET(core, &allowed_));
    move_to(core);
  }

private:
  static constexpr double kNoise = 1.25; // alone the loop's time varies by a tenth

  void move_to(int core) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    if (sched_setaffinity(0, sizeof one, &one) == 0) core_ = core;
  }

  // Eight chains of additions that do not depend on each other.
  static double loop_seconds() {
    const auto begin = std::chrono::steady_clock::now();
    unsigned long a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0;
    for (int i = 0; i < 300'000; ++i) {
      ++a, ++b, ++c, ++d, ++e, ++f, ++g, ++h;
      asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g), "+r"(h));
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    return took.count();
  }

  cpu_set_t allowed_;
  int core_ = 0;
  double fastest_ = 1e9;
};
