// SPDX-License-Identifier: Apache-2.0
// Forms of wgmma.mma_async give, bit by bit, what an H100 gave: of all types, from registers and by
// descriptors of shared memory with each way of mixing rows.
#include "simulated_cuda/executor/machine/handlers/forms.h"
#include "tests/executor/matrices/operands.h"
#include "tests/unit/simulated_cuda/executor/forms/chosen_level.h"
#include "tests/unit/simulated_cuda/executor/support/kernel_runner.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <span>
#include <sstream>

namespace gmt::executor {
namespace {

constexpr std::uint32_t kThreads = 128, kImageWords = 4096; // of A or B in shared memory

// A matrix in shared memory.
struct SharedLayout {
  std::uint64_t swizzle = 0, leading = 0, stride = 0, start = 0, base = 0;
  std::uint64_t descriptor() const {
    return leading >> 4 << 16 | stride >> 4 << 32 | base << 49 | swizzle << 62;
  }
};

// A line of the recording: the form, "/", whether A lies in registers and A or B by columns, "/",
// signs of A and B and whether D is added to, "/", layouts of A and B. Behind the name: registers
// of D, the number of cases, and a fingerprint of D for each.
struct RecordedGroup {
  std::string name, form;
  bool in_registers = false, a_by_columns = false, b_by_columns = false, adds = true;
  int sign_a = 1, sign_b = 1;
  SharedLayout a, b;
  std::string d_type, a_type, b_type;
  std::uint32_t registers = 0;
  std::vector<std::uint64_t> results;

  explicit RecordedGroup(const std::string& line) {
    std::istringstream words(line);
    std::size_t cases = 0;
    words >> name >> registers >> cases >> std::hex;
    results.resize(cases);
    for (std::uint64_t& result : results) words >> result;
    EXPECT_TRUE(words) << line;
    std::istringstream parts(name);
    std::string flags, signs, of_a, of_b;
    for (std::string* part : {&form, &flags, &signs, &of_a, &of_b}) std::getline(parts, *part, '/');
    in_registers = flags[0] == '1', a_by_columns = flags[1] == '1', b_by_columns = flags[2] == '1';
    adds = signs.back() == '1';
    sign_a = signs[0] == '-' ? -1 : 1;
    sign_b = signs[signs.size() - 3] == '-' ? -1 : 1;
    a = layout_of(of_a);
    b = layout_of(of_b);
    std::istringstream types(form.substr(form.find(".m64") + 1));
    std::string shape;
    for (std::string* type : {&shape, &d_type, &a_type, &b_type}) std::getline(types, *type, '.');
  }
  static SharedLayout layout_of(const std::string& text) {
    std::istringstream numbers(text);
    SharedLayout layout;
    for (std::uint64_t* field :
         {&layout.swizzle, &layout.leading, &layout.stride, &layout.start, &layout.base}) {
      numbers >> *field;
      numbers.ignore(1);
    }
    return layout;
  }
  bool is_of(std::initializer_list<std::string_view> types) const {
    return std::ranges::find(types, a_type) != types.end();
  }
};

// Parameters: images of A and B, the accumulator, A's registers, and D.
std::string group_kernel_of(const RecordedGroup& form) {
  std::ostringstream text;
  text << ".shared .align 1024 .b8 s[32768];\n"
          ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 e,\n"
          ".param .u64 d) { .reg .pred %p, %q; .reg .b32 %t, %l, %i, %w, %s, %d<"
       << form.registers << ">, %a<4>; .reg .b64 %o, %x, %y, %da, %db;\n"
       << "mov.u32 %t, %ctaid.x; mov.u32 %l, %tid.x; mov.u32 %s, s; mov.u32 %i, %l;\n"
          "ld.param.u64 %x, [a]; ld.param.u64 %y, [b]; mul.wide.u32 %o, %t, 16384;\n"
          "add.u64 %x, %x, %o; add.u64 %y, %y, %o;\n"
          "L: mul.wide.u32 %o, %i, 4; add.u64 %da, %x, %o; add.u64 %db, %y, %o;\n"
          "mad.lo.u32 %w, %i, 4, %s; ld.global.b32 %a0, [%da]; ld.global.b32 %a1, [%db];\n"
          "st.shared.b32 [%w], %a0; st.shared.b32 [%w+16384], %a1;\n"
          "add.u32 %i, %i, 128; setp.lt.u32 %p, %i, 4096; @%p bra L;\n";
  const auto move = [&](char parameter, char name, std::uint32_t count, bool is_load) {
    text << "ld.param.u64 %x, [" << parameter << "]; mul.wide.u32 %o, %t, " << count * kThreads * 4
         << "; add.u64 %x, %x, %o; mul.wide.u32 %o, %l, 4; add.u64 %x, %x, %o;\n";
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::string memory = "[%x+" + std::to_string(i * kThreads * 4) + "]";
      const std::string value = "%" + std::string(1, name) + std::to_string(i);
      text << (is_load ? "ld.global.b32 " + value + ", " + memory
                       : "st.global.b32 " + memory + ", " + value)
           << ";\n";
    }
  };
  move('c', 'd', form.registers, true);
  move('e', 'a', 4, true);
  const auto descriptor = [&](const char* name, const SharedLayout& layout, std::uint64_t offset) {
    text << "add.u32 %w, %s, " << offset + layout.start << "; shr.u32 %w, %w, 4; cvt.u64.u32 "
         << name << ", %w; or.b64 " << name << ", " << name << ", " << layout.descriptor() << ";\n";
  };
  descriptor("%da", form.a, 0);
  descriptor("%db", form.b, 16384);
  text << "fence.proxy.async; bar.sync 0; wgmma.fence.sync.aligned;\nsetp.eq.u32 %p, %t, %t; "
          "setp.ne.u32 %q, %t, %t;\n"
       << form.form << " {";
  for (std::uint32_t i = 0; i < form.registers; ++i) text << (i == 0 ? "%d" : ", %d") << i;
  text << "}, " << (form.in_registers ? "{%a0, %a1, %a2, %a3}" : "%da") << ", %db, "
       << (form.adds ? "%p" : "%q");
  const bool is_wide = form.is_of({"f16", "bf16"});
  if (is_wide || form.is_of({"tf32", "e4m3", "e5m2"}))
    text << ", " << form.sign_a << ", " << form.sign_b;
  if (is_wide && !form.in_registers) text << ", " << (form.a_by_columns ? 1 : 0);
  if (is_wide) text << ", " << (form.b_by_columns ? 1 : 0);
  text << ";\nwgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n";
  move('d', 'd', form.registers, false);
  text << "ret; }\n";
  return text.str();
}

class RecordedGroupProducts : public KernelRunner, public testing::WithParamInterface<int> {
protected:
  void SetUp() override {
    if (forms_of_level(GetParam()) == nullptr) GTEST_SKIP() << "this processor lacks AVX2";
    choose_level(GetParam());
  }
  void TearDown() override { choose_level(3); }

