// SPDX-License-Identifier: Apache-2.0
// The machinery of recorded forms: a recording comes back from its file as it was, a planted
// difference is found and named, a damaged file is refused, and names and operands are sound.
#include "tests/unit/simulated_cuda/executor/support/form_runner.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>

namespace gmt::executor {
namespace {

class Machinery : public testing::Test {
protected:
  Machinery() : path_(testing::TempDir() + "forms." + std::to_string(getpid())) {}
  ~Machinery() override { unlink(path_.c_str()); }

  static const forms::Form& form(const std::vector<forms::Form>& list, std::string_view name) {
    for (const forms::Form& each : list) {
      if (each.name == name) return each;
    }
    std::abort();
  }

  std::string path_;
};

TEST_F(Machinery, ARecordingComesBackFromItsFile) {
  forms::Recording recording, read;
  recording.device = "the executor";
  FormRunner().record(forms::groups()[1], &recording);
  recording.of_form["refused"].refused = true;
  ASSERT_EQ(forms::write_recording(recording, path_), "");
  ASSERT_EQ(forms::read_recording(path_, &read), "");
  EXPECT_EQ(read.device, recording.device);
  ASSERT_EQ(read.of_form.size(), recording.of_form.size());
  for (const auto& [name, results] : recording.of_form) {
    EXPECT_EQ(read.of_form[name].fingerprint, results.fingerprint);
    EXPECT_EQ(read.of_form[name].refused, results.refused);
    EXPECT_EQ(read.of_form[name].bytes, results.bytes);
  }
}

TEST_F(Machinery, ADamagedFileIsRefused) {
  forms::Recording recording, read;
  FormRunner().record(forms::groups()[1], &recording);
  ASSERT_EQ(forms::write_recording(recording, path_), "");
  std::ifstream file(path_, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  std::ofstream(path_, std::ios::binary) << bytes;
  EXPECT_NE(forms::read_recording(path_, &read).find("is damaged"), std::string::npos);
  std::ofstream(path_, std::ios::binary) << "something else";
  EXPECT_NE(forms::read_recording(path_, &read).find("is no recording"), std::string::npos);
  EXPECT_NE(forms::read_recording(path_ + ".absent", &read).find("cannot open"), std::string::npos);
}

TEST_F(Machinery, APlantedDifferenceIsFound) {
  const std::vector<forms::Form> list = forms::integer_forms();
  const forms::Form& sum = form(list, "add.u32");
  const std::vector<std::byte> operands = forms::operands_of(sum);
  std::string reason;
  const std::vector<std::byte> right = FormRunner().run(sum, operands, &reason);
  ASSERT_EQ(reason, "");
  EXPECT_EQ(forms::compare(sum, operands, right, right).wrong, 0u);
  std::vector<std::byte> wrong = right;
  wrong[4 * 77] ^= std::byte{1};
  const forms::Difference difference = forms::compare(sum, operands, right, wrong);
  EXPECT_EQ(difference.wrong, 1u);
  EXPECT_EQ(difference.first.find("thread 77: of 0x"), 0u) << difference.first;
  EXPECT_EQ(forms::compare(sum, operands, right, {}).wrong, sum.count);
}

TEST_F(Machinery, EachKindOfDifferenceHasItsWords) {
  forms::Recording written, recording;
  FormRunner().record(forms::groups()[0], &written);
  written.of_form["add.u32"].bytes[4 * 33] ^= std::byte{0x80};
  written.of_form["sub.u32"].fingerprint ^= 1;
  written.of_form["mul.lo.u32"].refused = true;
  written.of_form["mul.lo.u32"].bytes.clear();
  written.of_form.erase("mul.hi.u32");
  ASSERT_EQ(forms::write_recording(written, path_), "");
  ASSERT_EQ(forms::read_recording(path_, &recording), "");
  std::size_t different = 0;
  for (const forms::Form& each : forms::integer_forms()) {
    forms::Difference errors;
    const std::string difference = FormRunner().difference(each, recording, &errors);
    const char* words = "";
    if (each.name == "add.u32") words = "1 threads differ, first thread 33: of 0x";
    if (each.name == "sub.u32") words = "it was recorded with other operands";
    if (each.name == "mul.hi.u32") words = "it is not in the recording";
    EXPECT_TRUE(difference.starts_with(words)) << each.name << ": " << difference;
    different += difference.empty() ? 0 : 1;
  }
  EXPECT_EQ(different, 3u);
}

TEST_F(Machinery, ApproximateResultsAreMeasured) {
  const std::vector<forms::Form> list = forms::approximate_forms();
  forms::Form root = form(list, "sqrt.approx.f32");
  root.ulps = 2;
  const std::vector<std::byte> operands = forms::operands_of(root);
  std::string reason;
  const std::vector<std::byte> right = FormRunner().run(root, operands, &reason);
  ASSERT_EQ(reason, "");
  std::vector<std::byte> near = right;
  std::uint32_t value = 0;
  std::memcpy(&value, &near[4 * 2], sizeof value); // the root of 1
  value += 2;
  std::memcpy(&near[4 * 2], &value, sizeof value);
  forms::Difference difference = forms::compare(root, operands, right, near);
  EXPECT_EQ(difference.wrong, 0u);
  EXPECT_EQ(difference.largest_error, 2);
  value += 1;
  std::memcpy(&near[4 * 2], &value, sizeof value);
  EXPECT_EQ(forms::compare(root, operands, right, near).wrong, 1u);
  root.absolute = 3 * 0x1p-23; // three units of numbers from 1 to 2
  difference = forms::compare(root, operands, right, near);
  EXPECT_EQ(difference.wrong, 0u);
  EXPECT_EQ(difference.largest_absolute, root.absolute);
  root.absolute = 0x1p-23;
  EXPECT_EQ(forms::compare(root, operands, right, near).wrong, 1u);
  value = 0x7fffffff; // a NaN
  std::memcpy(&near[4 * 2], &value, sizeof value);
  EXPECT_EQ(forms::compare(root, operands, right, near).wrong, 1u);
}

TEST_F(Machinery, NamesAndOperandsAreSound) {
  std::set<std::string> names;
  for (const forms::Group& group : forms::groups()) {
    for (const forms::Form& each : group.forms()) {
      EXPECT_TRUE(names.insert(each.name).second) << each.name;
      EXPECT_EQ(each.count % forms::kBlock, 0u) << each.name;
      EXPECT_LE(each.operands.size(), forms::kMostOperands) << each.name;
      EXPECT_LE(each.results.size(), forms::kMostResults) << each.name;
    }
  }
  EXPECT_GT(names.size(), 3000u);
  const std::vector<forms::Form> singles = forms::single_forms();
  const forms::Form& sum = form(singles, "add.f32");
  EXPECT_EQ(forms::operands_of(sum), forms::operands_of(sum));
  forms::Form other = sum;
  other.body += " ";
  EXPECT_NE(forms::fingerprint_of(sum, forms::operands_of(sum)),
            forms::fingerprint_of(other, forms::operands_of(sum)));
}

} // namespace
} // namespace gmt::executor
