// SPDX-License-Identifier: Apache-2.0
// Random kernels without structure: branches to any block, tables, calls, guards and exits. Each
// thread has memory of its own, so what it computes hangs on nothing that others do.
#pragma once

#include <functional>
#include <iterator>
#include <random>
#include <string>

namespace gmt::executor {

inline constexpr unsigned kRandomWords = 16; // of a thread's own memory

class RandomKernel {
public:
  // With `input_bytes`, threads read memory of so many bytes that nothing writes, and behind it.
  explicit RandomKernel(unsigned seed, unsigned input_bytes = 0)
      : random_(seed), input_bytes_(input_bytes) {}

  // Kernel k. Parameters: memory of the threads; the number of the first; how many blocks each may
  // enter; the input.
  std::string text() {
    functions_ = below(4);
    std::string all;
    for (unsigned i = functions_; i-- > 0;) all += function(i);
    reads_input_ = true;
    return all +
           ".visible .entry k(.param .u64 base, .param .u64 first, .param .u64 fuel,\n"
           ".param .u64 input) {\n" +
           registers() +
           "ld.param.u64 %d8, [input]; ld.param.u64 %d0, [base]; ld.param.u32 %r0, [first]; ld.param.u32 %r1, [fuel];\n"
           "mov.u32 %r10, %tid.x; add.u32 %r0, %r0, %r10; mul.wide.u32 %d1, %r0, 64;\n"
           "add.u64 %d1, %d1, %d0; mul.lo.u32 %r2, %r0, 2654435761; mov.u32 %r4, %r0;\n" +
           begin() + blocks("k", functions_ == 0 ? 0 : functions_) + "k_end:\n" + results() +
           "ret; }\n";
  }

private:
  unsigned below(unsigned limit) { return static_cast<unsigned>(random_() % limit); }
  std::string r() { return "%r" + std::to_string(2 + below(8)); }
  std::string p() { return "%p" + std::to_string(1 + below(4)); }
  std::string d() { return "%d" + std::to_string(2 + below(4)); }
  std::string h() { return "%h" + std::to_string(below(4)); }
  std::string f() { return "%f" + std::to_string(below(4)); }
  std::string guard() { return std::string("@") + (below(2) == 0 ? "!" : "") + p() + " "; }

  static std::string registers() {
    return ".reg .b32 %r<13>; .reg .b64 %d<9>; .reg .f32 %f<4>; .reg .pred %p<6>;\n"
           ".reg .b16 %h<4>; .local .align 8 .b8 own[64];\n";
  }
  static std::string begin() {
    std::string all = "shr.u32 %r3, %r2, 13; add.u32 %r5, %r4, 1; xor.b32 %r6, %r2, %r3;\n"
                      "mov.u32 %r7, 9; mov.u32 %r8, %r4; mov.u32 %r9, 77;\n"
                      "mov.u64 %d2, 3; mov.u64 %d3, 1; mov.u64 %d4, 2; mov.u64 %d5, 9;\n";
    for (unsigned i = 0; i < 4; ++i) {
      const std::string n = std::to_string(i);
      all += "mov.f32 %f" + n + ", 0f3f800000; mov.b16 %h" + n + ", " + n + "; setp.eq.u32 %p" +
             std::to_string(i + 1) + ", %r" + std::to_string(i + 2) + ", 1;\n";
    }
    for (unsigned i = 0; i < 16; ++i)
      all += "st.local.u32 [own+" + std::to_string(4 * i) + "], " + std::to_string(i) + ";";
    return all + "\n";
  }
  static std::string results() {
    std::string all = "cvt.u32.u64 %r10, %d3; st.global.u32 [%d1+32], %r10;\n";
    for (unsigned i = 2; i < 9; ++i)
      all += "st.global.u32 [%d1+" + std::to_string(28 + 4 * i) + "], %r" + std::to_string(i) + ";";
    return all + "\n";
  }

  // Memory of the thread alone: its local array, or the first half of its words.
  std::string access() {
    const bool local = below(2) == 0;
    const std::string address =
      "and.b32 %r10, " + r() + (local ? ", 60;" : ", 28;") + " cvt.u64.u32 %d6, %r10;" +
      (local ? " mov.u64 %d7, own; add.u64 %d6, %d6, %d7; " : " add.u64 %d6, %d6, %d1; ");
    const std::string space = local ? "local" : "global";
    if (below(2) == 0) return address + "ld." + space + ".u32 " + r() + ", [%d6];";
    return address + "st." + space + ".u32 [%d6], " + r() + ";";
  }

  // One element, or some at equal distances.
  std::string input() {
    const unsigned at = below(2) == 0 ? input_bytes_ / 4 : input_bytes_ / 2;
    const std::string begin =
      "rem.u32 %r10, " + r() + ", " + std::to_string(at) + "; mad.wide.u32 %d6, %r10, 4, %d8; ";
    if (below(2) == 0) return begin + "ld.global.u32 " + r() + ", [%d6];";
    const std::string loop = "loop_" + std::to_string(loops_++), value = r();
    const std::string stride = std::to_string(4 * (1 + below(20)));
    return begin + "and.b32 %r11, " + r() + ", 15; mov.u32 %r12, 0;\n" + loop +
           ": ld.global.u32 %r10, [%d6+" + std::to_string(4 * below(3)) + "]; add.u32 " + value +
           ", " + value + ", %r10; add.u64 %d6, %d6, " + stride + "; add.u32 %r12, %r12, 1;" +
           " setp.lt.u32 %p0, %r12, %r11; @%p0 bra " + loop + ";";
  }

