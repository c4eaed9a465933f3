// SPDX-License-Identifier: Apache-2.0
// The program under test of the command's tests: does what its words say, in their order.
//   exit N | signal N | environment NAME | count SIGNAL... (prints each that arrives, ends on
//   "stop" or SIGUSR2)

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

void print(const char* text) {
  std::fputs(text, stdout);
  std::fputc('\n', stdout);
  std::fflush(stdout);
}

// Waits for the signals and prints one line for each delivery.
int count(int argc, char** argv) {
  sigset_t set;
  sigemptyset(&set);
  for (int i = 0; i < argc; ++i) sigaddset(&set, std::atoi(argv[i]));
  sigaddset(&set, SIGUSR2);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  print("ready");
  for (int received = 0; sigwait(&set, &received) == 0;) {
    char line[32];
    std::snprintf(line, sizeof line, "signal %d", received);
    print(line);
    if (received == SIGUSR2) return 0;
  }
  return 1;
}

} // namespace

int main(int argc, char** argv) {
  for (int i = 1; i + 1 < argc; i += 2) {
    const char* value = argv[i + 1];
    if (std::strcmp(argv[i], "exit") == 0) return std::atoi(value);
    if (std::strcmp(argv[i], "signal") == 0) {
      std::signal(std::atoi(value), SIG_DFL);
      std::raise(std::atoi(value));
    }
    if (std::strcmp(argv[i], "environment") == 0) {
      const char* found = std::getenv(value);
      print(found ? found : "(unset)");
    }
    if (std::strcmp(argv[i], "count") == 0) return count(argc - i - 1, argv + i + 1);
  }
  return 0;
}
