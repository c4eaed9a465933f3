// SPDX-License-Identifier: Apache-2.0
// kernel_checks FOLDER [small]: how long kernels take with checks in their PTX, on a GPU. FOLDER
// has plain.ptx and forms of it that rewrite_ptx wrote (make.sh). Each kernel runs plain and in
// each form; results must be equal and no form may report anything. At the end each form is to
// report accesses behind a block, and to go on. The status is 1 if a result differs, or a report is
// wrong or missing. It is one file because measurements and mistakes use the same forms.
#include <cuda.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/bench/kernel_checks/device_table.h"

namespace {

// ---------------------------------------------------------------- forms

struct Form {
  std::string name;
  CUmodule module = nullptr;
  bool knows_blocks = false; // which of them are wholly written
  double logs = 0;           // of the ratios
};

Form load(const std::string& folder, const std::string& name, bool knows_blocks = false) {
  std::ifstream file(folder + "/" + name + ".ptx", std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  if (text.empty()) {
    std::printf("%s/%s.ptx is not there\n", folder.c_str(), name.c_str());
    std::exit(1);
  }
  Form form{name};
  form.knows_blocks = knows_blocks;
  OK(cuModuleLoadData(&form.module, text.c_str()));
  CUdeviceptr variable = 0;
  std::size_t bytes = 0;
  if (cuModuleGetGlobal(&variable, &bytes, form.module, std::string(kTable).c_str()) ==
      CUDA_SUCCESS) {
    Placed placed = placed_of(options);
    placed.written = pages;
    OK(cuMemcpyHtoD(variable, &placed, sizeof placed));
  }
  return form;
}

CUdeviceptr variable_of(const Form& form, std::string_view name, std::size_t* bytes) {
  CUdeviceptr at = 0;
  OK(cuModuleGetGlobal(&at, bytes, form.module, std::string(name).c_str()));
  return at;
}

std::uint64_t mistakes_of(const Form& form) {
  std::size_t bytes = 0;
  const CUdeviceptr at = variable_of(form, kCounts, &bytes);
  std::vector<std::uint64_t> counts(bytes / 8);
  OK(cuMemcpyDtoH(counts.data(), at, bytes));
  std::uint64_t all = 0;
  for (const std::uint64_t count : counts) all += count;
  return all;
}

// ---------------------------------------------------------------- kernels

struct Case {
  const char* name;
  dim3 grid, block;
  std::vector<void*> arguments;
  CUdeviceptr out;
  std::size_t out_bytes;
};

CUfunction function_of(const Form& form, const char* name) {
  const std::string whole = (form.name == "plain" ? "" : std::string(kChecked)) + name;
  CUfunction function = nullptr;
  OK(cuModuleGetFunction(&function, form.module, whole.c_str()));
  return function;
}

// Behind the arguments stands the number that checked kernels take; plain ones do not see it.
void launch(CUfunction function, const Case& c) {
  std::uint64_t number = 1;
  std::vector<void*> arguments = c.arguments;
  arguments.push_back(&number);
  OK(cuLaunchKernel(function, c.grid.x, c.grid.y, c.grid.z, c.block.x, c.block.y, c.block.z, 0,
                    nullptr, arguments.data(), nullptr));
}

float time_of(const Form& form, const Case& c, int times) {
  CUevent begin, end;
  OK(cuEventCreate(&begin, 0));
  OK(cuEventCreate(&end, 0));
  std::vector<float> all;
  const CUfunction function = function_of(form, c.name);
  launch(function, c);
  for (int i = 0; i < times; ++i) {
    OK(cuEventRecord(begin, nullptr));
    launch(function, c);
    OK(cuEventRecord(end, nullptr));
    OK(cuEventSynchronize(end));
    float milliseconds = 0;
    OK(cuEventElapsedTime(&milliseconds, begin, end));
    all.push_back(milliseconds);
  }
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

std::vector<char> result_of(const Form& form, const Case& c) {
  OK(cuMemsetD8(c.out, 0, c.out_bytes));
  set_written(c.out, c.out_bytes, true);
  launch(function_of(form, c.name), c);
  std::vector<char> bytes(c.out_bytes);
  OK(cuMemcpyDtoH(bytes.data(), c.out, c.out_bytes));
  return bytes;
}

void measure(std::vector<Form>& forms, const std::vector<Case>& cases, int times) {
  std::printf("%-22s %10s", "kernel", "plain, ms");
  for (std::size_t f = 1; f < forms.size(); ++f) std::printf(" %14s", forms[f].name.c_str());
  std::printf("   (registers, if they are more)\n");
  for (const Case& c : cases) {
    const float plain = time_of(forms[0], c, times);
    const std::vector<char> wanted = result_of(forms[0], c);
    std::printf("%-22s %10.3f", c.name, plain);
    int registers[9] = {};
    for (std::size_t f = 0; f < forms.size(); ++f) {
      OK(cuFuncGetAttribute(&registers[f], CU_FUNC_ATTRIBUTE_NUM_REGS,
                            function_of(forms[f], c.name)));
      if (f == 0) continue;
      know_blocks(forms[f].knows_blocks);
      const double ratio = time_of(forms[f], c, times) / plain;
      know_blocks(false);
      forms[f].logs += std::log(ratio);
      std::printf(" %6.2f (%2d>%2d)", ratio, registers[0], registers[f]);
      if (result_of(forms[f], c) != wanted) {
        std::printf(" DIFFERS");
        ++failures;
      }
    }
    std::printf("\n");
    std::fflush(stdout);
  }
  std::printf("%-22s %10s", "geometric mean", "");
  for (std::size_t f = 1; f < forms.size(); ++f)
    std::printf(" %6.3f        ", std::exp(forms[f].logs / static_cast<double>(cases.size())));
  std::printf("\n");
  for (std::size_t f = 1; f < forms.size(); ++f) {
    const std::uint64_t mistakes = mistakes_of(forms[f]);
    if (mistakes == 0) continue;
    std::printf("%s reports %llu mistakes where there are none\n", forms[f].name.c_str(),
                static_cast<unsigned long long>(mistakes));
    ++failures;
  }
}

// 40 threads read and write behind their blocks. In loops over a parameter's block, and without.
void make_mistakes(const std::vector<Form>& forms) {
  CUdeviceptr in = allocate(400), out = allocate(400);
  int n = 140;
  long more = 140;
  const std::vector<Case> cases = {{"vector_add", {1}, {256}, {&in, &in, &out, &n}, out, 400},
                                   {"copy4", {1}, {256}, {&in, &out, &more}, out, 400}};
  for (std::size_t f = 1; f < forms.size(); ++f) {
    for (const Case& c : cases) {
      const std::uint64_t before = mistakes_of(forms[f]);
      launch(function_of(forms[f], c.name), c);
      OK(cuCtxSynchronize());
      const std::uint64_t found = mistakes_of(forms[f]) - before;
      const std::uint64_t wanted = 40u * (c.arguments.size() - 1);
      std::printf("%s, %s: %llu mistakes, %llu expected\n", forms[f].name.c_str(), c.name,
                  static_cast<unsigned long long>(found), static_cast<unsigned long long>(wanted));
      if (found != wanted) ++failures;
    }
    std::size_t bytes = 0;
    Record record;
    OK(cuMemcpyDtoH(&record, variable_of(forms[f], kRecords, &bytes), sizeof record));
    std::printf("  the first record: site %u, entry %d, address %llx, block %u, thread %u\n",
                record.site, record.entry, static_cast<unsigned long long>(record.address),
                record.block[0], record.thread[0]);
    const bool is_right = record.address >= in + 400 || record.address >= out + 400;
    if (!is_right || record.thread[0] < 100 || record.thread[0] >= 140) ++failures;
  }
}

// 100 threads read what nothing wrote, and then what a kernel has written.
void read_unwritten(const Form& form) {
  CUdeviceptr in = allocate(400), out = allocate(400);
  set_written(in, 400, false);
  int n = 100;
  const auto found = [&](const Case& c) {
    const std::uint64_t before = mistakes_of(form);
    launch(function_of(form, c.name), c);
    OK(cuCtxSynchronize());
    return static_cast<unsigned long long>(mistakes_of(form) - before);
  };
  const unsigned long long first =
    found({"vector_add", {1}, {256}, {&in, &in, &out, &n}, out, 400});
  long all = 100;
  const unsigned long long copied = found({"copy4", {1}, {256}, {&out, &in, &all}, in, 400});
  const unsigned long long then = found({"vector_add", {1}, {256}, {&in, &in, &out, &n}, out, 400});
  std::printf("%s: %llu, %llu and %llu reads of unwritten words, 200, 0 and 0 expected\n",
              form.name.c_str(), first, copied, then);
  if (first != 200 || copied != 0 || then != 0) ++failures;
}

struct Sizes {
  long n, n4;
  int count, w, cube, m, k, rows, per = 16, paths, middle = 7, stars;

  explicit Sizes(bool small)
      : n(small ? 1 << 16 : 1 << 26), n4(n / 4), count(static_cast<int>(n)), w(small ? 256 : 8192),
        cube(small ? 32 : 384), m(small ? 128 : 2048), k(small ? 16 : 88),
        rows(small ? 1 << 10 : 1 << 20), paths(small ? 128 : 4096),
        stars(small ? 1 << 10 : 1 << 14) {}
};

struct Inputs {
  CUdeviceptr a, b, out, index, row, column, bins;
};

Inputs make_inputs(const Sizes& sizes) {
  const auto n = static_cast<std::size_t>(sizes.n), rows = static_cast<std::size_t>(sizes.rows);
  const std::size_t entries = rows * static_cast<std::size_t>(sizes.per);
  const Inputs in{allocate(n * 4),          allocate(n * 4),       allocate(n * 4), allocate(n * 4),
                  allocate((rows + 1) * 4), allocate(entries * 4), allocate(1024)};
  std::vector<float> values(n);
  std::vector<int> numbers(n);
  unsigned seed = 1;
  const auto next = [&seed](std::size_t below) {
    seed = seed * 1664525u + 1013904223u;
    return static_cast<int>((seed >> 4) % below);
  };
  for (const CUdeviceptr to : {in.a, in.b}) {
    for (float& value : values) value = static_cast<float>(next(1000)) * 0.001f;
    OK(cuMemcpyHtoD(to, values.data(), n * 4));
    set_written(to, n * 4, true);
  }
  set_written(in.out, n * 4, true); // some kernels read it, too
  set_written(in.bins, 1024, true);
  set_written(in.index, n * 4, true);
  set_written(in.column, entries * 4, true);
  set_written(in.row, (rows + 1) * 4, true);
  for (int& number : numbers) number = next(n);
  OK(cuMemcpyHtoD(in.index, numbers.data(), n * 4));
  for (std::size_t i = 0; i <= rows; ++i) numbers[i] = static_cast<int>(i) * sizes.per;
  OK(cuMemcpyHtoD(in.row, numbers.data(), (rows + 1) * 4));
  for (std::size_t i = 0; i < entries; ++i) numbers[i] = next(rows);
  OK(cuMemcpyHtoD(in.column, numbers.data(), entries * 4));
  return in;
}

dim3 blocks(long all, long in_block) {
  return dim3(static_cast<unsigned>((all + in_block - 1) / in_block));
}
dim3 square(int all, int x, int y) {
  return dim3(static_cast<unsigned>((all + x - 1) / x), static_cast<unsigned>((all + y - 1) / y));
}
std::size_t bytes_of(long x, long y = 1) { return static_cast<std::size_t>(x * y) * 4; }

std::vector<Case> cases_of(Sizes& s, Inputs& in) {
  const std::size_t bytes = bytes_of(s.n);
  const dim3 many(2112), wide(512), flat(32, 8), tile(32, 32), line(256);
  const CUdeviceptr out = in.out;
  return {
    {"copy4", many, wide, {&in.a, &in.out, &s.n}, out, bytes},
    {"copy16", many, wide, {&in.a, &in.out, &s.n4}, out, bytes},
    {"vector_add", blocks(s.n, 256), line, {&in.a, &in.b, &in.out, &s.count}, out, bytes},
    {"stencil", square(s.w, 32, 8), flat, {&in.a, &in.out, &s.w}, out, bytes_of(s.w, s.w)},
    {"convolution3d",
     square(s.cube, 32, 8),
     flat,
     {&in.a, &in.out, &s.cube},
     out,
     bytes_of(s.cube, static_cast<long>(s.cube) * s.cube)},
    {"matrix_product",
     square(s.m, 32, 8),
     flat,
     {&in.a, &in.b, &in.out, &s.m},
     out,
     bytes_of(s.m, s.m)},
    {"matrix_product_tiles",
     square(s.m, 32, 32),
     tile,
     {&in.a, &in.b, &in.out, &s.m},
     out,
     bytes_of(s.m, s.m)},
    {"contraction",
     blocks(static_cast<long>(s.k) * s.k, 128),
     dim3(128),
     {&in.a, &in.b, &in.out, &s.k},
     out,
     bytes_of(s.k, s.k)},
    {"gather", many, wide, {&in.a, &in.index, &in.out, &s.n}, out, bytes},
    {"spmv",
     blocks(s.rows, 128),
     dim3(128),
     {&in.row, &in.column, &in.a, &in.b, &in.out, &s.rows},
     out,
     bytes_of(s.rows)},
    {"histogram", many, wide, {&in.index, &in.bins, &s.n}, in.bins, 1024},
    {"histogram_shared", many, wide, {&in.index, &in.bins, &s.n}, in.bins, 1024},
    {"polynomial", many, wide, {&in.a, &in.out, &s.n}, out, bytes},
    {"reduction", many, wide, {&in.a, &in.out, &s.n}, out, bytes_of(2112)},
    {"transpose", square(s.w, 32, 32), flat, {&in.a, &in.out, &s.w}, out, bytes_of(s.w, s.w)},
    {"shortest_paths",
     square(s.paths, 32, 8),
     flat,
     {&in.index, &in.out, &s.paths, &s.middle},
     out,
     bytes_of(s.paths, s.paths)},
    {"bodies", blocks(s.stars, 256), line, {&in.a, &in.out, &s.stars}, out, bytes_of(s.stars, 4)},
    {"sort_blocks", blocks(s.n, 2048), line, {&in.index, &in.out}, out, bytes}};
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::printf("usage: %s FOLDER [small]\n", argv[0]);
    return 2;
  }
  const bool small = argc > 2;
  OK(cuInit(0));
  CUdevice device;
  OK(cuDeviceGet(&device, 0));
  CUcontext context;
  OK(cuDevicePrimaryCtxRetain(&context, device));
  OK(cuCtxSetCurrent(context));
  char name[256];
  OK(cuDeviceGetName(name, sizeof name, device));
  std::printf("%s\n", name);
  map_table(device);
  map_pages();
  // Code for an address that the driver did not give cannot run.
  std::vector<Form> forms = {load(argv[1], "plain")};
  if (options.table == kTableAt) {
    for (const char* form : {"never", "loops", "always", "capped", "placed", "written"})
      forms.push_back(load(argv[1], form));
    forms.push_back(load(argv[1], "written", true));
  }
  forms.push_back(load(argv[1], "constant"));
  Sizes sizes(small);
  Inputs inputs = make_inputs(sizes);
  measure(forms, cases_of(sizes, inputs), small ? 1 : 7);
  make_mistakes(forms);
  for (const Form& form : forms) {
    if (form.name == "written" && !form.knows_blocks) read_unwritten(form);
  }
  if (failures == 0) std::printf("all right\n");
  else std::printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
