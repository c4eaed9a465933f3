// SPDX-License-Identifier: Apache-2.0
#include "interposer/kernel_checks/library/code_cache.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <exception>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "interposer/kernel_checks/library/entry_text.h"
#include "interposer/kernel_checks/library/lasting.h"

namespace gmt::interposer::kernel_checks {

namespace {

constexpr std::string_view kSuffix = ".code";
constexpr std::uint64_t kMostOfEntry = std::uint64_t{256} << 20;
constexpr std::chrono::minutes kLongestWait{10}; // for a process that may be stopped
constexpr std::time_t kForgotten = 3600; // seconds: who writes a file is done with it by then

std::uint64_t mixed(std::uint64_t value, std::uint64_t factor, unsigned shift) noexcept {
  value *= factor;
  return value ^ value >> shift;
}

class File { // opening a pipe does not wait for its writer
public:
  File(const std::string& path, int flags) noexcept
      : descriptor_(open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600)) {}
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  bool is_open() const noexcept { return descriptor_ >= 0; }
  int descriptor() const noexcept { return descriptor_; }

  bool write(std::string_view bytes) const noexcept {
    while (!bytes.empty()) {
      const ssize_t done = ::write(descriptor_, bytes.data(), bytes.size());
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(done));
    }
    return true;
  }

private:
  int descriptor_;
};

// The user's own, which no other one can write.
bool is_own(const struct stat& status) noexcept {
  return status.st_uid == geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool make_folder(const std::string& folder) {
  for (std::size_t at = folder.find('/', 1);; at = folder.find('/', at + 1)) {
    if (mkdir(folder.substr(0, at).c_str(), 0700) != 0 && errno != EEXIST) return false;
    if (at == std::string::npos) break;
  }
  struct stat status{};
  return lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && is_own(status);
}

std::string read_file(const std::string& path) {
  const File file(path, O_RDONLY);
  struct stat status{};
  if (!file.is_open() || fstat(file.descriptor(), &status) != 0 || !S_ISREG(status.st_mode) ||
      !is_own(status) || status.st_size <= 0 ||
      static_cast<std::uint64_t>(status.st_size) > kMostOfEntry)
    return {};
  std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
  for (std::size_t got = 0; got < bytes.size();) {
    const ssize_t more = read(file.descriptor(), bytes.data() + got, bytes.size() - got);
    if (more < 0 && errno == EINTR) continue;
    if (more <= 0) return {};
    got += static_cast<std::size_t>(more);
  }
  futimens(file.descriptor(), nullptr); // it is in use
  return bytes;
}

// A larger file would end the process by a signal.
bool may_be_written(std::size_t bytes) noexcept {
  struct rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && bytes <= limit.rlim_cur;
}

} // namespace

void CodeKey::add(std::uint64_t number) noexcept {
  a_ = mixed(a_ ^ number, 0x9e3779b97f4a7c15, 32);
  b_ = mixed((b_ << 27 | b_ >> 37) + number, 0xc2b2ae3d27d4eb4f, 29);
}

void CodeKey::add(std::string_view bytes) noexcept {
  add(bytes.size());
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min(sizeof word, bytes.size() - at));
    add(word);
  }
}

std::string CodeKey::name() const {
  char text[40] = "";
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(a_),
                static_cast<unsigned long long>(b_));
  return std::string(text) + std::string(kSuffix);
}

CodeCache& code_cache() noexcept {
  static constinit Lasting<CodeCache> one;
  return *one;
}

void CodeCache::begin() noexcept {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  if (cache != nullptr && *cache == '/') folder_ = std::string(cache) + "/gpumemtrace/code";
  else if (home != nullptr && *home == '/')
    folder_ = std::string(home) + "/.cache/gpumemtrace/code";
}

std::optional<CachedCode> CodeCache::find(const CodeKey& key) const noexcept {
  if (!is_there()) return std::nullopt;
  try {
    return code_of_entry(read_file(folder_ + "/" + key.name()), key);
  } catch (const std::exception&) { // of memory
    return std::nullopt;
  }
}

void CodeCache::keep(const CodeKey& key, const CachedCode& code) const noexcept {
  if (!is_there()) return;
  try {
    const std::string entry = entry_of(code, key);
    if (!make_folder(folder_) || !may_be_written(entry.size()) || entry.size() > most_bytes_ / 4)
      return;
    static std::atomic<unsigned> count{0};
    const std::string beside = folder_ + "/." + std::to_string(getpid()) + "." +
                               std::to_string(count.fetch_add(1)) + kSuffix.data();
    const File file(beside, O_WRONLY | O_CREAT | O_EXCL);
    if (!file.is_open()) return;
    const bool is_whole = file.write(entry);
    if (!is_whole || rename(beside.c_str(), (folder_ + "/" + key.name()).c_str()) != 0)
      unlink(beside.c_str());
    trim();
  } catch (const std::exception&) { // of memory
  }
}

void CodeCache::remove(const CodeKey& key) const noexcept {
  if (is_there()) unlink((folder_ + "/" + key.name()).c_str());
}

CodeClaim CodeCache::claim(const CodeKey& key) const noexcept {
  if (!is_there()) return {};
  try {
    if (!make_folder(folder_)) return {};
    return {folder_ + "/." + key.name(), kLongestWait};
  } catch (const std::exception&) { // of memory
    return {};
  }
}

// Removes what was not used for longest, down to three quarters, and what killed processes left.
void CodeCache::trim() const {
  struct Entry {
    std::time_t used;
    std::uint64_t bytes;
    std::string path;
  };
  std::vector<Entry> entries;
  std::uint64_t all = 0;
  DIR* const folder = opendir(folder_.c_str());
  if (folder == nullptr) return;
  while (const dirent* one = readdir(folder)) {
    const std::string_view name = one->d_name;
    const std::string path = folder_ + "/" + one->d_name;
    struct stat status{};
    if (!name.ends_with(kSuffix) || lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode))
      continue;
    if (name.starts_with('.')) {
      if (status.st_mtime + kForgotten < std::time(nullptr)) unlink(path.c_str());
      continue;
    }
    all += static_cast<std::uint64_t>(status.st_size);
    entries.push_back({status.st_mtime, static_cast<std::uint64_t>(status.st_size), path});
  }
  closedir(folder);
  if (all <= most_bytes_) return;
  std::ranges::sort(entries, {}, &Entry::used);
  for (const Entry& entry : entries) {
    if (all <= most_bytes_ / 4 * 3) break;
    unlink(entry.path.c_str());
    all -= entry.bytes;
  }
}

} // namespace gmt::interposer::kernel_checks
