// SPDX-License-Identifier: Apache-2.0
// Shadows of products of matrices: an element of D is not written where a bit of its row of A, of
// its column of B or of its element of C is not.
#include "simulated_cuda/executor/machine/handlers/products.h"

namespace gmt::executor {
namespace {

struct Spoilt {
  bool rows[kMostRows] = {}, columns[kBlock] = {}, tile[kMostRows][kBlock] = {};
  bool at(u32 m, u32 n) const { return rows[m] || columns[n] || tile[m][n]; }
};

// Two columns of a register of 16-bit elements, or one.
template <class T, class Visit>
void for_elements(const Product& p, std::size_t registers, Visit visit) {
  const bool has_halves = sizeof(T) == 4 && registers == p.m / kBlock;
  for (u32 i = 0; i < registers; ++i) {
    for (u32 l = 0; l < kLanes; ++l) {
      const u32 column = 2 * (l % 4);
      if (!has_halves) {
        visit(i, l, i / 2 * kBlock + l / 4, column + i % 2, static_cast<T>(~T{0}));
        continue;
      }
      visit(i, l, i * kBlock + l / 4, column, static_cast<T>(0xffff));
      visit(i, l, i * kBlock + l / 4, column + 1, static_cast<T>(0xffff0000u));
    }
  }
}

template <class T>
Next product_shadow(Warp& w, Next in) {
  const Product& p = product_of(w, in);
  Spoilt spoilt;
  for (u32 i = 0; i < p.a.size(); ++i) {
    const T* s = at<const T>(w, p.a[i]);
    for (u32 l = 0; l < kLanes; ++l) spoilt.rows[i % (p.m / kBlock) * kBlock + l / 4] |= s[l] != 0;
  }
  for (u32 i = 0; i < p.b.size(); ++i) {
    const T* s = at<const T>(w, p.b[i]);
    for (u32 l = 0; l < kLanes; ++l) spoilt.columns[l / 4] |= s[l] != 0;
  }
  for_elements<T>(p, p.c.size(), [&](u32 i, u32 l, u32 m, u32 n, T bits_of_it) {
    spoilt.tile[m][n] |= (at<const T>(w, p.c[i])[l] & bits_of_it) != 0;
  });
  for (const u32 d : p.d) {
    alignas(64) T t[kLanes] = {};
    blend(at<T>(w, d), t, w.mask);
  }
  for_elements<T>(p, p.d.size(), [&](u32 i, u32 l, u32 m, u32 n, T bits_of_it) {
    if ((w.mask >> l & 1) != 0 && spoilt.at(m, n)) at<T>(w, p.d[i])[l] |= bits_of_it;
  });
  return in + 1;
}

} // namespace

void GMT_GROUP(products_tracked)(FormTable& table) {
  table.add("track.product.b32", product_shadow<u32>);
  table.add("track.product.b64", product_shadow<u64>);
}

} // namespace gmt::executor
