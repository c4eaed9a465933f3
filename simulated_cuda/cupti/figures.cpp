// SPDX-License-Identifier: Apache-2.0
// Every name that begins as CUPTI's SASS metrics do is a metric of the simulated chip; its id is
// made of it.
#include "simulated_cuda/cupti/figures.h"

#include <cupti_sass_metrics.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

namespace gmt::sim {
namespace {

constexpr char kMetricStart[] = "smsp__sass_";

std::uint64_t hash(const std::string& text) {
  std::uint64_t h = 0xcbf29ce484222325;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return h;
}

} // namespace

std::uint64_t Figures::metric(const std::string& name) const {
  return name.rfind(kMetricStart, 0) == 0 ? hash(name) : 0;
}

void Figures::add_line(const std::string& line) {
  std::istringstream words(line.substr(0, line.find('#')));
  std::string name, offset, figure;
  if (!(words >> name)) return;
  if (!(words >> offset)) {
    std::fprintf(stderr, "gpumemtrace: simulated CUPTI: ignoring '%s'\n", line.c_str());
    return;
  }
  if (offset == "whole") return add_counters(name, words);
  const auto [found, fresh] = kernels_.try_emplace(name);
  if (fresh) {
    found->second.cubin = static_cast<std::uint32_t>(hash(name));
    found->second.index = static_cast<std::uint32_t>(kernels_.size());
  }
  auto& figures =
    found->second
      .instructions[static_cast<std::uint32_t>(std::strtoul(offset.c_str(), nullptr, 0))];
  while (words >> figure) {
    const std::size_t equals = figure.find('=');
    const std::uint64_t id = metric(figure.substr(0, equals));
    if (id == 0 || equals == std::string::npos) {
      std::fprintf(stderr, "gpumemtrace: simulated CUPTI: ignoring '%s'\n", figure.c_str());
      continue;
    }
    figures[id] = std::strtoull(figure.c_str() + equals + 1, nullptr, 0);
  }
}

void Figures::add_counters(const std::string& name, std::istream& words) {
  for (std::string figure; words >> figure;) {
    const std::size_t equals = figure.find('=');
    if (equals != std::string::npos) {
      counters_[name][figure.substr(0, equals)] =
        std::strtoull(figure.c_str() + equals + 1, nullptr, 0);
    }
  }
}

std::uint64_t Figures::counter(const std::string& name, const std::string& figure) const {
  const auto found = counters_.find(name);
  if (found == counters_.end()) return 0;
  const auto value = found->second.find(figure);
  return value != found->second.end() ? value->second : 0;
}

// A kernel that the file does not name runs one instruction, which uses no memory.
const Figures::Kernel& Figures::kernel(const std::string& name) const {
  static const Kernel kOther{0, 0, {{0, {}}}};
  const auto found = kernels_.find(name);
  return found != kernels_.end() ? found->second : kOther;
}

std::size_t Figures::instructions_of(const std::string& name) const {
  return kernel(name).instructions.size();
}

void Figures::fill(const std::string& name, std::uint64_t launches,
                   const std::set<std::uint64_t>& metrics, CUpti_SassMetrics_Data* data,
                   std::size_t room, std::size_t* next) const {
  for (const auto& [offset, figures] : kernel(name).instructions) {
    if (*next >= room) return;
    CUpti_SassMetrics_Data& record = data[(*next)++];
    record.cubinCrc =
      kernel(name).cubin != 0 ? kernel(name).cubin : static_cast<std::uint32_t>(hash(name));
    record.functionIndex = kernel(name).index;
    record.functionName = strdup(name.c_str()); // the caller frees it
    record.pcOffset = offset;
    std::size_t value = 0;
    for (const std::uint64_t id : metrics) {
      auto figure = figures.find(id);
      if (figure == figures.end()) figure = figures.find(~id); // the other chip's
      record.pInstanceValues[value++] = {id,
                                         figure != figures.end() ? figure->second * launches : 0};
    }
  }
}

Figures read_figures() {
  Figures figures;
  const char* path = std::getenv("GPUMEMTRACE_SIM_METRICS");
  if (path == nullptr || *path == '\0') return figures;
  std::ifstream file(path);
  if (!file) std::fprintf(stderr, "gpumemtrace: simulated CUPTI: cannot read %s\n", path);
  for (std::string line; std::getline(file, line);) figures.add_line(line);
  return figures;
}

} // namespace gmt::sim
