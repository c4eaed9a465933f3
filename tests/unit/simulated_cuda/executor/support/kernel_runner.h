// SPDX-License-Identifier: Apache-2.0
// Runs kernels of PTX text on the executor: 64 MiB of device memory, and all that was reported.
#pragma once

#include "simulated_cuda/executor/executor.h"

#include <gtest/gtest.h>

#include <sys/mman.h>

#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace gmt::executor {

inline constexpr std::uint64_t kDeviceBase = 0x700000000000ull;
inline constexpr std::uint64_t kDeviceBytes = std::uint64_t{64} << 20;

struct Recorder : Observer {
  void report(const Report& r) override { reports.push_back(r); }
  void heap_event(const HeapEvent& e) override { heap_events.push_back(e); }
  void print(const std::string& text) override { printed += text; }
  void print_error(const std::string& text) override { errors += text; }
  std::vector<Report> reports;
  std::vector<HeapEvent> heap_events;
  std::string printed, errors;
};

class KernelRunner : public testing::Test {
protected:
  KernelRunner() {
    void* mapped = mmap(nullptr, kDeviceBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    host_ = static_cast<std::byte*>(mapped);
    EXPECT_TRUE(memory_.add_region(kDeviceBase, kDeviceBytes, host_));
  }
  ~KernelRunner() override { munmap(host_, kDeviceBytes); }

  // The head that every text needs.
  static std::string head() { return ".version 8.3\n.target sm_90\n.address_size 64\n"; }

  void load(const std::string& text) { load_whole(head() + text); }
  void load_whole(const std::string& whole) {
    const std::string_view views[] = {whole};
    std::string error;
    module_ = Module::load(views, &error);
    ASSERT_NE(module_, nullptr) << error;
    for (std::size_t i = 0; i < module_->variables().size(); ++i) {
      const Variable& variable = module_->variables()[i];
      module_->set_address(i, allocate(variable.size));
      addresses_.push_back(top_);
    }
    for (std::size_t i = 0; i < module_->variables().size(); ++i) {
      const std::uint64_t address = addresses_[i];
      const std::vector<std::byte> bytes = module_->initial_bytes(i);
      std::memcpy(at(address), bytes.data(), bytes.size());
      memory_.mark_initialized(address, bytes.size());
    }
  }

  // A block of device memory; blocks lie 256 bytes apart.
  std::uint64_t allocate(std::uint64_t bytes) {
    top_ = next_;
    next_ += (bytes + 511) / 256 * 256;
    blocks_[top_] = bytes;
    memory_.allocate(top_, bytes);
    return top_;
  }
  template <class T>
  std::uint64_t put(const std::vector<T>& values) {
    const std::uint64_t address = allocate(values.size() * sizeof(T));
    std::memcpy(at(address), values.data(), values.size() * sizeof(T));
    memory_.mark_initialized(address, values.size() * sizeof(T));
    return address;
  }
  template <class T>
  std::vector<T> get(std::uint64_t address, std::size_t count) const {
    std::vector<T> values(count);
    std::memcpy(values.data(), host_ + (address - kDeviceBase), count * sizeof(T));
    return values;
  }
  std::byte* at(std::uint64_t address) { return host_ + (address - kDeviceBase); }

  // Of kernel_; parameters are 8 bytes each.
  Outcome run(Extent grid, Extent block, const std::vector<std::uint64_t>& parameters) {
    return run_with(recorder_, grid, block, parameters);
  }
  Outcome run_with(Observer& observer, Extent grid, Extent block,
                   const std::vector<std::uint64_t>& parameters) {
    Launch launch;
    launch.module = module_.get();
    launch.kernel = &module_->kernels()[kernel_];
    launch.grid = grid;
    launch.block = block;
    launch.parameters = std::as_bytes(std::span(parameters));
    launch.memory = &memory_;
    launch.heap = heap_.get();
    launch.limits = limits_;
    launch.checks = checks_;
    launch.cooperative = cooperative_;
    launch.others_may_write = others_may_write_;
    launch.dynamic_shared_bytes = dynamic_shared_;
    launch.traffic = traffic_;
    launch.workers = workers_;
    launch.seed = seed_;
    launch.alone_instructions = alone_instructions_;
    if (knows_blocks_) {
      launch.block_at = [this](std::uint64_t address, std::uint64_t* begin, std::uint64_t* bytes) {
        const auto after = blocks_.upper_bound(address);
        if (after == blocks_.begin()) return false;
        *begin = std::prev(after)->first;
        *bytes = std::prev(after)->second;
        return address - *begin < *bytes;
      };
    }
    return executor::run(launch, observer);
  }

  // The only report.
  const Report& only() {
    EXPECT_EQ(recorder_.reports.size(), 1u);
    static const Report none;
    return recorder_.reports.empty() ? none : recorder_.reports.front();
  }
  void expect_no_reports() {
    for (const Report& report : recorder_.reports)
      ADD_FAILURE() << static_cast<int>(report.kind) << " " << report.location.instruction;
  }

  Memory memory_;
  std::unique_ptr<Module> module_;
  std::unique_ptr<DeviceHeap> heap_;
  Recorder recorder_;
  Limits limits_;
  Checks checks_ = Checks::kDefault;
  bool cooperative_ = false;
  bool others_may_write_ = false;
  Traffic* traffic_ = nullptr;
  bool knows_blocks_ = true; // where an address lies in which
  std::uint64_t dynamic_shared_ = 0;
  std::size_t kernel_ = 0; // of the module's
  unsigned workers_ = 1;
  std::uint64_t seed_ = 0;
  std::uint64_t alone_instructions_ = 0; // all workers help from the start

private:
  std::byte* host_ = nullptr;
  std::uint64_t next_ = kDeviceBase + (std::uint64_t{4} << 20), top_ = 0;
  std::vector<std::uint64_t> addresses_;
  std::map<std::uint64_t, std::uint64_t> blocks_; // bytes by address
};

} // namespace gmt::executor
