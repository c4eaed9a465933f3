// SPDX-License-Identifier: Apache-2.0
// Starts another program (argv[2], with the rest as its arguments) in the way argv[1] says, with or
// without its environment ("+": kept, "-": LD_PRELOAD taken out), and answers its exit status.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "cuda_calls.h"

namespace {

int wait_for(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, 0) < 0) return 98;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 97;
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 9;
  const std::string way = argv[1];
  const bool keep = way.back() == '+';
  const std::string call = way.substr(0, way.size() - 1);
  u64 address = 0;
  cuMemAlloc_v2(&address, 4242);
  std::vector<char*> environment;
  for (char** e = environ; *e != nullptr; ++e) {
    if (keep || std::strncmp(*e, "LD_PRELOAD=", 11) != 0) environment.push_back(*e);
  }
  environment.push_back(nullptr);
  char** program = argv + 2;
  pid_t child = 0;
  if (call == "spawn") {
    return posix_spawn(&child, program[0], nullptr, nullptr, program, environment.data()) != 0
             ? 96
             : wait_for(child);
  }
  if (call == "spawnp") {
    return posix_spawnp(&child, program[0], nullptr, nullptr, program, environment.data()) != 0
             ? 96
             : wait_for(child);
  }
  if (call == "missing") { // an exec that fails leaves the program running, and recorded
    execve("/nonexistent/program", program, environment.data());
    cuMemFree_v2(address);
    return 0;
  }
  if (call == "system" || call == "popen") {
    const std::string command = std::string(argv[2]) + " " + argv[3];
    environ = environment.data();
    std::fflush(stdout);
    if (call == "system") return WEXITSTATUS(system(command.c_str()));
    FILE* output = popen(command.c_str(), "r");
    for (int c = 0; (c = std::fgetc(output)) != EOF;) std::putchar(c);
    return WEXITSTATUS(pclose(output));
  }
  child = call == "vfork" ? vfork() : call.rfind("fork-", 0) == 0 ? fork() : 0;
  if (child > 0) {
    const int status = wait_for(child);
    cuMemFree_v2(address);
    return status;
  }
  if (call == "vfork" || call == "fork-execve" || call == "execve")
    execve(program[0], program, environment.data());
  if (call == "execveat") execveat(AT_FDCWD, program[0], program, environment.data(), 0);
  if (call == "execvpe") execvpe(program[0], program, environment.data());
  if (call == "execle")
    execle(program[0], program[0], program[1], static_cast<char*>(nullptr), environment.data());
  environ = environment.data();
  if (call == "execv") execv(program[0], program);
  if (call == "execvp") execvp(program[0], program);
  if (call == "execl") execl(program[0], program[0], program[1], static_cast<char*>(nullptr));
  if (call == "execlp") execlp(program[0], program[0], program[1], static_cast<char*>(nullptr));
  _exit(95);
}
