// SPDX-License-Identifier: Apache-2.0
// The same bytes as several types: unions, memcpy, bit fields, packed structures, enumerations.
#include "torture.h"

union Word {
  float f;
  unsigned u;
  unsigned short s[2];
  unsigned char b[4];
};

struct Fields {
  unsigned low : 5;
  int middle : 9;
  unsigned high : 18;
  unsigned long long wide : 40;
};

struct __attribute__((packed)) Packed {
  char tag;
  int value;
  short more;
};

enum class Colour : unsigned char { kRed = 3, kGreen = 7, kBlue = 200 };

__global__ void union_of_words(const float* in, unsigned* out, int n) {
  const int i = global_index();
  if (i >= n) return;
  Word w;
  w.f = in[i];
  w.b[i % 4] ^= 0x5a;
  w.s[i % 2] += 3;
  out[i] = w.u;
}

__global__ void fast_inverse_root(const float* in, float* out, int n) {
  const int i = global_index();
  if (i >= n) return;
  const float x = fabsf(in[i]) + 1;
  int bits;
  memcpy(&bits, &x, 4);
  bits = 0x5f3759df - (bits >> 1);
  float y;
  memcpy(&y, &bits, 4);
  for (int k = 0; k < 3; ++k) y = y * (1.5F - 0.5F * x * y * y);
  out[i] = y;
}

__global__ void bit_fields(Fields* data, int n) {
  const int i = global_index();
  if (i >= n) return;
  data[i].low += 3;
  data[i].middle = -data[i].middle;
  data[i].high ^= data[i].low;
  data[i].wide = data[i].wide * 3 + data[i].high;
}

// Bytes of a packed structure, as the host lays them out; no access of it is wider than a byte.
__global__ void packed_bytes(const unsigned char* in, int* out, int n) {
  const int i = global_index();
  if (i >= n) return;
  Packed p;
  memcpy(&p, in + i * sizeof(Packed), sizeof(Packed));
  out[i] = p.tag + p.value * 2 + p.more;
}

__global__ void enumerations(const unsigned char* in, unsigned char* out, int n) {
  const int i = global_index();
  if (i >= n) return;
  Colour c = in[i] < 80 ? Colour::kRed : in[i] < 160 ? Colour::kGreen : Colour::kBlue;
  switch (c) {
  case Colour::kRed: c = Colour::kBlue; break;
  case Colour::kGreen: break;
  case Colour::kBlue: c = Colour::kRed;
  }
  out[i] = static_cast<unsigned char>(c);
}

struct Tagged {
  int kind;
  union {
    int i;
    double d;
    char text[8];
  };
};

__global__ void tagged_unions(Tagged* data, int n) {
  const int i = global_index();
  if (i >= n) return;
  Tagged& t = data[i];
  switch (t.kind) {
  case 0: t.i += 1; break;
  case 1: t.d *= 2; break;
  default: t.text[7 - i % 8] = 'x';
  }
}

int main() {
  const int n = 256;
  const auto in = torture::numbers<float>(n, 1);
  torture::Array<float> din(in), roots(n);
  torture::Array<unsigned> words(n);
  std::vector<unsigned> want(n);
  for (int i = 0; i < n; ++i) {
    unsigned u;
    std::memcpy(&u, &in[i], 4);
    u ^= 0x5au << 8 * (i % 4);
    unsigned short s[2];
    std::memcpy(s, &u, 4);
    s[i % 2] = static_cast<unsigned short>(s[i % 2] + 3);
    std::memcpy(&want[i], s, 4);
  }
  union_of_words<<<2, 128>>>(din, words, n);
  torture::expect("union_of_words", words, want);
  std::vector<float> want_roots(n);
  for (int i = 0; i < n; ++i) want_roots[i] = 1 / std::sqrt(std::fabs(in[i]) + 1);
  fast_inverse_root<<<2, 128>>>(din, roots, n);
  torture::expect_near("fast_inverse_root", roots, want_roots, 1e-6);

  std::vector<Fields> fields(n);
  torture::Random random(2);
  for (Fields& f : fields) {
    std::memset(&f, 0, sizeof(f));
    f.low = static_cast<unsigned>(random.next()) & 31;
    f.middle = static_cast<int>(random.next() % 500) - 250;
    f.high = static_cast<unsigned>(random.next()) & 0x3ffff;
    f.wide = random.next() & 0xffffffffffull;
  }
  torture::Array<Fields> dfields(fields);
  for (Fields& f : fields) {
    f.low = (f.low + 3u) & 31;
    f.middle = -f.middle;
    f.high = (f.high ^ f.low) & 0x3ffff;
    f.wide = (f.wide * 3 + f.high) & 0xffffffffffull;
  }
  bit_fields<<<2, 128>>>(dfields, n);
  torture::expect("bit_fields", dfields, fields);

  const auto bytes = torture::numbers<unsigned char>(n * sizeof(Packed), 3);
  torture::Array<unsigned char> dbytes(bytes), colours(n);
  torture::Array<int> sums(n);
  std::vector<int> want_sums(n);
  for (int i = 0; i < n; ++i) {
    Packed p;
    std::memcpy(&p, bytes.data() + i * sizeof(Packed), sizeof(Packed));
    want_sums[i] =
      static_cast<int>(static_cast<unsigned>(p.tag) + static_cast<unsigned>(p.value) * 2 +
                       static_cast<unsigned>(p.more));
  }
  packed_bytes<<<2, 128>>>(dbytes, sums, n);
  torture::expect("packed_bytes", sums, want_sums);

  std::vector<unsigned char> want_colours(n);
  for (int i = 0; i < n; ++i) want_colours[i] = bytes[i] < 80 ? 200 : bytes[i] < 160 ? 7 : 3;
  enumerations<<<2, 128>>>(dbytes, colours, n);
  torture::expect("enumerations", colours, want_colours);

  std::vector<Tagged> tagged(n);
  for (int i = 0; i < n; ++i) {
    std::memset(&tagged[i], 0, sizeof(Tagged));
    tagged[i].kind = i % 3;
    if (i % 3 == 0) tagged[i].i = i;
    if (i % 3 == 1) tagged[i].d = i * 0.25;
    if (i % 3 == 2) std::memcpy(tagged[i].text, "abcdefgh", 8);
  }
  torture::Array<Tagged> dtagged(tagged);
  for (int i = 0; i < n; ++i) {
    if (i % 3 == 0) ++tagged[i].i;
    if (i % 3 == 1) tagged[i].d *= 2;
    if (i % 3 == 2) tagged[i].text[7 - i % 8] = 'x';
  }
  tagged_unions<<<2, 128>>>(dtagged, n);
  torture::expect("tagged_unions", dtagged, tagged);
  return torture::finish();
}
