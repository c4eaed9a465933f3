// SPDX-License-Identifier: Apache-2.0
// A long wait is reported again and again, a short one never.
#include "interposer/kernel_checks/library/wait_notice.h"

#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "interposer/kernel_checks/library/driver.h"

namespace gmt::interposer::kernel_checks {
namespace {

struct Notes {
  std::mutex mutex;
  std::vector<std::string> texts;
} notes;

void take_note(const char* word, const char* text) {
  const std::lock_guard lock(notes.mutex);
  notes.texts.push_back(std::string(word) + ": " + text);
}

class KernelCheckWaitNotice : public ::testing::Test {
protected:
  void SetUp() override {
    notes.texts.clear();
    core_.notify_command = take_note;
    core = &core_;
  }
  void TearDown() override { core = before_; }

private:
  KernelChecksCore core_{};
  const KernelChecksCore* const before_ = core;
};

TEST_F(KernelCheckWaitNotice, ALongWaitIsReportedAgain) {
  {
    const WaitNotice notice("compiling 2 kernels", std::chrono::milliseconds(600));
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    for (std::size_t count = 0; count < 2 && std::chrono::steady_clock::now() < deadline;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      const std::lock_guard lock(notes.mutex);
      count = notes.texts.size();
    }
  }
  ASSERT_GE(notes.texts.size(), 2u);
  EXPECT_EQ(notes.texts[0], "waits: compiling 2 kernels (0 s so far)");
  EXPECT_EQ(notes.texts[1], "waits: compiling 2 kernels (1 s so far)");
}

TEST_F(KernelCheckWaitNotice, AShortWaitIsNotReported) {
  for (int i = 0; i < 100; ++i) const WaitNotice notice("compiling 2 kernels");
  EXPECT_TRUE(notes.texts.empty());
}

} // namespace
} // namespace gmt::interposer::kernel_checks
