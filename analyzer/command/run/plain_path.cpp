// SPDX-License-Identifier: Apache-2.0
// Others may write to /tmp, so the folder of the links has to be this user's, and closed to all
// others.
#include "analyzer/command/run/plain_path.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include <fmt/format.h>

#include "analyzer/command/run/child_process.h"

namespace gmt {

namespace {

namespace fs = std::filesystem;

std::vector<std::string> temporary_folders() {
  std::vector<std::string> folders;
  for (const char* name : {"XDG_RUNTIME_DIR", "TMPDIR"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && value[0] == '/' && is_plain_path(value)) folders.emplace_back(value);
  }
  folders.emplace_back("/tmp");
  return folders;
}

bool is_own_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) == 0) return true;
  struct stat found = {};
  return ::lstat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode) &&
         found.st_uid == ::geteuid() && (found.st_mode & 077) == 0;
}

// FNV-1a: the same folder has the same link in each run.
std::uint64_t hash_of(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

// Two commands may do this at once: a link is made under a name of its own, then renamed.
bool make_link(const std::string& target, const std::string& link) {
  std::error_code error;
  if (fs::read_symlink(link, error) == fs::path(target)) return true;
  const std::string fresh = fmt::format("{}.{}", link, ::getpid());
  if (::symlink(target.c_str(), fresh.c_str()) != 0) return false;
  if (::rename(fresh.c_str(), link.c_str()) == 0) return true;
  ::unlink(fresh.c_str());
  return false;
}

} // namespace

bool is_plain_path(const std::string& path) {
  return path.find_first_of(" \t\n:;$") == std::string::npos;
}

std::string plain_path_of(const std::string& folder) {
  if (is_plain_path(folder)) return folder;
  for (const std::string& temporary : temporary_folders()) {
    const std::string links = fmt::format("{}/gpumemtrace-links-{}", temporary, ::geteuid());
    if (!is_own_folder(links)) continue;
    const std::string link = fmt::format("{}/{:016x}", links, hash_of(folder));
    if (make_link(folder, link)) return link;
  }
  throw UserError(
    "'" + folder +
      "' has a space, ':', ';' or '$' in its path, which LD_PRELOAD cannot carry, and no link "
      "to it could be made in a temporary folder; set TMPDIR to a folder that you can write to",
    kCannotStart);
}

} // namespace gmt
