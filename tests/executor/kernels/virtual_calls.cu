// SPDX-License-Identifier: Apache-2.0
// Objects with virtual functions: made in one kernel and used in another, several bases,
// destructors.
#include "torture.h"

struct Shape {
  __device__ virtual ~Shape() {}
  __device__ virtual int area() const = 0;
  __device__ virtual int corners() const { return 0; }
};
struct Square : Shape {
  int side;
  __device__ explicit Square(int s) : side(s) {}
  __device__ int area() const override { return side * side; }
  __device__ int corners() const override { return 4; }
};
struct Rectangle : Square {
  int other;
  __device__ Rectangle(int a, int b) : Square(a), other(b) {}
  __device__ int area() const override { return side * other; }
};
struct Disc : Shape {
  int radius;
  int* ended;
  __device__ Disc(int r, int* e) : radius(r), ended(e) {}
  __device__ ~Disc() override { atomicAdd(ended, radius); }
  __device__ int area() const override { return 3 * radius * radius; }
};

struct Named {
  int id = 5;
  __device__ virtual int name() const { return id; }
};
struct Both : Square, Named {
  __device__ Both() : Square(3) {}
  __device__ int name() const override { return id * 100 + side; }
};

__global__ void make_shapes(Shape** shapes, int* ended, int n) {
  const int i = global_index();
  if (i >= n) return;
  switch (i % 3) {
  case 0: shapes[i] = new Square(i); break;
  case 1: shapes[i] = new Rectangle(i, i + 1); break;
  default: shapes[i] = new Disc(i, ended);
  }
}

__global__ void measure_shapes(Shape* const* shapes, int* out, int n) {
  const int i = global_index();
  if (i < n) out[i] = shapes[i]->area() * 10 + shapes[i]->corners();
}

__global__ void delete_shapes(Shape** shapes, int n) {
  const int i = global_index();
  if (i < n) delete shapes[i];
}

__global__ void several_bases(int* out) {
  Both both;
  both.side += static_cast<int>(threadIdx.x);
  const Named* named = &both;
  const Shape* shape = &both;
  out[threadIdx.x] = (threadIdx.x % 2 ? named->name() : shape->area()) + shape->corners();
}

template <class Derived> struct Static {
  __device__ int twice() const { return 2 * static_cast<const Derived*>(this)->once(); }
};
struct One : Static<One> {
  int value;
  __device__ int once() const { return value + 1; }
};

__global__ void static_polymorphism(int* out) {
  One one;
  one.value = static_cast<int>(threadIdx.x);
  auto add = [&one](int more) { return one.twice() + more; };
  out[threadIdx.x] = add(7);
}

int main() {
  const int n = 90;
  torture::Array<Shape*> shapes(n);
  torture::Array<int> ended(1), out(n), small(32);
  make_shapes<<<1, 96>>>(shapes, ended, n);
  measure_shapes<<<3, 32>>>(shapes, out, n);
  std::vector<int> want(n);
  int radii = 0;
  for (int i = 0; i < n; ++i) {
    const int areas[] = {i * i, i * (i + 1), 3 * i * i};
    want[i] = areas[i % 3] * 10 + (i % 3 == 2 ? 0 : 4);
    radii += i % 3 == 2 ? i : 0;
  }
  torture::expect("measure_shapes", out, want);
  delete_shapes<<<3, 32>>>(shapes, n);
  torture::expect("delete_shapes", ended, {radii});
  want.resize(32);
  for (int t = 0; t < 32; ++t) want[t] = (t % 2 ? 503 + t : (3 + t) * (3 + t)) + 4;
  several_bases<<<1, 32>>>(small);
  torture::expect("several_bases", small, want);
  for (int t = 0; t < 32; ++t) want[t] = 2 * (t + 1) + 7;
  static_polymorphism<<<1, 32>>>(small);
  torture::expect("static_polymorphism", small, want);
  return torture::finish();
}
