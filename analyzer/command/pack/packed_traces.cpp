// SPDX-License-Identifier: Apache-2.0
#include "analyzer/command/pack/packed_traces.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <system_error>

#include "analyzer/base/disk.h"
#include "analyzer/base/folder_files.h"
#include "analyzer/base/text_format.h"
#include "analyzer/base/text_lines.h"
#include "analyzer/base/user_error.h"
#include "analyzer/command/pack/tar_file.h"

namespace gmt {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTemporary = "gpumemtrace-unpacked.";
// A file of a few kilobytes may unpack to terabytes of zeros. A trace does not: logs have zeros at
// their ends alone, at most some megabytes for each thread.
constexpr std::uint64_t kFewBytes = std::uint64_t{2} << 30, kMostTimes = 200;
constexpr std::size_t kMostFiles = 200'000;

UserError cannot_pack(const fs::path& file, std::string_view why) {
  return UserError(cat({"cannot pack into '", file.string(), "': ", why}), ExitStatus::kInternal);
}

UserError cannot_unpack(const fs::path& file, std::string_view why) {
  return UserError(cat({"cannot read the packed trace ", file.string(), ": ", why}),
                   ExitStatus::kUnreadableTrace);
}

// The names of the trace's files, sorted. A ring of a running process is a link, and stays out.
std::vector<std::string> files_to_pack(const fs::path& trace) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(trace, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.starts_with("gpu-core.") || name.ends_with(".tmp") || name.ends_with(".new")) continue;
    if (is_file_in_folder(it->path())) names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

// Unpacked folders of this process, and of others that were killed.
class TemporaryFolders {
public:
  TemporaryFolders() = default;
  ~TemporaryFolders() {
    for (const auto& [folder, pack] : packs_) remove(folder);
  }
  TemporaryFolders(const TemporaryFolders&) = delete;
  TemporaryFolders& operator=(const TemporaryFolders&) = delete;

  fs::path make(const fs::path& pack) {
    std::error_code error;
    const fs::path parent = fs::temp_directory_path(error);
    if (error) throw cannot_unpack(pack, "no folder for temporary files: TMPDIR names none");
    remove_left(parent);
    std::string name = (parent / cat({kTemporary, std::to_string(::getpid()), ".XXXXXX"})).string();
    if (::mkdtemp(name.data()) == nullptr)
      throw cannot_unpack(pack, cat({parent.string(), ": ", std::generic_category().message(errno),
                                     "; TMPDIR may name another folder"}));
    packs_[name] = pack;
    return name;
  }

  const std::map<fs::path, fs::path>& packs() const { return packs_; }

private:
  static void remove(const fs::path& folder) {
    std::error_code error;
    fs::remove_all(folder, error);
  }

  static void remove_left(const fs::path& parent) {
    std::error_code error;
    for (fs::directory_iterator it(parent, error), end; !error && it != end; it.increment(error)) {
      const std::string name = it->path().filename().string();
      if (!name.starts_with(kTemporary) || !is_own_folder(it->path())) continue;
      const auto pid = parse_number<pid_t>(
        std::string_view(name).substr(kTemporary.size(), name.rfind('.') - kTemporary.size()));
      if (pid && ::kill(*pid, 0) != 0 && errno == ESRCH) remove(it->path());
    }
  }

  std::map<fs::path, fs::path> packs_; // the file of each folder
};

TemporaryFolders& folders() {
  static TemporaryFolders all;
  return all;
}

// Writes the entries of an archive into a folder.
class Unpacking {
public:
  Unpacking(const fs::path& pack, fs::path into) : into_(std::move(into)) {
    std::error_code error;
    most_ = kFewBytes + kMostTimes * fs::file_size(pack, error);
  }

