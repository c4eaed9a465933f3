// SPDX-License-Identifier: Apache-2.0
// rewrite_ptx [--bounds never|loops|always] [--table ADDRESS] [--registers FILE] [--written yes|no]
// [--inline ACCESSES] [--copied ACCESSES] [--large ACCESSES] IN OUT: writes the PTX of IN with
// checks to OUT, and OUT.sites with a line for each site. stderr names what is not checked. A line
// of FILE is a kernel and how many registers its checked form may use.
#include <cstdio>
#include <exception>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "rewriter/rewriter.h"

namespace {

using namespace gmt::rewriter;

bool set_option(Options& options, std::string_view name, const std::string& value) {
  if (name == "--table" || name == "--window") {
    (name == "--table" ? options.table : options.window) = std::stoull(value, nullptr, 0);
    return true;
  }
  if (name == "--registers") {
    std::map<std::string, std::uint32_t, std::less<>> most;
    std::ifstream file(value);
    std::string kernel;
    for (std::uint32_t count = 0; file >> kernel >> count;) most[kernel] = count;
    options.most_registers = [most](std::string_view asked) {
      const auto found = most.find(asked);
      return found == most.end() ? 0 : found->second;
    };
    return !most.empty();
  }
  if (name == "--inline") {
    options.most_inline = static_cast<std::uint32_t>(std::stoul(value));
    return true;
  }
  if (name == "--copied") {
    options.most_copied = static_cast<std::uint32_t>(std::stoul(value));
    return true;
  }
  if (name == "--large") {
    options.large_text = static_cast<std::uint32_t>(std::stoul(value));
    return true;
  }
  if (name == "--written") {
    options.checks_written = value == "yes";
    return true;
  }
  if (name != "--bounds") return false;
  if (value == "never") options.bounds = Bounds::kNever;
  else if (value == "loops") options.bounds = Bounds::kInLoops;
  else if (value == "always") options.bounds = Bounds::kAlways;
  else return false;
  return true;
}

void write_sites(const Rewritten& rewritten, const std::string& path) {
  std::ofstream file(path);
  for (std::size_t i = 0; i < rewritten.sites.size(); ++i) {
    const Site& site = rewritten.sites[i];
    file << i << '\t' << site.function << '\t' << site.ptx_line << '\t' << site.instruction;
    for (const SourceLine& line : site.lines)
      file << '\t' << line.file << ':' << line.line << ' ' << line.function;
    file << '\n';
  }
}

int rewrite_file(int argc, char** argv) {
  Options options;
  std::vector<std::string> paths;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (!word.starts_with("--")) paths.emplace_back(word);
    else if (i + 1 == argc || !set_option(options, word, argv[++i])) paths.clear();
  }
  if (paths.size() != 2) {
    std::fprintf(
      stderr,
      "usage: %s [--bounds never|loops|always] [--table ADDRESS] [--window ADDRESS] "
      "[--registers FILE] [--written yes|no] [--inline ACCESSES] [--copied ACCESSES] [--large ACCESSES] IN OUT\n",
      argv[0]);
    return 2;
  }
  std::ifstream file(paths[0], std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const Rewritten rewritten = rewrite(text, options);
  for (const Unchecked& unchecked : rewritten.unchecked)
    std::fprintf(stderr, "%s: %s\n", unchecked.function.c_str(), unchecked.reason.c_str());
  std::ofstream(paths[1], std::ios::binary) << rewritten.text;
  write_sites(rewritten, paths[1] + ".sites");
  std::printf("%zu kernels, %zu sites\n", rewritten.kernels.size(), rewritten.sites.size());
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  try {
    return rewrite_file(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
