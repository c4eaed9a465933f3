// SPDX-License-Identifier: Apache-2.0
// Every form of mma and wmma gives on the executor, bit by bit, what an H100 gave: on both levels
// of x86-64, for operands of several spreads. What wmma.load puts where is as an H100 has it, too.
#include "simulated_cuda/executor/machine/handlers/forms.h"
#include "tests/executor/matrices/operands.h"
#include "tests/unit/simulated_cuda/executor/forms/chosen_level.h"
#include "tests/unit/simulated_cuda/executor/support/kernel_runner.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <span>
#include <sstream>

namespace gmt::executor {
namespace {

constexpr std::uint32_t kCases = 10;

// A line of the recording: the form, behind "/" the selector of a sparse one, registers of 32 bits
// of each operand, and a fingerprint of D for each case.
struct Recorded {
  std::string name;
  std::uint32_t a = 0, b = 0, c = 0, d = 0;
  std::uint64_t results[kCases] = {};

  std::string mnemonic() const { return name.substr(0, name.find('/')); }
  bool is_sparse() const { return name.find('/') != std::string::npos; }
  // Types of D, A, B and C
  std::vector<std::string> types() const {
    std::vector<std::string> found;
    std::istringstream words(mnemonic());
    for (std::string word; std::getline(words, word, '.');) {
      const bool is_number = matrices::format_of(word).exponent != 0;
      static constexpr std::string_view kIntegers[] = {"s32", "s8", "u8", "s4", "u4", "b1"};
      if (is_number || std::ranges::find(kIntegers, word) != std::end(kIntegers))
        found.push_back(word);
    }
    return found;
  }
};

std::vector<Recorded> recorded_products(const char* name, const char* of) {
  std::vector<Recorded> all;
  std::ifstream file(std::string(GMT_RECORDED_MATRICES) + name);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(of)) continue;
    std::istringstream words(line);
    Recorded each;
    words >> each.name >> each.a >> each.b >> each.c >> each.d >> std::hex;
    for (std::uint64_t& result : each.results) words >> result;
    EXPECT_TRUE(words) << line;
    all.push_back(each);
  }
  return all;
}

// Registers of a fragment of wmma in the text, and their type.
struct Fragment {
  char name;
  std::string shape, type;

  bool is_factor() const { return name == 'a' || name == 'b'; }
  std::uint32_t registers() const {
    if (type == "f64") return is_factor() ? 1 : 2;
    if (shape.starts_with("m8n8")) return is_factor() ? 1 : 2;
    if (!is_factor()) return type == "f16" ? 4 : 8;
    if (type == "f16") return 8;
    const std::uint32_t square = type == "bf16" || type == "tf32" ? 4 : 2;
    if (shape.starts_with("m16")) return square;
    return (name == 'a') == shape.starts_with("m32") ? 2 * square : square / 2;
  }
  std::string register_type() const {
    return type == "f64" ? "f64" : type == "f32" ? "f32" : "b32";
  }
  std::string list() const {
    std::string text = "{";
    for (std::uint32_t i = 0; i < registers(); ++i)
      text += (i == 0 ? "%" : ", %") + std::string(1, name) + std::to_string(i);
    return text + "}";
  }
  std::string declaration() const {
    return ".reg ." + register_type() + " %" + name + "<" + std::to_string(registers()) + ">;\n";
  }
};

// Words of a name behind another one.
std::vector<std::string> words_behind(const std::string& name, std::string_view begin) {
  std::istringstream words(name.substr(name.find(begin)));
  std::vector<std::string> all;
  for (std::string word; std::getline(words, word, '.');) all.push_back(word);
  return all;
}

// A block is a warp and a case: D is stored by rows, as A, B and C lie side by side in memory.
std::string fragment_kernel_of(const Recorded& form, std::vector<std::string>* types) {
  const std::vector<std::string> words = words_behind(form.name, "aligned."); // layouts, shape,
                                                                              // types
  std::vector<std::string> of(words.begin() + 4, words.end());
  std::erase_if(of, [](const std::string& word) { return word == "satfinite"; });
  if (of.size() == 2) of = {of[0], "f16", "f16", of[1]};
  *types = of;
  const std::string& shape = words[3];
  const Fragment a{'a', shape, of[1]}, b{'b', shape, of[2]}, c{'c', shape, of[3]},
    d{'d', shape, of[0]};
  std::ostringstream text;
  text << ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d) {\n"
          ".reg .b32 %t; .reg .b64 %o, %x; mov.u32 %t, %ctaid.x;\n"
       << a.declaration() << b.declaration() << c.declaration() << d.declaration();
  const auto address = [&](char name, std::uint32_t count) {
    text << "ld.param.u64 %x, [" << name << "]; mul.wide.u32 %o, %t, " << 128 * count
         << "; add.u64 %x, %x, %o;\n";
  };
  const auto load = [&](const Fragment& part, const std::string& layout, std::uint32_t count) {
    address(part.name, count);
    text << "wmma.load." << part.name << ".sync.aligned." << layout << "." << shape << ".global."
         << part.type << " " << part.list() << ", [%x];\n";
  };
  load(a, words[1], form.a);
  load(b, words[2], form.b);
  load(c, "row", form.c);
  text << form.name << " " << d.list() << ", " << a.list() << ", " << b.list() << ", " << c.list()
       << ";\n";
  address('d', form.d);
  text << "wmma.store.d.sync.aligned.row." << shape << ".global." << d.type << " [%x], " << d.list()
       << ";\nret; }\n";
  return text.str();
}

