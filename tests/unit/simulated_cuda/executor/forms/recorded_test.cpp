// SPDX-License-Identifier: Apache-2.0
// Every form of an opcode gives on the executor, bit by bit, what an H200 gave; approximate forms
// stay within their bounds. Handlers of both levels of x86-64 are held against the same recording.
// Skipped where there is no recording.
#include "simulated_cuda/executor/machine/handlers/forms.h"
#include "tests/unit/simulated_cuda/executor/forms/chosen_level.h"
#include "tests/unit/simulated_cuda/executor/support/form_runner.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

namespace gmt::executor {
namespace {

// Video instructions lie in a file of their own, which an H100 gave.
std::string file_of(const forms::Group& group) {
  return group.name == std::string_view("video") ? GMT_RECORDED_VIDEO_FORMS : GMT_RECORDED_FORMS;
}

const forms::Recording& recorded(const std::string& file) {
  static std::map<std::string, forms::Recording> recordings;
  const auto [found, is_new] = recordings.try_emplace(file);
  if (is_new) {
    EXPECT_EQ(forms::read_recording(file, &found->second), "");
  }
  return found->second;
}

class RecordedForms : public testing::TestWithParam<std::tuple<std::size_t, int>> {
protected:
  const forms::Group& group() const { return forms::groups()[std::get<0>(GetParam())]; }
  int level() const { return std::get<1>(GetParam()); }
  void SetUp() override {
    if (access(file_of(group()).c_str(), R_OK) != 0)
      GTEST_SKIP() << "no recording: " << file_of(group())
                   << " is what gpu.opcode_forms of scripts/gpu-pack records on an H200";
    if (forms_of_level(level()) == nullptr) GTEST_SKIP() << "this processor lacks AVX2";
    choose_level(level());
  }
  void TearDown() override { choose_level(3); }

  void check(const forms::Form& form) {
    forms::Difference errors;
    EXPECT_EQ(FormRunner().difference(form, recorded(file_of(group())), &errors), "") << form.name;
    if (form.ulps != 0)
      std::printf("%s: largest error %g ulps, or %g\n", form.name.c_str(), errors.largest_error,
                  errors.largest_absolute);
  }
};

TEST_P(RecordedForms, AreThoseOfTheGpu) {
  const auto all = group().forms();
  for (std::size_t i = 0; i < all.size(); i += GMT_STRIDE) check(all[i]);
}

INSTANTIATE_TEST_SUITE_P(Groups, RecordedForms,
                         testing::Combine(testing::Range(std::size_t{0}, forms::groups().size()),
                                          testing::Values(2, 3)),
                         [](const auto& each) {
                           return std::string(forms::groups()[std::get<0>(each.param)].name) +
                                  "_v" + std::to_string(std::get<1>(each.param));
                         });

} // namespace
} // namespace gmt::executor