  std::string begin(const TarEntry& entry) {
    if (std::string why = close(); !why.empty()) return why;
    if (!entry.folder.starts_with("gpumemtrace.") || ++files_ > kMostFiles)
      return "it holds more than traces";
    if (entry.bytes > most_ - std::min(most_, bytes_))
      return cat({"it would unpack to more than ", format_bytes(most_), ", which no trace does"});
    bytes_ += entry.bytes;
    std::error_code error;
    const fs::space_info space = fs::space(into_, error);
    if (!error && entry.bytes > space.available)
      return cat({"it needs ", format_bytes(entry.bytes), " in ", into_.parent_path().string(),
                  "; TMPDIR may name another folder"});
    const fs::path folder = into_ / entry.folder;
    if (folders_.insert(folder).second && ::mkdir(folder.c_str(), 0700) != 0) return reason();
    file_ = Descriptor(::open((folder / entry.name).c_str(),
                              O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    size_ = 0;
    return file_ ? std::string() : reason();
  }

  std::string write(std::span<const char> bytes) {
    // Zeros take no room on the disk.
    const bool is_empty = std::ranges::all_of(bytes, [](char c) { return c == '\0'; });
    std::size_t done = is_empty ? bytes.size() : 0;
    while (done < bytes.size()) {
      const ssize_t n = ::pwrite(file_.number(), bytes.data() + done, bytes.size() - done,
                                 static_cast<off_t>(size_ + done));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return reason();
      done += static_cast<std::size_t>(n);
    }
    size_ += bytes.size();
    return {};
  }

  std::string close() {
    const bool fits = !file_ || ::ftruncate(file_.number(), static_cast<off_t>(size_)) == 0;
    std::string why = fits ? std::string() : reason();
    file_ = Descriptor();
    return why;
  }

  std::vector<fs::path> traces() const {
    std::vector<fs::path> traces;
    std::ranges::copy_if(folders_, std::back_inserter(traces), is_trace);
    return traces;
  }

private:
  std::string reason() const {
    return cat({into_.parent_path().string(), ": ", std::generic_category().message(errno)});
  }

  const fs::path into_;
  std::uint64_t most_ = 0, bytes_ = 0;
  std::size_t files_ = 0;
  std::set<fs::path> folders_;
  Descriptor file_;
  std::uint64_t size_ = 0;
};

} // namespace

std::uint64_t pack_traces(const std::vector<TraceHead>& traces, const fs::path& file) {
  std::string problem;
  const WriteFailure failure = replace_file(file, Into::kAnyFolder, [&](std::ostream& out) {
    TarWriter tar(out);
    for (const TraceHead& trace : traces) {
      const std::string folder = fs::canonical(trace.path).filename().string();
      for (const std::string& name : files_to_pack(trace.path)) {
        const Descriptor opened = open_in_folder(trace.path / name);
        if (!opened) problem = cat({(trace.path / name).string(), " cannot be read"});
        else tar.add(folder, name, opened);
      }
    }
    tar.finish();
  });
  if (failure) throw cannot_pack(file, failure.why);
  if (!problem.empty()) throw cannot_pack(file, problem);
  // The folders may be removed next.
  if (!reaches_disk(file)) throw cannot_pack(file, std::generic_category().message(errno));
  std::error_code error;
  return fs::file_size(file, error);
}

bool is_pack(const fs::path& file) { return is_packed_file(file); }

std::vector<fs::path> unpacked_traces(const fs::path& pack) {
  Unpacking unpacking(pack, folders().make(pack));
  std::string why = read_tar(
    pack, [&unpacking](const TarEntry& entry) { return unpacking.begin(entry); },
    [&unpacking](std::span<const char> bytes) { return unpacking.write(bytes); });
  if (why.empty()) why = unpacking.close();
  if (!why.empty()) throw cannot_unpack(pack, why);
  std::vector<fs::path> traces = unpacking.traces();
  if (traces.empty()) throw cannot_unpack(pack, "it holds no trace");
  return traces;
}

fs::path one_trace(const std::string& word) {
  if (!is_pack(word)) return word;
  const std::vector<fs::path> traces = unpacked_traces(word);
  if (traces.size() == 1) return traces.front();
  throw UserError(cat({word, " holds ", std::to_string(traces.size()),
                       " traces; 'gpumemtrace report' reads all of them, and 'tar --zstd -xf ",
                       word, "' makes folders of them"}),
                  ExitStatus::kUsage);
}

std::string shown_trace(const fs::path& trace) {
  const auto found = folders().packs().find(trace.parent_path());
  return found == folders().packs().end() ? trace.string()
                                          : (found->second / trace.filename()).string();
}

fs::path trace_shown_as(const std::string& shown) {
  const fs::path path(shown);
  for (const auto& [folder, pack] : folders().packs())
    if (path.parent_path() == pack) return folder / path.filename();
  return path;
}

} // namespace gmt
