// SPDX-License-Identifier: Apache-2.0
// Whole algorithms: hashes, Game of Life, breadth-first search, edit distance, elimination,
// Fourier transform, primes.
#include <algorithm>

#include "torture.h"

__host__ __device__ unsigned rotated(unsigned x, int by) { return x >> by | x << (32 - by); }

__constant__ unsigned sha_constants[64];

template <class K> __host__ __device__ void sha256_block(const unsigned* block, const K* k,
                                                         unsigned* out) {
  unsigned w[64];
  for (int i = 0; i < 16; ++i) w[i] = block[i];
  for (int i = 16; i < 64; ++i) {
    const unsigned a = rotated(w[i - 15], 7) ^ rotated(w[i - 15], 18) ^ (w[i - 15] >> 3);
    const unsigned b = rotated(w[i - 2], 17) ^ rotated(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + a + w[i - 7] + b;
  }
  unsigned s[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  unsigned h[8];
  for (int i = 0; i < 8; ++i) h[i] = s[i];
  for (int i = 0; i < 64; ++i) {
    const unsigned e = rotated(s[4], 6) ^ rotated(s[4], 11) ^ rotated(s[4], 25);
    const unsigned t1 = s[7] + e + ((s[4] & s[5]) ^ (~s[4] & s[6])) + k[i] + w[i];
    const unsigned a = rotated(s[0], 2) ^ rotated(s[0], 13) ^ rotated(s[0], 22);
    const unsigned t2 = a + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
    for (int m = 7; m > 0; --m) s[m] = s[m - 1];
    s[4] += t1;
    s[0] = t1 + t2;
  }
  for (int i = 0; i < 8; ++i) out[i] = h[i] + s[i];
}

__global__ void sha256(const unsigned* in, unsigned* out, int n) {
  const int i = global_index();
  if (i < n) sha256_block(in + 16 * i, sha_constants, out + 8 * i);
}

__global__ void crc32(const unsigned char* in, unsigned* out, int length) {
  const unsigned char* own = in + threadIdx.x * static_cast<unsigned>(length);
  unsigned crc = ~0u;
  for (int k = 0; k < length; ++k) {
    crc ^= own[k];
    for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
  }
  out[threadIdx.x] = ~crc;
}

__global__ void life(const unsigned char* in, unsigned char* out, int size) {
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (x >= size || y >= size) return;
  int alive = 0;
  for (int dy = -1; dy <= 1; ++dy) {
    for (int dx = -1; dx <= 1; ++dx)
      alive += in[(y + dy + size) % size * size + (x + dx + size) % size];
  }
  const int own = in[y * size + x];
  out[y * size + x] = alive == 3 || (own && alive == 4);
}

__global__ void search_step(const int* offsets, const int* targets, int* distance, int level, int n,
                            int* changed) {
  const int v = global_index();
  if (v >= n || distance[v] != level) return;
  for (int e = offsets[v]; e < offsets[v + 1]; ++e) {
    if (atomicCAS(distance + targets[e], -1, level + 1) == -1) *changed = 1;
  }
}

__global__ void edit_distance(const char* a, const char* b, int n, int* out) {
  __shared__ int diagonals[3][130];
  const int row = static_cast<int>(threadIdx.x);
  for (int d = 0; d <= 2 * n; ++d) {
    int* now = diagonals[d % 3];
    const int* before = diagonals[(d + 2) % 3];
    const int* last = diagonals[(d + 1) % 3];
    const int column = d - row;
    if (row <= n && column >= 0 && column <= n) {
      int best = row + column;
      if (row > 0 && column > 0) {
        const int changed = last[row - 1] + (a[row - 1] != b[column - 1]);
        best = min(changed, 1 + min(before[row - 1], before[row]));
      }
      now[row] = best;
      if (row == n && column == n) *out = best;
    }
    __syncthreads();
  }
}

// Systems of four equations with whole solutions.
__global__ void elimination(const double* in, double* out) {
  double m[4][5];
  for (unsigned k = 0; k < 20; ++k) m[k / 5][k % 5] = in[20 * threadIdx.x + k];
  for (int p = 0; p < 4; ++p) {
    int best = p;
    for (int r = p + 1; r < 4; ++r) {
      if (fabs(m[r][p]) > fabs(m[best][p])) best = r;
    }
    for (int c = 0; c < 5; ++c) {
      const double kept = m[p][c];
      m[p][c] = m[best][c];
      m[best][c] = kept;
    }
    for (int r = 0; r < 4; ++r) {
      if (r == p) continue;
      const double factor = m[r][p] / m[p][p];
      for (int c = p; c < 5; ++c) m[r][c] -= factor * m[p][c];
    }
  }
  for (int r = 0; r < 4; ++r) out[4 * threadIdx.x + static_cast<unsigned>(r)] = m[r][4] / m[r][r];
}

__global__ void fourier_256(const double2* in, double2* out) {
  __shared__ double2 values[256];
  const unsigned t = threadIdx.x;
  for (unsigned i = t; i < 256; i += 128) values[__brev(i) >> 24] = in[i];
  __syncthreads();
  for (unsigned half = 1; half < 256; half *= 2) {
    const unsigned k = t % half;
    const unsigned at = t / half * 2 * half + k;
    double s, c;
    sincospi(-static_cast<double>(k) / half, &s, &c);
    const double2 a = values[at];
    const double2 b = values[at + half];
    const double2 turned = make_double2(b.x * c - b.y * s, b.x * s + b.y * c);
    values[at] = make_double2(a.x + turned.x, a.y + turned.y);
    values[at + half] = make_double2(a.x - turned.x, a.y - turned.y);
    __syncthreads();
  }
  for (unsigned i = t; i < 256; i += 128) out[i] = values[i];
}

__global__ void sieve(unsigned char* composite, int n) {
  for (int p = 2 + static_cast<int>(threadIdx.x); p * p < n; p += static_cast<int>(blockDim.x)) {
    for (int k = p * p; k < n; k += p) composite[k] = 1;
  }
}

void run_hashes() {
  unsigned k[64];
  int prime = 2;
  for (int i = 0; i < 64; ++prime) {
    bool good = true;
    for (int d = 2; d * d <= prime; ++d) good = good && prime % d != 0;
    if (!good) continue;
    const double root = std::cbrt(static_cast<double>(prime));
    k[i++] = static_cast<unsigned>((root - std::floor(root)) * 4294967296.0);
  }
  OK(cudaMemcpyToSymbol(sha_constants, k, sizeof(k)));
  const int n = 64;
  const auto in = torture::numbers<unsigned>(16 * n, 1);
  std::vector<unsigned> want(8 * n);
  for (int i = 0; i < n; ++i) sha256_block(in.data() + 16 * i, k, want.data() + 8 * i);
  torture::Array<unsigned> din(in), out(8 * n);
  sha256<<<2, 32>>>(din, out, n);
  torture::expect("sha256", out, want);

  const char* text = "123456789";
  torture::Array<unsigned char> bytes(std::vector<unsigned char>(text, text + 9));
  torture::Array<unsigned> crc(1);
  crc32<<<1, 1>>>(bytes, crc, 9);
  torture::expect("crc32", crc, {0xcbf43926u});
}

void run_grids() {
  const int size = 40;
  auto cells = torture::numbers_below<unsigned char>(size * size, 2, 2);
  torture::Array<unsigned char> a(cells), b(cells.size());
  for (int round = 0; round < 4; ++round) {
    unsigned char* from = round % 2 ? b : a;
    unsigned char* to = round % 2 ? a : b;
    life<<<dim3(3, 3), dim3(16, 16)>>>(from, to, size);
    auto next = cells;
    for (int i = 0; i < size * size; ++i) {
      int alive = 0;
      for (int d = 0; d < 9; ++d)
        alive +=
          cells[(i / size + d / 3 - 1 + size) % size * size + (i % size + d % 3 - 1 + size) % size];
      next[i] = alive == 3 || (cells[i] && alive == 4);
    }
    cells = next;
  }
  torture::expect("life", a, cells);
}

void run_search() {
  const int n = 300;
  torture::Random random(3);
  std::vector<int> offsets = {0}, targets;
  for (int v = 0; v < n; ++v) {
    for (std::uint64_t e = random.next() % 4; e > 0; --e)
      targets.push_back(static_cast<int>(random.next() % n));
    offsets.push_back(static_cast<int>(targets.size()));
  }
  std::vector<int> distance(n, -1);
  distance[0] = 0;
  torture::Array<int> doffsets(offsets), dtargets(targets), ddistance(distance), changed(1);
  for (int level = 0;; ++level) {
    OK(cudaMemset(changed, 0, 4));
    search_step<<<3, 128>>>(doffsets, dtargets, ddistance, level, n, changed);
    if (changed.host()[0] == 0) break;
  }
  std::vector<int> queue = {0};
  for (std::size_t at = 0; at < queue.size(); ++at) {
    for (int e = offsets[queue[at]]; e < offsets[queue[at] + 1]; ++e) {
      if (distance[targets[e]] >= 0) continue;
      distance[targets[e]] = distance[queue[at]] + 1;
      queue.push_back(targets[e]);
    }
  }
  torture::expect("search_step", ddistance, distance);
}

void run_tables() {
  const int n = 100;
  const auto a = torture::numbers_below<char>(n, 4, 4);
  auto b = a;
  for (int i = 0; i < n; i += 9) b[i] = 7;
  std::rotate(b.begin(), b.begin() + 3, b.end());
  std::vector<std::vector<int>> d(n + 1, std::vector<int>(n + 1));
  for (int r = 0; r <= n; ++r) {
    for (int c = 0; c <= n; ++c) {
      d[r][c] = r + c;
      if (r > 0 && c > 0)
        d[r][c] = std::min(d[r - 1][c - 1] + (a[r - 1] != b[c - 1]),
                           1 + std::min(d[r - 1][c], d[r][c - 1]));
    }
  }
  torture::Array<char> da(a), db(b);
  torture::Array<int> out(1);
  edit_distance<<<1, 128>>>(da, db, n, out);
  torture::expect("edit_distance", out, {d[n][n]});

  const int limit = 5000;
  torture::Array<unsigned char> composite(limit);
  sieve<<<1, 32>>>(composite, limit);
  std::vector<unsigned char> want(limit);
  for (int p = 2; p < limit; ++p) {
    for (int m = 2; m * m <= p; ++m) want[p] = want[p] || p % m == 0;
  }
  torture::expect("sieve", composite, want);
}

void run_numbers() {
  auto systems = torture::numbers_below<double>(20 * 32, 5, 19);
  std::vector<double> want(4 * 32);
  for (int t = 0; t < 32; ++t) {
    double* m = systems.data() + 20 * t;
    for (int r = 0; r < 4; ++r) {
      want[4 * t + r] = (t + 3 * r) % 11 - 5;
      m[5 * r + r] += 80; // well conditioned
    }
    for (int r = 0; r < 4; ++r) {
      m[5 * r + 4] = 0;
      for (int c = 0; c < 4; ++c) m[5 * r + 4] += m[5 * r + c] * want[4 * t + c];
    }
  }
  torture::Array<double> dsystems(systems), solutions(4 * 32);
  elimination<<<1, 32>>>(dsystems, solutions);
  torture::expect_near("elimination", solutions, want, 1e-12);

  const auto parts = torture::numbers<double>(512, 6);
  std::vector<double2> signal(256);
  std::vector<double> spectrum(512);
  for (int i = 0; i < 256; ++i) signal[i] = make_double2(parts[2 * i], parts[2 * i + 1]);
  for (int k = 0; k < 256; ++k) {
    for (int i = 0; i < 256; ++i) {
      const double angle = -2 * M_PI * (i * k % 256) / 256;
      spectrum[2 * k] += signal[i].x * std::cos(angle) - signal[i].y * std::sin(angle);
      spectrum[2 * k + 1] += signal[i].x * std::sin(angle) + signal[i].y * std::cos(angle);
    }
  }
  torture::Array<double2> dsignal(signal);
  torture::Array<double> transformed(512);
  fourier_256<<<1, 128>>>(dsignal, reinterpret_cast<double2*>(transformed.get()));
  torture::expect_near("fourier_256", transformed, spectrum, 1e-11);
}

int main() {
  run_hashes();
  run_grids();
  run_search();
  run_tables();
  run_numbers();
  return torture::finish();
}
