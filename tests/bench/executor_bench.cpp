// SPDX-License-Identifier: Apache-2.0
// Thread-instructions a second of the executor with all checks, on one core: seven kernels, each
// with its results verified, and products on tensor cores. Then how much sooner two workers are
// done, and what they cost in processor time; the first needs two idle cores. Run it by hand:
// executor_bench executor_kernels.ptx [times [full|no-races]]; full: with registers tracked
#include "simulated_cuda/executor/executor.h"

#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>

namespace {

using namespace gmt::executor;

constexpr std::uint64_t kBase = 0x700000000000ull, kBytes = std::uint64_t{1} << 30;
constexpr int kElements = 1 << 20;

double seconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// The least of several runs.
struct Times {
  double processor = 1e9, wall = 1e9;
};

struct Listener : Observer {
  void report(const Report& r) override {
    std::printf("report %d: %s\n", static_cast<int>(r.kind), r.location.instruction.c_str());
  }
};

class Bench {
public:
  Bench(Module& module, int times, Checks checks, bool looks_for_races)
      : module_(module), times_(times), checks_(checks), looks_for_races_(looks_for_races) {
    host_ = static_cast<std::byte*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    memory_.add_region(kBase, kBytes, host_);
    for (std::uint64_t& address : addresses_) {
      address = next_;
      next_ += kElements * 4 + 4096;
      memory_.allocate(address, kElements * 4);
    }
    for (int i = 0; i < 2; ++i) memory_.mark_initialized(addresses_[i], kElements * 4);
  }

  float* floats(int which) { return reinterpret_cast<float*>(host_ + (addresses_[which] - kBase)); }

  void run(const char* name, const char* kernel, Extent grid, Extent block, int n,
           const std::function<bool(const float*)>& is_right, double operations = 0) {
    std::byte parameters[28];
    std::memcpy(parameters, addresses_, 24);
    std::memcpy(parameters + 24, &n, 4);
    Launch launch;
    launch.module = &module_;
    launch.kernel = module_.find_kernel(kernel);
    launch.grid = grid;
    launch.block = block;
    launch.parameters = parameters;
    launch.memory = &memory_;
    launch.checks = checks_;
    if (!looks_for_races_) launch.limits.race_bytes = 0; // no more than one block does
    launch.block_at = [this](std::uint64_t address, std::uint64_t* begin, std::uint64_t* bytes) {
      for (const std::uint64_t allocated : addresses_) {
        *begin = allocated;
        *bytes = kElements * 4;
        if (address - allocated < *bytes) return true;
      }
      return false;
    };
    Outcome outcome;
    Times one, two;
    for (int i = 0; i < times_; ++i) {
      outcome = measure(launch, 1, one);
      measure(launch, 2, two);
    }
    const double rate = static_cast<double>(outcome.thread_instructions) / one.processor / 1e6;
    std::printf("%-22s %7.1f M thread-instructions/s %7.2f M warp-instructions/s %s; "
                "2 workers: %.2f x as fast, %.2f x the work\n",
                name, rate, static_cast<double>(outcome.warp_instructions) / one.processor / 1e6,
                is_right(floats(2)) ? "right" : "WRONG", one.wall / two.wall,
                two.processor / one.processor);
    if (operations > 0) {
      std::printf("%-22s %7.2f thousand million operations a second\n", "",
                  operations / one.processor / 1e9);
    } else if (block.count() > 1) {
      logarithms_ += std::log(rate);
      sooner_ += std::log(one.wall / two.wall);
      ++kernels_;
    }
  }

  void finish() const {
    std::printf("geometric mean of %d: %.0f M thread-instructions/s; 2 workers: %.2f x as fast\n",
                kernels_, std::exp(logarithms_ / kernels_), std::exp(sooner_ / kernels_));
  }

private:
  Outcome measure(Launch launch, unsigned workers, Times& least) {
    launch.workers = workers;
    const double processor = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    const double wall = seconds_of(CLOCK_MONOTONIC);
    const Outcome outcome = gmt::executor::run(launch, listener_);
    least.wall = std::min(least.wall, seconds_of(CLOCK_MONOTONIC) - wall);
    least.processor = std::min(least.processor, seconds_of(CLOCK_PROCESS_CPUTIME_ID) - processor);
    return outcome;
  }