  std::string operation() {
    const std::function<std::string()> kKinds[] = {
      [&] { return "add.u32 " + r() + ", " + r() + ", " + r() + ";"; },
      [&] { return "mad.lo.u32 " + r() + ", " + r() + ", " + r() + ", " + r() + ";"; },
      [&] { return "xor.b32 " + r() + ", " + r() + ", " + r() + ";"; },
      [&] { return "shf.l.wrap.b32 " + r() + ", " + r() + ", " + r() + ", " + r() + ";"; },
      [&] { return "mad.wide.u32 " + d() + ", " + r() + ", " + r() + ", " + d() + ";"; },
      [&] { return "cvt.u32.u64 " + r() + ", " + d() + ";"; },
      [&] { return "rem.u32 " + r() + ", " + r() + ", 7;"; },
      [&] { return "setp.lt.u32 " + p() + ", " + r() + ", " + r() + ";"; },
      [&] { return "setp.ge.s32 " + p() + ", " + r() + ", 5;"; },
      [&] { return "and.pred " + p() + ", " + p() + ", " + p() + ";"; },
      [&] { return "not.pred " + p() + ", " + p() + ";"; },
      [&] { return "selp.b32 " + r() + ", " + r() + ", " + r() + ", " + p() + ";"; },
      [&] { return "cvt.u16.u32 " + h() + ", " + r() + ";"; },
      [&] { return "mul.wide.s16 " + r() + ", " + h() + ", " + h() + ";"; },
      [&] { return "cvt.rn.f32.u32 " + f() + ", " + r() + ";"; },
      [&] { return "fma.rn.f32 " + f() + ", " + f() + ", " + f() + ", " + f() + ";"; },
      [&] { return "setp.lt.f32 " + p() + ", " + f() + ", " + f() + ";"; },
      [&] { return "mov.b32 " + r() + ", " + f() + ";"; },
    };
    if (below(6) == 0) return access();
    if (input_bytes_ != 0 && reads_input_ && below(4) == 0) return input();
    const std::string made = kKinds[below(std::size(kKinds))]();
    return below(4) == 0 ? guard() + made : made;
  }

  std::string call(unsigned which) {
    return "{ .param .b32 a; .param .b32 b; .param .b64 c; .param .b32 v;\n"
           "st.param.b32 [a], " +
           r() + "; st.param.b32 [b], %r1; st.param.b64 [c], %d1;\n" + "call (v), f" +
           std::to_string(which) + ", (a, b, c); ld.param.b32 " + r() + ", [v]; }\n";
  }

  // Each block takes one of %r1, so that all paths end. `callable`: functions before that one.
  std::string blocks(const std::string& name, unsigned callable) {
    const unsigned count = 4 + below(10);
    const auto any = [&] { return name + "_" + std::to_string(below(count)); };
    std::string all;
    for (unsigned i = 0; i < count; ++i) {
      const std::string number = std::to_string(i);
      all += name + "_" + number + ": sub.u32 %r1, %r1, 1; setp.lt.s32 %p0, %r1, 0; @%p0 bra " +
             name + "_end;\n";
      for (unsigned k = 1 + below(5); k > 0; --k) all += operation() + "\n";
      if (callable != 0 && below(4) == 0) all += call(below(callable));
      const unsigned end = below(20);
      if (end < 9) {
        all += guard() + "bra " + any() + ";\n";
      } else if (end < 12) {
        all += "rem.u32 %r10, " + r() + ", 3; " + name + "_t" + number + ": .branchtargets " +
               any() + ", " + any() + ", " + any() + "; brx.idx %r10, " + name + "_t" + number +
               ";\n";
      } else if (end < 14) {
        all += "bra " + any() + ";\n";
      } else if (end < 15 && name == "k") {
        all += "and.b32 %r10, %r2, 31; setp.eq.u32 %p5, %r10, 9; @%p5 exit;\n";
      }
    }
    return all;
  }

  std::string function(unsigned number) {
    const std::string name = "f" + std::to_string(number);
    return ".func (.param .b32 v) " + name + "(.param .b32 a, .param .b32 b, .param .b64 c) {\n" +
           registers() +
           "ld.param.b32 %r2, [a]; ld.param.b32 %r1, [b]; ld.param.b64 %d1, [c];\n"
           "shr.u32 %r1, %r1, 1; mov.u32 %r4, %r2;\n" +
           begin() + blocks(name + "b", 0) + name + "b_end: xor.b32 %r2, %r2, %r5;\n" +
           "st.param.b32 [v], %r2; ret; }\n";
  }

  std::mt19937 random_;
  unsigned input_bytes_, functions_ = 0, loops_ = 0;
  bool reads_input_ = false; // not in functions, which do not have it
};

} // namespace gmt::executor