  void check(const RecordedGroup& form) {
    load(group_kernel_of(form));
    std::vector<std::uint32_t> a, b, c, e;
    const auto cases = static_cast<std::uint32_t>(form.results.size());
    for (std::uint32_t i = 0; i < cases; ++i) {
      matrices::Random random(form.name, i);
      const auto add = [&](std::vector<std::uint32_t>& to, std::size_t count,
                           const std::string& type, bool is_accumulator) {
        to.resize(to.size() + count);
        matrices::fill(std::span(to).last(count), type, static_cast<matrices::Spread>(i),
                       is_accumulator, random);
      };
      add(a, kImageWords, form.a_type, false);
      add(b, kImageWords, form.b_type, false);
      add(c, std::size_t{form.registers} * kThreads, form.d_type, true);
      add(e, std::size_t{4} * kThreads, form.a_type, false);
    }
    const std::size_t each = std::size_t{form.registers} * kThreads;
    const std::uint64_t d = allocate(cases * each * 4);
    const Outcome outcome = run({cases}, {kThreads}, {put(a), put(b), put(c), put(e), d});
    ASSERT_EQ(outcome.end, End::kDone) << form.name << ": " << outcome.reason;
    const auto results = get<std::uint32_t>(d, cases * each);
    for (std::uint32_t i = 0; i < cases; ++i)
      EXPECT_EQ(matrices::fingerprint(std::span(results).subspan(i * each, each)), form.results[i])
        << form.name << ", case " << i;
  }
};

TEST_P(RecordedGroupProducts, AreThoseOfTheGpu) {
  std::ifstream file(std::string(GMT_RECORDED_MATRICES) + "h100.wgmma");
  std::size_t count = 0;
  for (std::string line; std::getline(file, line); ++count) check(RecordedGroup(line));
  EXPECT_GE(count, 90u);
  expect_no_reports();
}

INSTANTIATE_TEST_SUITE_P(Levels, RecordedGroupProducts, testing::Values(2, 3));

} // namespace
} // namespace gmt::executor