// A block is a warp and a matrix of which the lowest bits of the elements are one bit of their
// index.
std::string load_kernel_of(const std::string& name, const Fragment& part, std::uint32_t bytes) {
  std::ostringstream text;
  text << ".visible .entry k(.param .u64 a, .param .u64 d) {\n"
          ".reg .b32 %t, %l; .reg .b64 %o, %x; mov.u32 %t, %ctaid.x; mov.u32 %l, %tid.x;\n"
       << part.declaration() << "ld.param.u64 %x, [a]; mul.wide.u32 %o, %t, " << bytes
       << "; add.u64 %x, %x, %o;\n"
       << name << " " << part.list() << ", [%x];\n";
  const std::uint32_t each = part.type == "f64" ? 256 : 128;
  text << "ld.param.u64 %x, [d]; mul.wide.u32 %o, %t, " << part.registers() * each
       << "; add.u64 %x, %x, %o; mul.wide.u32 %o, %l, " << each / 32 << "; add.u64 %x, %x, %o;\n";
  for (std::uint32_t i = 0; i < part.registers(); ++i)
    text << "st.global." << part.register_type() << " [%x+" << i * each << "], %" << part.name << i
         << ";\n";
  text << "ret; }\n";
  return text.str();
}

// A block is a warp and a case.
std::string kernel_of(const Recorded& form) {
  const std::uint32_t words = form.types().front() == "f64" ? 2 : 1;
  const char* const type = words == 2 ? ".f64" : ".b32";
  std::ostringstream text;
  text << ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 e,\n"
          ".param .u64 d) {\n.reg .b32 %e, %t, %l; .reg .b64 %o, %x;\n"
          "mov.u32 %t, %ctaid.x; mov.u32 %l, %tid.x;\n";
  const auto registers = [&](char name, std::uint32_t count) {
    std::string list = "{";
    for (std::uint32_t i = 0; i < count / words; ++i)
      list += (i == 0 ? "%" : ", %") + std::string(1, name) + std::to_string(i);
    return list + "}";
  };
  const auto address = [&](char name, std::uint32_t count) {
    text << ".reg " << type << " %" << name << "<" << count / words << ">;\n"
         << "ld.param.u64 %x, [" << name << "]; mul.wide.u32 %o, %t, " << 128 * count
         << "; add.u64 %x, %x, %o; mul.wide.u32 %o, %l, " << 4 * words << "; add.u64 %x, %x, %o;\n";
  };
  const auto each = [&](std::uint32_t count, const auto& move) {
    for (std::uint32_t i = 0; i < count / words; ++i) move(i, 128 * words * i);
  };
  const auto load = [&](char name, std::uint32_t count) {
    address(name, count);
    each(count, [&](std::uint32_t i, std::uint32_t at) {
      text << "ld.global" << type << " %" << name << i << ", [%x+" << at << "];\n";
    });
  };
  load('a', form.a);
  load('b', form.b);
  load('c', form.c);
  if (form.is_sparse())
    text << "ld.param.u64 %x, [e]; shl.b32 %e, %t, 5; add.u32 %e, %e, %l;\n"
            "mul.wide.u32 %o, %e, 4; add.u64 %x, %x, %o; ld.global.b32 %e, [%x];\n";
  address('d', form.d);
  text << form.mnemonic() << " " << registers('d', form.d) << ", " << registers('a', form.a) << ", "
       << registers('b', form.b) << ", " << registers('c', form.c);
  if (form.is_sparse()) text << ", %e, " << form.name.back();
  text << ";\n";
  each(form.d, [&](std::uint32_t i, std::uint32_t at) {
    text << "st.global" << type << " [%x+" << at << "], %d" << i << ";\n";
  });
  text << "ret; }\n";
  return text.str();
}

class RecordedProducts : public KernelRunner, public testing::WithParamInterface<int> {
protected:
  void SetUp() override {
    if (forms_of_level(GetParam()) == nullptr) GTEST_SKIP() << "this processor lacks AVX2";
    choose_level(GetParam());
  }
  void TearDown() override { choose_level(3); }

