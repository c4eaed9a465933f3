// SPDX-License-Identifier: Apache-2.0
// Rows that meet, see rows_overlap.h.

#include "analyzer/detectors/shared/rows_overlap.h"

#include <algorithm>

namespace gmt {
namespace {

// More rows, or pairs of slices, are not compared one by one.
constexpr std::uint64_t kMostCompared = 1 << 16;
// Beyond what any device has: damaged records, whose products would overflow.
constexpr std::uint64_t kMostCopyBytes = std::uint64_t{1} << 48,
                        kMostAddress = std::uint64_t{1} << 57;

bool can_be_compared(const Rows& rows) {
  const bool is_sane = rows.address < kMostAddress && rows.pitch < kMostCopyBytes &&
                       rows.width < kMostCopyBytes && rows.count() < kMostCopyBytes &&
                       rows.slice < kMostCopyBytes;
  return is_sane && rows.width != 0 && rows.count() != 0 &&
         (rows.count() == 1 || rows.pitch >= rows.width);
}

std::int64_t floor_divide(std::int64_t a, std::int64_t b) { // b > 0
  return a / b - (a % b < 0 ? 1 : 0);
}

std::int64_t number(std::uint64_t value) { return static_cast<std::int64_t>(value); }

// Rows on one grid: two of them share bytes exactly if a difference of rows that occurs brings
// their starts closer than a row is wide.
bool grids_overlap(const Rows& a, const Rows& b) {
  const std::int64_t pitch = number(a.pitch), slice = number(std::max(a.slice, b.slice));
  const std::int64_t apart = number(a.address) - number(b.address);
  const std::int64_t nearest = floor_divide(-apart, pitch);
  for (const std::int64_t rows : {nearest, nearest + 1}) {
    const std::int64_t gap = apart + rows * pitch;
    if (gap >= number(b.width) || -gap >= number(a.width)) continue;
    const std::int64_t slices = floor_divide(rows, slice);
    for (const std::int64_t z : {slices, slices + 1}) {
      const std::int64_t y = rows - z * slice;
      if (z < number(a.depth) && -z < number(b.depth) && y < number(a.height) &&
          -y < number(b.height))
        return true;
    }
  }
  return false;
}

// Row i begins at address + i * pitch.
struct Band {
  std::uint64_t address, pitch, width, rows;

  std::uint64_t end() const { return address + (rows - 1) * pitch + width; }
};

bool is_one_band(const Rows& rows) { return rows.depth == 1 || rows.slice == rows.height; }

// A slice, or all slices where no rows lie between them. Rows without gaps are one row.
Band band_of(const Rows& rows, std::uint64_t slice) {
  const std::uint64_t count = is_one_band(rows) ? rows.count() : rows.height;
  const std::uint64_t address = rows.address + slice * rows.slice * rows.pitch;
  if (count == 1 || rows.pitch == rows.width) return {address, 0, rows.width * count, 1};
  return {address, rows.pitch, rows.width, count};
}

bool meets(std::uint64_t begin, std::uint64_t end, const Band& band) {
  if (begin >= band.end() || end <= band.address) return false;
  if (band.rows == 1 || begin <= band.address) return true;
  const std::uint64_t row = (begin - band.address) / band.pitch;
  const std::uint64_t at = band.address + row * band.pitch;
  return begin < at + band.width || (row + 1 < band.rows && end > at + band.pitch);
}

bool bands_overlap(const Band& a, const Band& b) {
  if (a.address >= b.end() || b.address >= a.end()) return false;
  const Band& few = a.rows <= b.rows ? a : b;
  const Band& many = a.rows <= b.rows ? b : a;
  for (std::uint64_t i = 0; i < few.rows && few.rows <= kMostCompared; ++i) {
    const std::uint64_t at = few.address + i * few.pitch;
    if (meets(at, at + few.width, many)) return true;
  }
  return false;
}

bool is_one_grid(const Rows& a, const Rows& b) {
  return a.count() > 1 && b.count() > 1 && a.pitch == b.pitch &&
         (a.slice == b.slice || (a.depth == 1 && b.depth == 1));
}

std::uint64_t slices_of(const Rows& rows) { return is_one_band(rows) ? 1 : rows.depth; }

} // namespace

std::uint64_t rows_to_compare(const Rows& a, const Rows& b) {
  if (!can_be_compared(a) || !can_be_compared(b) || is_one_grid(a, b)) return 1;
  const std::uint64_t slices_of_a = slices_of(a), slices_of_b = slices_of(b);
  if (slices_of_a > kMostCompared / slices_of_b) return 1;
  const std::uint64_t rows = std::min(band_of(a, 0).rows, band_of(b, 0).rows);
  return slices_of_a * slices_of_b * (rows <= kMostCompared ? rows : 1);
}

bool overlap(const Rows& a, const Rows& b) {
  if (!can_be_compared(a) || !can_be_compared(b)) return false;
  if (is_one_grid(a, b)) return grids_overlap(a, b);
  const std::uint64_t slices_of_a = slices_of(a), slices_of_b = slices_of(b);
  if (slices_of_a > kMostCompared / slices_of_b) return false;
  for (std::uint64_t i = 0; i < slices_of_a; ++i) {
    for (std::uint64_t k = 0; k < slices_of_b; ++k) {
      if (bands_overlap(band_of(a, i), band_of(b, k))) return true;
    }
  }
  return false;
}

} // namespace gmt
