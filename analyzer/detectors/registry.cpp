// SPDX-License-Identifier: Apache-2.0
// The registry of detectors: a list built by static constructors, read after main has begun. The
// head is constant-initialised, so the order of those constructors does not matter.

#include "analyzer/detectors/detector.h"

#include <algorithm>

namespace gmt {
namespace {

constinit const DetectorRegistration* g_first = nullptr;

} // namespace

DetectorRegistration::DetectorRegistration(const DetectorInfo& registered)
    : info(registered), next(g_first) {
  g_first = this;
}

std::vector<const DetectorInfo*> detectors() {
  std::vector<const DetectorInfo*> all;
  for (const DetectorRegistration* r = g_first; r != nullptr; r = r->next) all.push_back(&r->info);
  std::ranges::sort(all, {}, [](const DetectorInfo* info) { return info->id; });
  return all;
}

const DetectorInfo* detector_of(std::string_view kind) {
  for (const DetectorRegistration* r = g_first; r != nullptr; r = r->next) {
    if (r->info.id == kind) return &r->info;
  }
  return nullptr;
}

} // namespace gmt
