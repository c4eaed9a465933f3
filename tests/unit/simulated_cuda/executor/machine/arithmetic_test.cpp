// SPDX-License-Identifier: Apache-2.0
// Forms of arithmetic over edge values and random ones, against what the host computes.
#include "tests/unit/simulated_cuda/executor/support/kernel_runner.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <random>

namespace gmt::executor {
namespace {

__extension__ using Wide128 = __int128;
__extension__ using UnsignedWide128 = unsigned __int128;

template <class T>
std::vector<T> edges() {
  std::vector<T> values;
  if constexpr (std::is_floating_point_v<T>) {
    using L = std::numeric_limits<T>;
    values = {T{0},
              -T{0},
              T{1},
              T{-1},
              T{0.5},
              T{1.5},
              T{-2.5},
              L::max(),
              L::lowest(),
              L::min(),
              L::denorm_min(),
              -L::denorm_min(),
              L::min() / 3,
              L::infinity(),
              -L::infinity(),
              L::quiet_NaN(),
              T{3.0e9},
              T{-3.0e9},
              T{255.5},
              static_cast<T>(0.001),
              T{65519},
              T{65520}};
  } else {
    using L = std::numeric_limits<T>;
    values = {T{0},
              T{1},
              T{2},
              T{7},
              static_cast<T>(-1),
              static_cast<T>(-2),
              L::max(),
              L::min(),
              static_cast<T>(L::max() - 1),
              static_cast<T>(L::max() / 3),
              T{31},
              T{32},
              T{33}};
  }
  std::mt19937_64 random(7);
  while (values.size() < 32) {
    const std::uint64_t bits = random();
    T value;
    std::memcpy(&value, &bits, sizeof value);
    values.push_back(value);
  }
  return values;
}

template <class T>
std::string type_of() {
  const std::string bits = std::to_string(8 * sizeof(T));
  if constexpr (std::is_floating_point_v<T>) return "f" + bits;
  return (std::is_signed_v<T> ? "s" : "u") + bits;
}

class Arithmetic : public KernelRunner {
protected:
  // d = instruction(a, b, c) for each triple of edge values; all operands of their own type.
  template <class D, class A, class B, class C>
  void check(const std::string& instruction, int operands, std::function<D(A, B, C)> expected) {
    SCOPED_TRACE(instruction);
    std::vector<A> a;
    std::vector<B> b;
    std::vector<C> c;
    for (const A x : edges<A>()) {
      for (const B y : edges<B>()) {
        a.push_back(x);
        b.push_back(operands >= 2 ? y : B{});
        c.push_back(edges<C>()[(a.size() * 5 + a.size() / 32) % 32]);
      }
    }
    std::string text = ".visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param "
                       ".u64 pd) {\n.reg .b32 %r<8>; .reg .b64 %x<20>;\n";
    const auto reg = [&](const std::string& name, const std::string& type, std::size_t bytes) {
      text += ".reg ." + (bytes < 2 ? std::string("b16") : "b" + std::to_string(bytes * 8)) + " %" +
              name + ";\n";
      static_cast<void>(type);
    };
    reg("va", type_of<A>(), sizeof(A));
    reg("vb", type_of<B>(), sizeof(B));
    reg("vc", type_of<C>(), sizeof(C));
    reg("vd", type_of<D>(), sizeof(D));
    text += "mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mad.lo.u32 %r2, %r1, 128, %r0;\n";
    const auto load = [&](int n, const std::string& name, const std::string& type,
                          std::size_t bytes) {
      const std::string x = std::to_string(n), y = std::to_string(n + 1);
      text += "ld.param.u64 %x" + x + ", [p" + name.substr(1) + "]; mad.wide.u32 %x" + y +
              ", %r2, " + std::to_string(bytes) + ", %x" + x + ";\n";
      if (name != "vd") text += "ld.global." + type + " %" + name + ", [%x" + y + "];\n";
    };
    load(0, "va", type_of<A>(), sizeof(A));
    load(2, "vb", type_of<B>(), sizeof(B));
    load(4, "vc", type_of<C>(), sizeof(C));
    load(6, "vd", type_of<D>(), sizeof(D));
    text += instruction + " %vd, %va";
    if (operands >= 2) text += ", %vb";
    if (operands >= 3) text += ", %vc";
    text += ";\nst.global." + type_of<D>() + " [%x7], %vd;\nret; }\n";
    load_text(text);
    const std::uint64_t pa = put(a), pb = put(b), pc = put(c);
    const std::uint64_t pd = allocate(a.size() * sizeof(D));
    const Outcome outcome =
      run({static_cast<std::uint32_t>(a.size() / 128)}, {128}, {pa, pb, pc, pd});
    ASSERT_EQ(outcome.end, End::kDone) << outcome.reason;
    expect_no_reports();
    const std::vector<D> d = get<D>(pd, a.size());
    using Bytes = std::array<std::byte, sizeof(D)>;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const D want = expected(a[i], b[i], c[i]);
      if (std::bit_cast<Bytes>(want) == std::bit_cast<Bytes>(d[i])) continue;
      if constexpr (std::is_floating_point_v<D>) {
        if (std::isnan(want) && std::isnan(d[i])) continue;
      }
      FAIL() << +a[i] << " " << +b[i] << " " << +c[i] << ": " << +d[i] << ", not " << +want;
    }
  }
  void load_text(const std::string& text) { load(text); }

