// SPDX-License-Identifier: Apache-2.0
// Makes reports of what the machine saw: one for each kind and instruction of a launch, counted,
// with the first thread that it happened to. They are given to the observer at the launch's end.
#pragma once

#include "simulated_cuda/executor/executor.h"
#include "simulated_cuda/executor/machine/report_sink.h"

#include <map>
#include <utility>

namespace gmt::executor {

// An instruction in words: text, function, lines.
Place place_of(const Code& code, std::uint32_t source);

class Reports final : public ReportSink {
public:
  Reports(const Program& program, const Launch& launch, Observer& observer)
      : program_(program), launch_(launch), observer_(observer) {}

  Place place(const AccessFacts& facts) const override;
  void refused(const AccessFacts& facts, ByteState state) override;
  void misaligned(const AccessFacts& facts) override;
  void uninitialized(const AccessFacts& facts) override;
  void unwritten_use(const AccessFacts& use, const AccessFacts* load) override;
  void race(const AccessFacts& facts, const OtherThread& other) override;
  void never_meet(const AccessFacts& facts, const OtherThread& other, bool whole_block) override;
  void ends(const AccessFacts& facts, ReportKind kind, std::uint32_t error,
            const std::string& message) override;
  void heap_event(const AccessFacts& facts, HeapEvent event) override;
  void print(const std::string& text) override { observer_.print(text); }

  void finish();

private:
  using Key = std::pair<const Instruction*, ReportKind>;
  Report* first(const AccessFacts& facts, ReportKind kind); // null: counted with an earlier one
  void set_neighbour(Report& report) const;
  bool is_mapped(std::uint64_t address);
  void stop_gpu(Report& report, const AccessFacts& facts, std::uint32_t error);

  const Program& program_;
  const Launch& launch_;
  Observer& observer_;
  std::map<Key, std::size_t> index_;
  std::vector<Report> reports_;
  std::map<std::uint64_t, bool> mapped_pages_;
};

} // namespace gmt::executor
