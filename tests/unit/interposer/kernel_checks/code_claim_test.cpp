// SPDX-License-Identifier: Apache-2.0
// Of several processes that load one text, one compiles it, whichever of them are killed.
#include "interposer/kernel_checks/library/code_claim.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "interposer/kernel_checks/library/code_cache.h"

namespace gmt::interposer::kernel_checks {
namespace {

namespace fs = std::filesystem;

CodeKey claimed_key(std::string_view text) {
  CodeKey key;
  key.add(text);
  return key;
}

CachedCode some_code() {
  CachedCode code;
  code.code.kernels = {"k"};
  code.code.launch_parameters = {{}};
  code.machine = "machine code";
  return code;
}

struct KernelCheckCodeClaim : testing::Test {
  void SetUp() override {
    char name[] = "/tmp/gpumemtrace-test-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    root = name;
    folder = root / "cache" / "code"; // which is not there yet
    cache.begin(folder.string(), 1 << 20);
  }
  void TearDown() override { fs::remove_all(root); }

  fs::path root, folder;
  CodeCache cache;
};

TEST_F(KernelCheckCodeClaim, OneOfSeveralProcessesCompiles) {
  const CodeKey key = claimed_key("text");
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      CodeClaim claim = cache.claim(key);
      if (!claim.is_held()) _exit(2);
      const bool compiles = !cache.find(key);
      if (compiles) {
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        cache.keep(key, some_code());
      }
      claim.end(); // _exit() calls no destructor
      _exit(compiles ? 1 : 0);
    }
    children.push_back(child);
  }
  int compiled = 0;
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_LE(WEXITSTATUS(status), 1);
    compiled += WEXITSTATUS(status);
  }
  EXPECT_EQ(compiled, 1);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1); // no claim is left
}

TEST_F(KernelCheckCodeClaim, AKilledProcessHasNoClaim) {
  const CodeKey key = claimed_key("text");
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const CodeClaim claim = cache.claim(key);
    // What it forks meanwhile has none either, and lives on.
    const pid_t its_own = fork();
    if (its_own == 0)
      for (;;) pause();
    const ssize_t written = write(ready[1], &its_own, sizeof its_own);
    for (;;) pause();
    _exit(written != 0);
  }
  pid_t grandchild = 0;
  ASSERT_EQ(read(ready[0], &grandchild, sizeof grandchild), ssize_t{sizeof grandchild});
  const std::string path = folder / ("." + key.name());
  EXPECT_FALSE(CodeClaim(path, std::chrono::milliseconds(50)).is_held());
  EXPECT_TRUE(cache.claim(claimed_key("other")).is_held()); // another text's
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(cache.claim(key).is_held());
  kill(grandchild, SIGKILL);
  close(ready[0]);
  close(ready[1]);
}

TEST_F(KernelCheckCodeClaim, WithoutAFolderThereIsNoClaim) {
  cache.begin("/proc/none", 1 << 20);
  EXPECT_FALSE(cache.claim(claimed_key("text")).is_held());
}

} // namespace
} // namespace gmt::interposer::kernel_checks
