// SPDX-License-Identifier: Apache-2.0
// Asks every question of the table "what the real driver answers to each mistake" and compares the
// answers. Runs on a real GPU and on the simulated device; prints row<TAB>expected<TAB>got, fails
// if any differ. Exit 77 without any device.
#include "driver_answers.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

std::vector<Row> all_rows() {
  std::vector<Row> rows;
  for (const auto* part : {&release_rows(), &copy_rows(), &other_rows(), &kinds_rows(),
                           &order_rows(), &green_rows(), &node_rows(), &fact_rows()})
    rows.insert(rows.end(), part->begin(), part->end());
  return rows;
}

// Runs one row in a fresh process (CUDA does not survive fork) and reads its answer.
std::string ask_alone(const char* self, size_t index) {
  int ends[2];
  if (pipe(ends) != 0) return "pipe failed";
  const std::string number = std::to_string(index);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], 1);
    execl(self, self, "--row", number.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  close(ends[1]);
  char text[256];
  std::string got;
  for (ssize_t n; (n = read(ends[0], text, sizeof text)) > 0;)
    got.append(text, static_cast<size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0
           ? got
           : "child died with status " + std::to_string(status);
}

} // namespace

int main(int count, char** arguments) {
  const std::vector<Row> rows = all_rows();
  if (count == 3 && std::strcmp(arguments[1], "--row") == 0) {
    std::fputs(rows[static_cast<size_t>(std::atoi(arguments[2]))].ask().c_str(), stdout);
    std::fflush(stdout);
    _exit(0); // the context may be dead: no exit handlers
  }
  cudaDeviceProp device{};
  if (cudaGetDeviceProperties(&device, 0) != cudaSuccess) {
    std::puts("skipped: no CUDA device");
    return 77;
  }
  std::printf("device\t%s\n", device.name);
  size_t different = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    const std::string got = row.alone ? ask_alone(arguments[0], i) : row.ask();
    const bool same = got == row.expected;
    different += !same;
    std::printf("%s\t%s\t%s%s\n", row.name, row.expected, got.c_str(), same ? "" : "\tDIFFERENT");
    std::fflush(stdout);
  }
  std::printf("%zu rows, %zu different\n", rows.size(), different);
  return different == 0 ? 0 : 1;
}
