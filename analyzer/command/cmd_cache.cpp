// SPDX-License-Identifier: Apache-2.0
// `cache`: what runs with --kernel-checks keep for later ones, by folder, and how to empty it. Only
// the folders that such runs make are ever removed, never through a link.

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "analyzer/base/printable.h"
#include "analyzer/base/text_format.h"
#include "analyzer/command/command.h"
#include "analyzer/command/console.h"
#include "analyzer/command/run/environment.h"

namespace gmt {

namespace {

namespace fs = std::filesystem;

constexpr std::pair<std::string_view, std::string_view> kFolders[] = {
  {"code", "checked code, compiled"},
  {"triton", "what Triton compiled"},
  {"inductor", "what torch.compile compiled"},
  {"cupy", "what CuPy compiled"},
};

struct Size {
  std::uint64_t bytes = 0, files = 0;
};

Size size_of(const fs::path& folder) {
  Size size;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    std::error_code unknown;
    if (it->is_symlink(unknown) || !it->is_regular_file(unknown)) continue;
    size.bytes += it->file_size(unknown);
    ++size.files;
  }
  return size;
}

// Why it stays; empty: it is gone.
std::string remove_folder(const fs::path& folder) {
  std::error_code error;
  if (fs::is_symlink(folder, error)) return "it is a link";
  fs::remove_all(folder, error);
  return error ? error.message() : std::string();
}

} // namespace

int command_cache(const Settings& settings) {
  if (!settings.words.empty())
    throw UserError("'cache' takes options alone, and '" + settings.words[0] + "' is none",
                    ExitStatus::kUsage);
  const fs::path cache = cache_folder();
  if (cache.empty())
    throw UserError("there is no folder for caches: neither XDG_CACHE_HOME nor HOME is set",
                    ExitStatus::kUsage);
  Size all;
  bool has_kept = false;
  std::string text = printable(cache.string()) + "\n";
  for (const auto& [name, what] : kFolders) {
    std::error_code error;
    const fs::path folder = cache / name;
    if (!fs::exists(fs::symlink_status(folder, error))) continue;
    const Size size = size_of(folder);
    const std::string problem = settings.remove ? remove_folder(folder) : std::string();
    text += fmt::format("{:>10}  {:>9}  {:<9} {}{}\n", format_bytes(size.bytes),
                        format_plural(size.files, "file"), name, what,
                        problem.empty() ? "" : "  (stays: " + problem + ")");
    has_kept |= !problem.empty();
    if (!problem.empty()) continue;
    all.bytes += size.bytes;
    all.files += size.files;
  }
  const std::string sum = format_plural(all.files, "file") + ", " + format_bytes(all.bytes);
  if (settings.remove) text += "removed " + sum + "\n";
  else text += sum + (all.files != 0 ? "; 'gpumemtrace cache --remove' removes them" : "") + "\n";
  write_output(STDOUT_FILENO, "standard output", text);
  return has_kept ? static_cast<int>(ExitStatus::kFindings) : 0;
}

} // namespace gmt
