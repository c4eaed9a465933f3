// SPDX-License-Identifier: Apache-2.0
// Which file the program is and why a preload may be refused; see program_check.h.
// The kernel and the loader drop LD_PRELOAD without a word: each such case gets its sentence here,
// before the start.

#include "analyzer/command/run/program_check.h"

#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <elf.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "analyzer/base/path.h"
#include "analyzer/command/command.h"
#include "analyzer/command/run/child_process.h"

namespace gmt {

namespace {

bool starts_with(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

std::string machine_name(const ElfFacts& facts) {
  if (!facts.little_endian) return "a big-endian machine";
  switch (facts.machine) {
  case EM_386: return "32-bit x86";
  case EM_X86_64: return facts.bits64 ? "x86-64" : "x32 (32-bit pointers)";
  case EM_ARM: return "32-bit ARM";
  case EM_AARCH64: return "64-bit ARM";
  case EM_PPC64: return "64-bit POWER";
  case EM_RISCV: return "RISC-V";
  default: return "another kind of machine (ELF machine " + std::to_string(facts.machine) + ")";
  }
}

// 0 if it can be run, else the errno that says why not.
int cannot_execute(const std::string& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) return errno;
  if (S_ISDIR(status.st_mode)) return EISDIR;
  return ::access(path.c_str(), X_OK) == 0 ? 0 : errno;
}

[[noreturn]] void refuse(const std::string& word, const std::string& path, int error) {
  if (error == EISDIR)
    throw UserError("cannot run '" + path + "': it is a directory", kNotExecutable);
  if (error != ENOENT && error != ENOTDIR) {
    const std::string hint = error == EACCES ? "; is it executable ('chmod +x " + path + "')?" : "";
    throw UserError("cannot run '" + path + "': " + std::strerror(error) + hint, kNotExecutable);
  }
  if (word.find('/') != std::string::npos)
    throw UserError("cannot run '" + word + "': no such file", kNotFound);
  std::string hint;
  if (cannot_execute("./" + word) == 0) {
    hint = "; did you mean './" + word + "'?";
  } else {
    std::vector<std::string> names;
    for (const CommandInfo& command : commands()) names.emplace_back(command.name);
    const std::string near = nearest(word, names);
    if (near == word) hint = "; as a command it comes first: 'gpumemtrace " + word + " ...'";
    else if (!near.empty()) hint = "; did you mean 'gpumemtrace " + near + "'?";
  }
  throw UserError("cannot run '" + word +
                    "': no such command of gpumemtrace and no such program in PATH" + hint,
                  kNotFound);
}

// What makes the kernel start the program in secure mode, where the loader ignores LD_PRELOAD;
// empty if nothing.
std::string privilege(const std::string& path) {
  struct stat status = {};
  struct statvfs volume = {};
  if (::stat(path.c_str(), &status) != 0) return {};
  if (::statvfs(path.c_str(), &volume) == 0 && (volume.f_flag & ST_NOSUID)) return {};
  if (::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1) return {};
  if ((status.st_mode & S_ISUID) && status.st_uid != ::getuid()) return "set-user-id";
  if ((status.st_mode & S_ISGID) && (status.st_mode & S_IXGRP) && status.st_gid != ::getgid())
    return "set-group-id";
  char capability[64];
  if (::getuid() != 0 &&
      ::getxattr(path.c_str(), "security.capability", capability, sizeof capability) > 0)
    return "file-capability";
  return {};
}

bool is_this_command(const std::string& path) {
  struct stat program = {}, self = {};
  return ::stat(path.c_str(), &program) == 0 && ::stat("/proc/self/exe", &self) == 0 &&
         program.st_dev == self.st_dev && program.st_ino == self.st_ino;
}

} // namespace

std::string resolve_program(const std::string& word) {
  if (word.find('/') != std::string::npos) {
    if (const int error = cannot_execute(word)) refuse(word, word, error);
    return word;
  }
  const char* variable = std::getenv("PATH");
  std::string_view path = variable ? variable : "/bin:/usr/bin";
  std::string failed;
  int first_error = ENOENT;
  for (bool more = true; more;) {
    const std::size_t colon = path.find(':');
    const std::string folder(path.substr(0, colon));
    more = colon != std::string_view::npos;
    path.remove_prefix(more ? colon + 1 : path.size());
    const std::string candidate = (folder.empty() ? "." : folder) + "/" + word;
    const int error = cannot_execute(candidate);
    if (error == 0) return candidate;
    if (error == EACCES && first_error == ENOENT) { // as shells: go on, remember why
      first_error = error;
      failed = candidate;
    }
  }
  refuse(word, failed.empty() ? word : failed, first_error);
}

ProgramCheck check_program(const std::string& path) {
  ProgramCheck check;
  if (is_this_command(path))
    throw UserError("'" + path +
                      "' is this command itself; write it once, as in 'gpumemtrace ./app'",
                    ExitStatus::kUsage);
  check.facts = read_elf_facts(path);
  const std::string name = "'" + path + "' ";
  if (const std::string bit = privilege(path); !bit.empty()) {
    check.refusal = name + "is a " + bit +
                    " program: the kernel allows no preload there, so nothing can be checked; "
                    "run a copy of it without that privilege (cp), as the user it needs";
    return check;
  }
  if (!check.facts.elf) return check; // a script: its interpreter is not looked at, as any child
  if (!built_for_this_machine(check.facts)) {
    check.refusal = name + "is built for " + machine_name(check.facts) +
                    ", the checker for this machine's 64-bit "
                    "programs: nothing can be checked; rebuild it for 64 bits";
  } else if (check.facts.interpreter.find("ld-musl") != std::string::npos) {
    check.refusal =
      name +
      "is built with the musl C library, which the checker cannot be loaded beside: nothing can "
      "be checked; build it with glibc";
  } else if (check.facts.interpreter.empty() && !starts_with(base_name(path), "ld")) {
    // ld.so ./app is fine
    check.refusal =
      name +
      "is statically linked: it loads no library, so nothing can be checked; link it without "
      "-static";
  }
  return check;
}

std::string static_runtime_sentence(const std::string& path, const ElfFacts& facts) {
  const bool shared =
    std::any_of(facts.needed.begin(), facts.needed.end(),
                [](const std::string& library) { return starts_with(library, "libcudart.so"); });
  using Linked = ElfFacts::LinkedRuntime;
  if (shared || !facts.device_code || facts.linked_runtime == Linked::k13) return {};
  if (facts.linked_runtime == Linked::kOlderThan13)
    return "'" + path +
           "' has the runtime of CUDA 12 or older linked in, which the simulated device cannot reach: "
           "build it with the shared runtime (-cudart shared), or with CUDA 13";
  return "'" + path +
         "' has the CUDA runtime linked in and no symbols, by which the simulated device would find "
         "the runtime's functions: link it without -s, or build it with the shared runtime "
         "(NVCC_APPEND_FLAGS='-cudart shared' in the environment, CUDA_RUNTIME_LIBRARY Shared in "
         "CMake, or nvcc -cudart shared)";
}

bool is_sanitizer_runtime(std::string_view library) {
  const std::string_view name = base_name(library);
  for (const std::string_view start :
       {"libasan.so", "libtsan.so", "liblsan.so", "libhwasan.so", "libclang_rt.asan",
        "libclang_rt.tsan", "libclang_rt.hwasan", "libclang_rt.lsan", "libclang_rt.msan"})
    if (starts_with(name, start) && name.find(".so") != std::string_view::npos) return true;
  return false;
}

} // namespace gmt