  template <class T>
  void check2(const std::string& instruction, std::function<T(T, T)> f) {
    check<T, T, T, T>(instruction + "." + type_of<T>(), 2, [&](T a, T b, T) { return f(a, b); });
  }
  template <class T>
  void check3(const std::string& instruction, std::function<T(T, T, T)> f) {
    check<T, T, T, T>(instruction + "." + type_of<T>(), 3, f);
  }
};

template <class T>
T wrapped(Wide128 v) {
  return static_cast<T>(static_cast<UnsignedWide128>(v));
}

template <class T>
class Integers : public Arithmetic {};
using IntegerTypes = testing::Types<std::uint16_t, std::int16_t, std::uint32_t, std::int32_t,
                                    std::uint64_t, std::int64_t>;
TYPED_TEST_SUITE(Integers, IntegerTypes);

TYPED_TEST(Integers, SumsProductsAndOrder) {
  using T = TypeParam;
  using W = std::conditional_t<std::is_signed_v<T>, Wide128, UnsignedWide128>;
  this->template check2<T>("add", [](T a, T b) { return wrapped<T>(Wide128{a} + b); });
  this->template check2<T>("sub", [](T a, T b) { return wrapped<T>(Wide128{a} - b); });
  this->template check2<T>("mul.lo", [](T a, T b) { return static_cast<T>(W{a} * W{b}); });
  this->template check2<T>(
    "mul.hi", [](T a, T b) { return static_cast<T>((W{a} * W{b}) >> (8 * sizeof(T))); });
  this->template check2<T>("min", [](T a, T b) { return std::min(a, b); });
  this->template check2<T>("max", [](T a, T b) { return std::max(a, b); });
  this->template check3<T>("mad.lo", [](T a, T b, T c) { return static_cast<T>(W{a} * W{b} + c); });
}

TYPED_TEST(Integers, DivisionNeverStopsTheProcess) {
  using T = TypeParam;
  this->template check2<T>("div", [](T a, T b) {
    if (b == 0) return static_cast<T>(~T{0});
    return static_cast<T>(Wide128{a} / b);
  });
  this->template check2<T>("rem", [](T a, T b) {
    if (b == 0) return static_cast<T>(~T{0});
    return static_cast<T>(Wide128{a} % b);
  });
}

TYPED_TEST(Integers, ShiftsClamp) {
  using T = TypeParam;
  const std::string bits = std::to_string(8 * sizeof(T));
  this->template check<T, T, std::uint32_t, T>("shl.b" + bits, 2, [](T a, std::uint32_t b, T) {
    return b >= 8 * sizeof(T) ? T{0} : static_cast<T>(static_cast<std::uint64_t>(a) << b);
  });
  this->template check<T, T, std::uint32_t, T>("shr." + type_of<T>(), 2,
                                               [](T a, std::uint32_t b, T) {
                                                 const std::uint32_t most = 8 * sizeof(T) - 1;
                                                 if (b > most)
                                                   return static_cast<T>(a < 0 ? -1 : 0);
                                                 return static_cast<T>(a >> b);
                                               });
}

TEST_F(Arithmetic, SingleWithFlushAndSaturation) {
  const auto flush = [](float v) {
    return std::fpclassify(v) == FP_SUBNORMAL ? std::copysign(0.0f, v) : v;
  };
  check2<float>("add", [](float a, float b) { return a + b; });
  check2<float>("mul", [](float a, float b) { return a * b; });
  check2<float>("div.rn", [](float a, float b) { return a / b; });
  check3<float>("fma.rn", [](float a, float b, float c) { return std::fma(a, b, c); });
  check2<float>("add.ftz", [&](float a, float b) { return flush(flush(a) + flush(b)); });
  check2<float>("mul.ftz.sat", [&](float a, float b) {
    const float v = flush(flush(a) * flush(b));
    return v > 0.0f ? std::min(v, 1.0f) : 0.0f; // also of NaN and -0
  });
  check<float, float, float, float>("sqrt.rn.f32", 1,
                                    [](float a, float, float) { return std::sqrt(a); });
}

TEST_F(Arithmetic, DirectedRoundingBracketsTheExactResult) {
  const auto down = [](double exact, float near) {
    return near > exact ? std::nextafterf(near, -INFINITY) : near;
  };
  check<float, double, float, float>("cvt.rm.f32.f64", 1, [&](double a, float, float) {
    if (std::isnan(a)) return std::nanf("");
    return down(a, static_cast<float>(a));
  });
  check2<float>("mul.rm", [&](float a, float b) {
    const double exact = double{a} * double{b};
    if (std::isnan(exact)) return std::nanf("");
    return down(exact, static_cast<float>(exact));
  });
  check2<float>("mul.rz", [](float a, float b) {
    const double exact = double{a} * double{b};
    if (std::isnan(exact)) return std::nanf("");
    const auto near = static_cast<float>(exact);
    return std::fabs(double{near}) > std::fabs(exact) ? std::nextafterf(near, 0) : near;
  });
}

TEST_F(Arithmetic, Doubles) {
  check2<double>("add", [](double a, double b) { return a + b; });
  check2<double>("mul", [](double a, double b) { return a * b; });
  check2<double>("div.rn", [](double a, double b) { return a / b; });
  check3<double>("fma.rn", [](double a, double b, double c) { return std::fma(a, b, c); });
}

TEST_F(Arithmetic, ConversionsToIntegersClamp) {
  check<std::int32_t, float, float, float>("cvt.rzi.s32.f32", 1, [](float a, float, float) {
    if (std::isnan(a)) return 0;
    if (a >= 2147483648.0f) return std::numeric_limits<std::int32_t>::max();
    if (a < -2147483648.0f) return std::numeric_limits<std::int32_t>::min();
    return static_cast<std::int32_t>(a);
  });
  check<std::uint8_t, float, float, float>("cvt.rni.u8.f32", 1, [](float a, float, float) {
    if (std::isnan(a) || a <= 0) return std::uint8_t{0};
    return static_cast<std::uint8_t>(std::min(std::nearbyint(a), 255.0f));
  });
  check<std::int64_t, double, float, float>("cvt.rmi.s64.f64", 1, [](double a, float, float) {
    if (std::isnan(a) || a < -0x1p63) return std::numeric_limits<std::int64_t>::min();
    if (a >= 0x1p63) return std::numeric_limits<std::int64_t>::max();
    return static_cast<std::int64_t>(std::floor(a));
  });
  check<std::int16_t, std::int64_t, float, float>(
    "cvt.sat.s16.s64", 1, [](std::int64_t a, float, float) {
      return static_cast<std::int16_t>(
        std::min<std::int64_t>(std::max<std::int64_t>(a, -32768), 32767));
    });
  check<float, std::uint64_t, float, float>(
    "cvt.rn.f32.u64", 1, [](std::uint64_t a, float, float) { return static_cast<float>(a); });
}

} // namespace
} // namespace gmt::executor
