// SPDX-License-Identifier: Apache-2.0
// Runs in a vfork child, too: it writes to its own stack only.
#include "interposer/hooks/privileged.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace gmt::interposer {

namespace {

// Where execvp() would find the name; false if nowhere, or if the path is too long for here.
bool find_in_path(const char* name, char* found, std::size_t size) noexcept {
  const char* path = std::getenv("PATH");
  if (path == nullptr) path = "/bin:/usr/bin";
  while (true) {
    const char* end = std::strchr(path, ':');
    const std::size_t length =
      end != nullptr ? static_cast<std::size_t>(end - path) : std::strlen(path);
    const int n = std::snprintf(found, size, "%.*s/%s", static_cast<int>(length),
                                length == 0 ? "." : path, name);
    if (n > 0 && static_cast<std::size_t>(n) < size && access(found, X_OK) == 0) return true;
    if (end == nullptr) return false;
    path = end + 1;
  }
}

} // namespace

const char* privilege_of(const char* program, bool search) noexcept {
  char found[1024];
  if (program == nullptr) return nullptr;
  if (search && std::strchr(program, '/') == nullptr) {
    if (!find_in_path(program, found, sizeof found)) return nullptr;
    program = found;
  }
  struct stat status{};
  if (stat(program, &status) != 0 || !S_ISREG(status.st_mode)) return nullptr;
  const bool sets_user = (status.st_mode & S_ISUID) != 0 && status.st_uid != getuid();
  const bool sets_group =
    (status.st_mode & S_ISGID) != 0 && (status.st_mode & S_IXGRP) != 0 && status.st_gid != getgid();
  char capability[64];
  const bool has_capability =
    getuid() != 0 && getxattr(program, "security.capability", capability, sizeof capability) > 0;
  if (!sets_user && !sets_group && !has_capability) return nullptr;
  struct statvfs volume{};
  if (statvfs(program, &volume) == 0 && (volume.f_flag & ST_NOSUID) != 0) return nullptr;
  if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1) return nullptr;
  if (sets_user) return "set-user-id";
  return sets_group ? "set-group-id" : "file-capability";
}

} // namespace gmt::interposer
