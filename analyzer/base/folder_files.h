// SPDX-License-Identifier: Apache-2.0
// Files of folders that another user may have made: a trace may come from anybody. They are opened
// relative to a descriptor of their folder. A link of the file's name is never followed, and no
// call waits for a pipe. What is written is made under a new name, then renamed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace gmt {

// A file descriptor that is closed at the end.
class Descriptor {
public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  explicit operator bool() const { return number_ >= 0; }
  int number() const { return number_; }
  int release() { return std::exchange(number_, -1); }

private:
  int number_;
};

// For reading. Only regular files are opened; errno says why another is not.
Descriptor open_in_folder(const std::filesystem::path& file);
// The same, but links are followed: for files that the user names, or the system.
Descriptor open_regular(const std::filesystem::path& file);

// Whether it is a regular file itself, no link to one.
bool is_file_in_folder(const std::filesystem::path& file);
std::uintmax_t bytes_of(const Descriptor& file); // 0 if it is not known

// Its first bytes, `most` at most; nothing if it cannot be opened or read.
std::optional<std::string> read_in_folder(const std::filesystem::path& file, std::size_t most);

// Reads until `bytes` are there or the file ends.
std::size_t read_at(int descriptor, void* into, std::size_t bytes, std::uint64_t offset);

// Calls visit(line) for each line without its end, until it answers false. Of a line longer than
// a megabyte it sees an empty one.
void for_each_line_of(const Descriptor& file, const std::function<bool(std::string_view)>& visit);

// Whether the folder belongs to the user of this process.
bool is_own_folder(const std::filesystem::path& folder);

// Why a file could not be written; both empty on success.
struct WriteFailure {
  std::string why;
  const char* what = ""; // "written to", "renamed to"

  explicit operator bool() const { return !why.empty(); }
};

enum class Into {
  kOwnTrace,  // a trace of this user: nothing is stored in another's
  kTrace,     // a trace of a process that this command started, maybe as another user
  kAnyFolder, // one that the user named
};

// Writes to a name of its own and renames, so that two reports at once, or one that is killed,
// never leave half a file. In a folder that the user named, a link is followed, and only a regular
// file is replaced.
WriteFailure replace_file(const std::filesystem::path& path, Into into,
                          const std::function<void(std::ostream&)>& write);

// Opens a file of an own folder to write behind its end; makes it if there is none. Not one that
// has a second name elsewhere. errno says why.
Descriptor open_to_append(const std::filesystem::path& file);

} // namespace gmt
