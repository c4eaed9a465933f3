// SPDX-License-Identifier: Apache-2.0
// The file of a captured launch: its name and how it gets there.
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cxxabi.h>
#include <fcntl.h>
#include <memory>
#include <sys/resource.h>

#include "interposer/kernel_checks/library/capture/capture.h"
#include "interposer/kernel_checks/library/driver.h"

namespace gmt::interposer::kernel_checks {

std::string readable(const std::string& linked) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
    abi::__cxa_demangle(linked.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && text != nullptr ? text.get() : linked;
}

namespace {

// The kernel's own name, of letters that a file's name may have.
std::string short_name(const std::string& linked) {
  std::string name = readable(linked);
  name = name.substr(0, name.find_first_of("(<"));
  if (const std::size_t colon = name.rfind(':'); colon != std::string::npos)
    name = name.substr(colon + 1);
  if (const std::size_t blank = name.rfind(' '); blank != std::string::npos)
    name = name.substr(blank + 1);
  std::erase_if(name, [](unsigned char c) { return std::isalnum(c) == 0 && c != '_'; });
  constexpr std::size_t kMost = 60;
  return name.empty() ? "kernel" : name.substr(0, kMost);
}

// More would end the process with SIGXFSZ.
rlim_t most_bytes_of_a_file() {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

} // namespace

std::string path_of_file(const trace::Capture& capture) {
  char folder[4096] = "";
  if (!core->toolkit.initial_environment("GPUMEMTRACE_DIR", folder, sizeof folder) ||
      folder[0] == '\0')
    std::strcpy(folder, ".");
  return std::string(folder) + "/gpumemtrace." + short_name(capture.kernel) + "." +
         std::to_string(capture.number) + "." + std::to_string(getpid()) + ".capture";
}

// Takes the place of what was there only when all of it is written. Of its owner alone, as it holds
// the program's data: what another user may have put at this name is not written into.
std::string write_file(const std::string& path, const trace::Capture& capture) {
  const std::string bytes = trace::write_capture(capture);
  if (bytes.empty()) return "there is no memory to compress it in";
  const std::string made = path + ".part";
  if (bytes.size() > most_bytes_of_a_file())
    return "'" + path + "' cannot be written: it is larger than this process may make files";
  unlink(made.c_str());
  const int file = open(made.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return "'" + made + "' cannot be written: " + std::strerror(errno);
  std::size_t done = 0;
  int error = 0;
  while (done < bytes.size() && error == 0) {
    const ssize_t n = write(file, bytes.data() + done, bytes.size() - done);
    if (n > 0) done += static_cast<std::size_t>(n);
    else if (n == 0 || errno != EINTR) error = n == 0 ? ENOSPC : errno;
  }
  if (close(file) != 0 && error == 0) error = errno;
  if (error == 0 && rename(made.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return {};
  unlink(made.c_str());
  return "'" + path + "' cannot be written: " + std::strerror(error);
}

} // namespace gmt::interposer::kernel_checks