  Module& module_;
  int times_;
  Checks checks_;
  bool looks_for_races_;
  std::byte* host_ = nullptr;
  Memory memory_;
  Listener listener_;
  std::uint64_t next_ = kBase + 4096, addresses_[3] = {};
  double logarithms_ = 0, sooner_ = 0;
  int kernels_ = 0;
};

// Matrices of f16, whose sums are exact as f32.
void run_products(Bench& bench) {
  constexpr int kTimes = 1000, kSize = 512;
  constexpr std::uint16_t kHalves[] = {0x3c00, 0x4000, 0xbc00, 0x3800, 0}; // 1, 2, -1, 0.5, 0
  constexpr float kValues[] = {1, 2, -1, 0.5f, 0};
  auto* a = reinterpret_cast<std::uint16_t*>(bench.floats(0));
  auto* b = reinterpret_cast<std::uint16_t*>(bench.floats(1));
  const auto of_a = [](int i) { return i * 7 % 5; };
  const auto of_b = [](int i) { return i * 11 % 4; };
  for (int i = 0; i < kSize * kSize; ++i) {
    a[i] = kHalves[of_a(i)];
    b[i] = kHalves[of_b(i)];
  }
  const auto element = [&](int row, int column, int size) {
    float sum = 0;
    for (int k = 0; k < size; ++k)
      sum += kValues[of_a(row * size + k)] * kValues[of_b(k * size + column)];
    return sum;
  };
  bench.run(
    "tensor cores alone", "products", {4}, {32}, kTimes,
    [&](const float* c) { return c[3 * 16 + 5] == kTimes * element(3, 5, 16); },
    4.0 * kTimes * 2 * 16 * 16 * 16);
  bench.run(
    "tensor cores, 512^3", "tiles", {kSize * kSize / 256 / 4}, {128}, kSize,
    [&](const float* c) { return c[37 * kSize + 41] == element(37, 41, kSize); },
    2.0 * kSize * kSize * kSize);
}

void run_all(Bench& bench) {
  float* a = bench.floats(0);
  float* b = bench.floats(1);
  const std::uint32_t blocks = kElements / 256;
  for (int i = 0; i < kElements; ++i) {
    a[i] = static_cast<float>(i % 7);
    b[i] = static_cast<float>(i % 5);
  }
  bench.run("vector add", "vector_add", {blocks}, {256}, kElements, [&](const float* c) {
    return std::equal(c, c + kElements, a,
                      [&](const float& x, const float& y) { return x == y + b[&y - a]; });
  });
  const auto right_product = [&](const float* c) {
    float want = 0;
    for (int k = 0; k < 256; ++k) want = std::fma(a[37 * 256 + k], b[k * 256 + 41], want);
    return c[37 * 256 + 41] == want;
  };
  bench.run("matmul 16x16", "matmul", {16, 16}, {16, 16}, 256, right_product);
  bench.run("matmul 32x8", "matmul", {8, 32}, {32, 8}, 256, right_product);
  bench.run("block reduction", "reduction", {blocks}, {256}, kElements, [&](const float* c) {
    float want = 0;
    for (int k = 0; k < 256; ++k) want += a[5 * 256 + k];
    return c[5] == want;
  });
  bench.run("shared scan", "scan", {blocks}, {256}, kElements, [&](const float* c) {
    float want = 0;
    for (int k = 0; k < 100; ++k) want += a[9 * 256 + k];
    return c[9 * 256 + 99] == want;
  });
  bench.run("mandelbrot", "mandelbrot", {32, 32}, {16, 16}, 512,
            [&](const float* c) { return c[0] == 1.0f && c[256 * 512 + 300] == 256.0f; });
  auto* index = reinterpret_cast<std::uint32_t*>(b);
  std::uint64_t x = 1;
  for (int i = 0; i < kElements; ++i) {
    x = x * 6364136223846793005ull + 1442695040888963407ull;
    index[i] = static_cast<std::uint32_t>((x >> 33) % kElements);
  }
  bench.run("random gather", "gather", {blocks}, {256}, kElements,
            [&](const float* c) { return c[77] == 2 * a[index[77]]; });
  bench.run("mandelbrot, one lane", "mandelbrot", {128, 128}, {1, 1}, 128,
            [&](const float* c) { return c[0] == 1.0f; });
  run_products(bench);
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  std::ifstream file(argv[1]);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const std::string_view texts[] = {text};
  std::string error;
  const auto module = Module::load(texts, &error);
  if (!module) {
    std::printf("%s\n", error.c_str());
    return 1;
  }
  const std::string_view way = argc > 3 ? argv[3] : "";
  Bench bench(*module, argc > 2 ? std::atoi(argv[2]) : 5,
              way == "full" ? Checks::kFull : Checks::kDefault, way != "no-races");
  run_all(bench);
  bench.finish();
  return 0;
}