  // Operands of all cases, with the types of A, B and C.
  struct Operands {
    std::vector<std::uint32_t> a, b, c, e;
  };
  static Operands operands_of(const Recorded& form, const std::vector<std::string>& types) {
    Operands all;
    for (std::uint32_t i = 0; i < kCases; ++i) {
      matrices::Random random(form.name, i);
      const auto spread =
        static_cast<matrices::Spread>(i % static_cast<std::uint32_t>(matrices::Spread::kSpreads));
      const auto add = [&](std::vector<std::uint32_t>& to, std::uint32_t count,
                           const std::string& type, bool is_accumulator) {
        to.resize(to.size() + std::size_t{count} * kLanes);
        matrices::fill(std::span(to).last(std::size_t{count} * kLanes), type, spread,
                       is_accumulator, random);
      };
      add(all.a, form.a, types[1], false);
      add(all.b, form.b, types[2], false);
      add(all.c, form.c, types[3], true);
      for (std::uint32_t l = 0; l < kLanes; ++l)
        all.e.push_back(form.is_sparse() ? matrices::metadata_of(types[1] == "tf32", random) : 0);
    }
    return all;
  }
  void check(const Recorded& form, const std::vector<std::uint64_t>& parameters) {
    const Outcome outcome = run({kCases}, {kLanes}, parameters);
    ASSERT_EQ(outcome.end, End::kDone) << form.name << ": " << outcome.reason;
    const std::size_t each = std::size_t{form.d} * kLanes;
    const auto results = get<std::uint32_t>(parameters.back(), kCases * each);
    for (std::uint32_t i = 0; i < kCases; ++i)
      EXPECT_EQ(matrices::fingerprint(std::span(results).subspan(i * each, each)), form.results[i])
        << form.name << ", case " << i;
  }
  std::uint64_t room(std::size_t words) { return allocate(words * 4); }
};

TEST_P(RecordedProducts, OfMma) {
  const std::vector<Recorded> all = recorded_products("h100.products", "mma");
  EXPECT_GE(all.size(), 80u);
  for (const Recorded& form : all) {
    ASSERT_EQ(form.types().size(), 4u) << form.name;
    load(kernel_of(form));
    const Operands of = operands_of(form, form.types());
    check(form, {put(of.a), put(of.b), put(of.c), put(of.e), room(kCases * form.d * kLanes)});
  }
  expect_no_reports();
}

TEST_P(RecordedProducts, OfWmma) {
  const std::vector<Recorded> all = recorded_products("h100.wmma", "wmma.mma");
  EXPECT_GE(all.size(), 30u);
  for (const Recorded& form : all) {
    std::vector<std::string> types;
    load(fragment_kernel_of(form, &types));
    const Operands of = operands_of(form, types);
    check(form, {put(of.a), put(of.b), put(of.c), room(kCases * form.d * kLanes)});
  }
  expect_no_reports();
}

TEST_P(RecordedProducts, LiveInFragmentsOfTheGpu) {
  constexpr std::uint32_t kPlanes = 11; // bits of the index; of the last all elements are 1
  std::ifstream file(std::string(GMT_RECORDED_MATRICES) + "h100.wmma");
  std::size_t count = 0;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("wmma.load")) continue;
    std::istringstream words(line);
    std::string name;
    std::uint32_t elements = 0, registers = 0;
    std::uint64_t expected = 0;
    words >> name >> elements >> registers >> std::hex >> expected;
    const std::vector<std::string> of = words_behind(name, "load."); // which, sync, aligned, ...
    const Fragment part{of[1][0], of[5], of[7]};
    static const std::map<std::string, std::uint32_t> kBits = {
      {"b1", 1}, {"s4", 4},   {"u4", 4},    {"s8", 8},
      {"u8", 8}, {"f16", 16}, {"bf16", 16}, {"f64", 64}};
    const auto known = kBits.find(part.type);
    const std::uint32_t bits = known == kBits.end() ? 32 : known->second;
    std::vector<std::uint8_t> in(std::size_t{kPlanes} * elements * bits / 8);
    for (std::uint32_t plane = 0; plane < kPlanes; ++plane) {
      for (std::uint32_t e = 0; e < elements; ++e) {
        if (plane != 10 && (e >> plane & 1) == 0) continue;
        const std::uint32_t bit = (plane * elements + e) * bits;
        in[bit / 8] = static_cast<std::uint8_t>(in[bit / 8] | 1u << bit % 8);
      }
    }
    load(load_kernel_of(name, part, elements * bits / 8));
    const std::uint64_t out = room(std::size_t{kPlanes} * registers * kLanes);
    const Outcome outcome = run({kPlanes}, {kLanes}, {put(in), out});
    ASSERT_EQ(outcome.end, End::kDone) << name << ": " << outcome.reason;
    EXPECT_EQ(matrices::fingerprint(get<std::uint32_t>(out, kPlanes * registers * kLanes)),
              expected)
      << name;
    ++count;
  }
  EXPECT_GE(count, 80u);
  expect_no_reports();
}

INSTANTIATE_TEST_SUITE_P(Levels, RecordedProducts, testing::Values(2, 3));

} // namespace
} // namespace gmt::executor
