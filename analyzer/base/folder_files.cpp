// SPDX-License-Identifier: Apache-2.0
#include "analyzer/base/folder_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <ostream>
#include <streambuf>
#include <system_error>

#include "analyzer/base/disk.h"

namespace gmt {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kLongestLine = 1 << 20;
constexpr int kNamesTried = 100;
constexpr int kNeverWait = O_CLOEXEC | O_NOCTTY | O_NONBLOCK;

std::string message_of(int error) {
  return std::generic_category().message(error != 0 ? error : EIO);
}

// The folder may be reached through links: that is the choice of who names it.
Descriptor open_folder_of(const fs::path& file) {
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  return Descriptor(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

bool is_of_this_user(const struct stat& status) { return status.st_uid == ::geteuid(); }

bool owned_by_this_user(const Descriptor& folder) {
  struct stat status = {};
  return folder && ::fstat(folder.number(), &status) == 0 && is_of_this_user(status);
}

// Looked at first: opening a device may have effects.
Descriptor open_file(int folder, const char* name, int flags, int no_follow) {
  struct stat status = {};
  if (::fstatat(folder, name, &status, no_follow != 0 ? AT_SYMLINK_NOFOLLOW : 0) != 0)
    return Descriptor();
  errno = EINVAL;
  if (S_ISLNK(status.st_mode)) errno = ELOOP;
  if (S_ISDIR(status.st_mode)) errno = EISDIR;
  if (!S_ISREG(status.st_mode)) return Descriptor();
  Descriptor file(::openat(folder, name, flags | no_follow | kNeverWait));
  if (!file || ::fstat(file.number(), &status) != 0) return Descriptor();
  errno = EINVAL;
  return S_ISREG(status.st_mode) ? std::move(file) : Descriptor();
}

// Output to a descriptor. Keeps the first error.
class DescriptorBuffer : public std::streambuf {
public:
  explicit DescriptorBuffer(int number) : number_(number) {
    setp(buffer_.data(), buffer_.data() + buffer_.size());
  }
  int error() const { return error_; }

protected:
  int overflow(int c) override {
    if (sync() != 0) return traits_type::eof();
    if (c != traits_type::eof()) sputc(static_cast<char>(c));
    return traits_type::not_eof(c);
  }
  int sync() override {
    const char* from = pbase();
    while (from < pptr()) {
      const ssize_t n = ::write(number_, from, static_cast<std::size_t>(pptr() - from));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) {
        if (error_ == 0) error_ = n < 0 ? errno : EIO;
        return -1;
      }
      from += n;
    }
    setp(buffer_.data(), buffer_.data() + buffer_.size());
    return 0;
  }

private:
  int number_, error_ = 0;
  std::array<char, 1 << 14> buffer_;
};

// Nothing is written into a folder of another user, unless it is a trace and its process was
// started by this command.
std::string refusal(const Descriptor& folder, Into into) {
  if (into == Into::kAnyFolder) return {};
  if (owned_by_this_user(folder)) return {};
  if (into == Into::kOwnTrace) return "the folder belongs to another user";
  struct stat status = {};
  const bool is_trace = ::fstatat(folder.number(), "info", &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                        S_ISREG(status.st_mode);
  return is_trace ? std::string() : "the folder is no trace";
}

// A file of another process that was killed, or of another user, may have the first names.
Descriptor make_unfinished(const Descriptor& folder, const std::string& name,
                           std::string& unfinished) {
  for (int i = 0; i < kNamesTried; ++i) {
    unfinished = name + "." + std::to_string(::getpid()) + "." + std::to_string(i) + ".tmp";
    Descriptor file(::openat(folder.number(), unfinished.c_str(),
                             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
    if (file || errno != EEXIST) return file;
  }
  return Descriptor();
}

} // namespace

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

Descriptor open_in_folder(const fs::path& file) {
  const Descriptor folder = open_folder_of(file);
  if (!folder) return Descriptor();
  return open_file(folder.number(), file.filename().c_str(), O_RDONLY, O_NOFOLLOW);
}

Descriptor open_regular(const fs::path& file) {
  return open_file(AT_FDCWD, file.c_str(), O_RDONLY, 0);
}

bool is_file_in_folder(const fs::path& file) {
  struct stat status = {};
  return ::lstat(file.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

std::uintmax_t bytes_of(const Descriptor& file) {
  struct stat status = {};
  const bool known = file && ::fstat(file.number(), &status) == 0 && status.st_size > 0;
  return known ? static_cast<std::uintmax_t>(status.st_size) : 0;
}

std::optional<std::string> read_in_folder(const fs::path& file, std::size_t most) {
  const Descriptor descriptor = open_in_folder(file);
  if (!descriptor) return std::nullopt;
  std::string text;
  std::array<char, 1 << 14> buffer; // a limited stack may be no larger
  while (text.size() < most) {
    const std::size_t size = std::min(buffer.size(), most - text.size());
    const ssize_t n = ::read(descriptor.number(), buffer.data(), size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return std::nullopt;
    if (n == 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(n));
  }
  return text;
}

void for_each_line_of(const Descriptor& file, const std::function<bool(std::string_view)>& visit) {
  std::array<char, 1 << 14> buffer;
  std::string line;
  bool is_too_long = false;
  for (;;) {
    const ssize_t n = file ? ::read(file.number(), buffer.data(), buffer.size()) : 0;
    if (n < 0 && errno == EINTR) continue;
    std::string_view rest(buffer.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
    if (rest.empty()) break;
    while (!rest.empty()) {
      const std::size_t end = rest.find('\n');
      if (line.size() + std::min(end, rest.size()) > kLongestLine) is_too_long = true;
      if (is_too_long) line.clear();
      else line += rest.substr(0, end);
      if (end == std::string_view::npos) break;
      if (!visit(line)) return; // nothing, if it is too long
      line.clear();
      is_too_long = false;
      rest.remove_prefix(end + 1);
    }
  }
  if (!line.empty() || is_too_long) visit(line);
}

std::size_t read_at(int descriptor, void* into, std::size_t bytes, std::uint64_t offset) {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t n = ::pread(descriptor, static_cast<char*>(into) + done, bytes - done,
                              static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += static_cast<std::size_t>(n);
  }
  return done;
}

bool is_own_folder(const fs::path& folder) {
  return owned_by_this_user(open_folder_of(folder / "."));
}

WriteFailure replace_file(const fs::path& given, Into into,
                          const std::function<void(std::ostream&)>& write) {
  fs::path path = given;
  if (std::error_code error; into == Into::kAnyFolder) {
    const fs::file_status status = fs::status(given, error);
    // A rename would replace a device such as /dev/null
    if (fs::is_other(status)) return {"it is no regular file", "written to"};
    if (fs::is_symlink(given, error)) path = fs::weakly_canonical(given, error);
  }
  const Descriptor folder = open_folder_of(path);
  if (!folder) return {message_of(errno), "written to"};
  if (std::string why = refusal(folder, into); !why.empty()) return {std::move(why), "written to"};
  const std::string name = path.filename().string();
  std::string unfinished;
  Descriptor file = make_unfinished(folder, name, unfinished);
  if (!file) return {message_of(errno), "written to"};
  WriteFailure failure;
  DescriptorBuffer buffer(file.number());
  std::ostream out(&buffer);
  write(out);
  out.flush();
  if (!out || ::close(file.release()) != 0)
    failure = {message_of(buffer.error() != 0 ? buffer.error() : errno), "written to"};
  else if (::renameat(folder.number(), unfinished.c_str(), folder.number(), name.c_str()) != 0)
    failure = {message_of(errno), "renamed to"};
  if (failure) ::unlinkat(folder.number(), unfinished.c_str(), 0);
  return failure;
}

Descriptor open_to_append(const fs::path& file) {
  const Descriptor folder = open_folder_of(file);
  errno = EPERM;
  if (!owned_by_this_user(folder)) return Descriptor();
  Descriptor opened(::openat(folder.number(), file.filename().c_str(),
                             O_WRONLY | O_CREAT | O_NOFOLLOW | kNeverWait, 0600));
  struct stat status = {};
  if (!opened || ::fstat(opened.number(), &status) != 0) return Descriptor();
  errno = EPERM;
  const bool is_its = S_ISREG(status.st_mode) && is_of_this_user(status) && status.st_nlink == 1;
  return is_its ? std::move(opened) : Descriptor();
}

bool reaches_disk(int descriptor) {
  for (;;) {
    if (::fsync(descriptor) == 0) return true;
    if (errno != EINTR) return errno == EINVAL || errno == EROFS;
  }
}

bool reaches_disk(const fs::path& file) {
  const Descriptor opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  const fs::path parent = file.parent_path();
  const Descriptor folder(
    ::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return opened && folder && reaches_disk(opened.number()) && reaches_disk(folder.number());
}

} // namespace gmt
