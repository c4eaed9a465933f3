// SPDX-License-Identifier: Apache-2.0
// The loader's search, done by hand; see library_search.h. /etc/ld.so.cache is read in glibc's
// format since 2.2
// ("glibc-ld.so.cache1.1", alone or behind the old table); a cache in any other format is passed
// over.

#include "analyzer/command/run/library_search.h"

#include <sys/auxv.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "analyzer/command/run/child_process.h"
#include "analyzer/command/run/plain_path.h"

namespace gmt {

namespace {

namespace fs = std::filesystem;

bool is_file(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

std::vector<std::string> split_folders(const std::string& list, const std::string& origin) {
  std::vector<std::string> folders;
  std::istringstream stream(list);
  for (std::string folder; std::getline(stream, folder, ':');) {
    for (const std::string token : {"${ORIGIN}", "$ORIGIN"})
      if (const std::size_t at = folder.find(token); at != std::string::npos)
        folder.replace(at, token.size(), origin);
    if (!folder.empty()) folders.push_back(folder);
  }
  return folders;
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// Every path that the loader's cache has for the soname.
std::vector<std::string> cached(const std::string& soname) {
  struct Header { // struct cache_file_new of glibc
    char magic[20];
    std::uint32_t libraries, strings;
    std::uint32_t unused[5];
  };
  struct Entry {
    std::int32_t flags;
    std::uint32_t key, value, version;
    std::uint64_t hardware;
  };
  constexpr char kMagic[] = "glibc-ld.so.cache1.1";
  std::ifstream file("/etc/ld.so.cache", std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::size_t start = bytes.find(kMagic);
  std::vector<std::string> paths;
  Header header;
  if (start == std::string::npos || bytes.size() - start < sizeof header) return paths;
  const std::string_view cache = std::string_view(bytes).substr(start);
  std::memcpy(&header, cache.data(), sizeof header);
  const auto text = [&](std::uint32_t offset) {
    const std::string_view rest = offset < cache.size() ? cache.substr(offset) : std::string_view();
    return std::string(rest.substr(0, rest.find('\0')));
  };
  for (std::size_t i = 0; i < header.libraries; ++i) {
    Entry entry;
    const std::size_t at = sizeof header + i * sizeof entry;
    if (at + sizeof entry > cache.size()) break;
    std::memcpy(&entry, cache.data() + at, sizeof entry);
    if (text(entry.key) == soname) paths.push_back(text(entry.value));
  }
  return paths;
}

// Without /proc by the path that the command was started with.
std::string command_folder() {
  std::error_code error;
  fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error) {
    const auto* started = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
    self = fs::canonical(started != nullptr ? started : "", error);
  }
  return self.parent_path().string();
}

[[noreturn]] void missing(const std::string& what) {
  std::error_code error;
  const bool knows_itself = fs::exists("/proc/self/exe", error);
  throw UserError(
    what +
      (knows_itself ? " is not where it was installed; reinstall gpumemtrace, or set "
                    : " was not found, since /proc is not there to tell where gpumemtrace itself "
                      "is; mount it, or set ") +
      "GPUMEMTRACE_LIBDIR to the folder that holds libgpumemtrace.so",
    kCannotStart);
}

} // namespace

std::optional<std::string> find_library(const std::string& soname, const ElfFacts* requester,
                                        const std::string& requester_path) {
  std::error_code error;
  const std::string origin = fs::absolute(requester_path, error).parent_path().string();
  std::vector<std::string> folders;
  const auto add = [&](const std::string& list) {
    for (std::string& folder : split_folders(list, origin)) folders.push_back(std::move(folder));
  };
  if (requester && requester->runpath.empty()) add(requester->rpath);
  add(environment("LD_LIBRARY_PATH"));
  if (requester) add(requester->runpath);

  std::vector<std::string> candidates;
  for (const std::string& folder : folders) candidates.push_back(folder + "/" + soname);
  for (std::string& path : cached(soname)) candidates.push_back(std::move(path));
  for (const char* folder :
       {"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib"})
    candidates.push_back(std::string(folder) + "/" + soname);
  for (const std::string& candidate : candidates)
    if (is_file(candidate) && built_for_this_machine(read_elf_facts(candidate))) return candidate;
  return std::nullopt;
}

bool driver_present() {
  bool node = false; // the driver's own, WSL's, and the integrated GPUs' of Tegra
  for (const char* path : {"/dev/nvidiactl", "/dev/dxg", "/dev/nvmap"})
    node = node || ::access(path, F_OK) == 0;
  if (!node) return false;
  for (const char* path :
       {"/usr/local/nvidia/lib64/libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1",
        "/usr/lib/aarch64-linux-gnu/nvidia/libcuda.so.1", "/run/opengl-driver/lib/libcuda.so.1"})
    if (is_file(path)) return true;
  return find_library("libcuda.so.1", nullptr, "").has_value();
}

Install find_install(bool need_simulated) {
  Install install;
  const std::string given = environment("GPUMEMTRACE_LIBDIR");
  const std::string here = command_folder();
  std::vector<std::string> folders;
  if (!given.empty()) {
    folders = {given};
  } else {
    for (const char* lib :
         {"/../lib/gpumemtrace", "/../lib64/gpumemtrace", "/../lib/x86_64-linux-gnu/gpumemtrace",
          "/../lib/aarch64-linux-gnu/gpumemtrace", "/../interposer"})
      folders.push_back(here + lib);
  }
  std::error_code error;
  for (const std::string& folder : folders) {
    if (!is_file(folder + "/libgpumemtrace.so")) continue;
    const auto plain = [&error](const std::string& path) {
      return plain_path_of(fs::weakly_canonical(path, error).string());
    };
    install.interposer = plain(folder) + "/libgpumemtrace.so";
    install.ptxas = plain(folder) + "/gpumemtrace-ptxas";
    for (const std::string& simulated : {folder + "/simulated", folder + "/../simulated_cuda"})
      if (install.simulated.empty() && is_file(simulated + "/libcuda.so.1"))
        install.simulated = plain(simulated);
    break;
  }
  if (install.interposer.empty()) missing("libgpumemtrace.so");
  if (need_simulated && install.simulated.empty()) missing("the simulated device (libcuda.so.1)");
  return install;
}

} // namespace gmt
