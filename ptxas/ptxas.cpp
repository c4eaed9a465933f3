// SPDX-License-Identifier: Apache-2.0
// Stands in the place of NVIDIA's ptxas where a program calls that itself (Triton and what is built
// on it, by TRITON_PTXAS_PATH). Its output is the PTX as it was given, but for some wrong lines of
// the source, with a zero behind it. A driver takes text wherever it takes machine code (CUDA
// Driver API, cuModuleLoadData), and what it is given there gets checks first.
//
// usage: ptxas [OPTION]... INPUT.ptx -o OUTPUT
//        ptxas --version     the newest PTX that may be written, as ptxas words it
//
// Other options are read and left out: the driver compiles for its own device. Exit status: 0, or
// 255 as ptxas has it, with one line of what is wrong.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace {

constexpr int kFailed = 255;

int fail(const std::string& why) {
  std::fprintf(stderr, "ptxas of gpumemtrace: %s\n", why.c_str());
  return kFailed;
}

// Callers ask the version to know which PTX they may write. It is the driver's, but no later than
// kNewest: Triton before 3.5 refuses releases from 13 on, and no processor with which this program
// runs has a GPU that needs newer PTX.
constexpr int kNewest = 12090; // as cuDriverGetVersion writes 12.9

int print_version() {
  using DriverGetVersion = int (*)(int*);
  int version = 0;
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == nullptr) return fail("there is no driver (libcuda.so.1) that could compile PTX");
  const auto ask = reinterpret_cast<DriverGetVersion>(dlsym(driver, "cuDriverGetVersion"));
  if (ask == nullptr || ask(&version) != 0) return fail("the driver does not tell its version");
  version = std::min(version, kNewest);
  const int major = version / 1000, minor = version % 1000 / 10;
  std::printf("ptxas: gpumemtrace's, which leaves the work to the driver\n"
              "Cuda compilation tools, release %d.%d, V%d.%d.0\n",
              major, minor, major, minor);
  return 0;
}

// Triton writes accesses as inline assembly. LLVM counts the lines of its text on from the line of
// the source, so that the second one would name the next line: only the first .loc of such a block
// is right.
std::string with_right_lines(std::string_view text) {
  constexpr std::string_view kBegin = "// begin inline asm", kEnd = "// end inline asm";
  std::string result;
  result.reserve(text.size());
  bool is_inline = false, has_line = false;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, std::min(text.find('\n'), text.size() - 1) + 1);
    text.remove_prefix(line.size());
    const std::size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
    const std::string_view words = line.substr(begin);
    if (words.starts_with(kBegin)) {
      is_inline = true;
      has_line = false;
    }
    if (words.starts_with(kEnd)) is_inline = false;
    const bool is_line = is_inline && words.starts_with(".loc");
    if (!is_line || !has_line) result += line;
    has_line = has_line || is_line;
  }
  return result;
}

int copy(const char* input, const char* output) {
  std::ifstream in(input, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (!in) return fail("cannot read '" + std::string(input) + "': " + std::strerror(errno));
  if (text.find(".version") == std::string::npos)
    return fail("'" + std::string(input) + "' is no PTX");
  text = with_right_lines(text);
  text.push_back('\0');
  std::ofstream out(output, std::ios::binary);
  out << text << std::flush;
  if (!out) return fail("cannot write '" + std::string(output) + "': " + std::strerror(errno));
  return 0;
}

} // namespace

int main(int count, char** words) {
  const char* input = nullptr;
  const char* output = nullptr;
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    if (word == "--version" || word == "-V") return print_version();
    if ((word == "-o" || word == "--output-file") && i + 1 < count) output = words[++i];
    else if (word.ends_with(".ptx")) input = words[i];
  }
  if (input == nullptr || output == nullptr) return fail("needs INPUT.ptx and -o OUTPUT");
  return copy(input, output);
}
