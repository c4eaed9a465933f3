// SPDX-License-Identifier: Apache-2.0
// A C++ program that throws through its own frames while CUDA calls are traced. Which library its
// unwinder comes from is what test_install.py looks at. The driver is opened and called without any
// CUDA header.
#include <dlfcn.h>

#include <cstdio>
#include <stdexcept>

namespace {

using Init = int (*)(unsigned);
using Allocate = int (*)(unsigned long long*, std::size_t);

[[gnu::noinline]] void call_and_throw() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == nullptr) throw std::runtime_error("no driver");
  const auto init = reinterpret_cast<Init>(dlsym(driver, "cuInit"));
  const auto allocate = reinterpret_cast<Allocate>(dlsym(driver, "cuMemAlloc_v2"));
  unsigned long long block = 0;
  if (init == nullptr || allocate == nullptr || init(0) != 0) throw std::runtime_error("no device");
  allocate(&block, 4096); // without a context: refused, and recorded
  throw std::logic_error("as intended");
}

} // namespace

int main() {
  for (int i = 0; i < 3; ++i) {
    try {
      call_and_throw();
    } catch (const std::logic_error&) {
      continue;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      return 1;
    }
  }
  std::puts("caught");
}
