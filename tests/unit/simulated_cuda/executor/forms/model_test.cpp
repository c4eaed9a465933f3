// SPDX-License-Identifier: Apache-2.0
// Every form of an opcode gives on the executor what a second implementation of PTX's words gives,
// bit by bit, of approximate forms within one unit of the last place; and the handlers of both
// levels of x86-64 give the same.
#include "simulated_cuda/executor/machine/handlers/forms.h"
#include "tests/executor/forms/model/model.h"
#include "tests/unit/simulated_cuda/executor/forms/chosen_level.h"
#include "tests/unit/simulated_cuda/executor/support/form_runner.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace gmt::executor {
namespace {

class ModelledForms : public testing::TestWithParam<std::size_t> {
protected:
  // Each GMT_STRIDE-th of the group's: forms of one opcode run the same code.
  static std::vector<forms::Form> some_forms() {
    std::vector<forms::Form> some;
    const auto all = forms::groups()[GetParam()].forms();
    for (std::size_t i = 0; i < all.size(); i += GMT_STRIDE) some.push_back(all[i]);
    return some;
  }
  void TearDown() override { choose_level(3); }

  // Empty if the executor does not know the form, which fails.
  static std::vector<std::byte> results_of(const forms::Form& form, int level) {
    choose_level(level);
    std::string reason;
    std::vector<std::byte> results = FormRunner().run(form, forms::operands_of(form), &reason);
    if (reason.empty()) return results;
    ADD_FAILURE() << form.name << ": " << reason;
    return {};
  }
  // `ulps`: by how many units of the last place they may differ.
  static void expect_equal(const forms::Form& form, std::span<const std::byte> expected,
                           std::span<const std::byte> found, double ulps = 0) {
    forms::Form bounded = form;
    bounded.ulps = ulps;
    const forms::Difference difference =
      forms::compare(bounded, forms::operands_of(form), expected, found);
    EXPECT_EQ(difference.wrong, 0u) << form.name << ": " << difference.first;
  }
  // The executor computes approximate forms in double. Of some f64 forms the lower half is 0.
  static double bound_of(const forms::Form& form) {
    if (form.ulps == 0) return 0;
    return form.name.ends_with("approx.ftz.f64") ? 0x1p33 : 1;
  }
};

TEST_P(ModelledForms, AreAsPtxDefinesThem) {
  for (const forms::Form& form : some_forms()) {
    const std::vector<std::byte> found = results_of(form, 3);
    if (found.empty()) continue;
    const std::vector<std::byte> expected =
      forms::model::expected(form, forms::operands_of(form), found);
    if (!expected.empty()) {
      expect_equal(form, expected, found, bound_of(form));
    } else {
      const bool open = form.name == "elect.sync" || form.name.ends_with(" of a warp");
      EXPECT_TRUE(open) << form.name << " has no model";
    }
  }
}

// Processors without AVX2 take other handlers.
TEST_P(ModelledForms, AreEqualOnBothLevels) {
  if (forms_of_level(3) == nullptr) GTEST_SKIP() << "this processor lacks AVX2";
  for (const forms::Form& form : some_forms()) {
    const std::vector<std::byte> found = results_of(form, 3);
    if (!found.empty()) expect_equal(form, found, results_of(form, 2));
  }
}

// Operands of the forms have no such NaN.
TEST(OutOfBounds, AFactorThatIsNoElementGivesZero) {
  for (const forms::Form& form : forms::half_forms()) {
    if (!form.name.starts_with("fma.rn.oob")) continue;
    std::vector<std::byte> operands = forms::operands_of(form);
    const std::uint32_t no_element = 0x7ff77ff7,
                        one = form.name.find("bf16") != form.name.npos ? 0x3f803f80 : 0x3c003c00;
    const std::size_t size = forms::size_of(form.results[0]);
    // Thread 0 has it as the first factor, 1 as the second, 2 as what is added
    for (std::size_t thread = 0; thread < 3; ++thread) {
      for (std::size_t k = 0; k < 3; ++k) {
        std::memcpy(operands.data() + forms::offset_of(form.operands, form.count, k) +
                      thread * size,
                    k == thread ? &no_element : &one, size);
      }
    }
    std::string reason;
    const std::vector<std::byte> results = FormRunner().run(form, operands, &reason);
    ASSERT_EQ(reason, "");
    const auto result = [&](std::uint32_t thread) {
      return forms::element(results, form.results, form.count, 0, thread);
    };
    EXPECT_EQ(result(0), 0u) << form.name;
    EXPECT_EQ(result(1), 0u) << form.name;
    EXPECT_EQ(result(2), size == 2 ? 0x7fffu : 0x7fff7fffu) << form.name;
    EXPECT_EQ(forms::model::expected(form, operands, results), results) << form.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Groups, ModelledForms,
                         testing::Range(std::size_t{0}, forms::groups().size()),
                         [](const auto& each) {
                           return std::string(forms::groups()[each.param].name);
                         });

} // namespace
} // namespace gmt::executor
