// SPDX-License-Identifier: Apache-2.0
// Copies and sets that leave their allocation. The requested size counts, to the byte: 100 bytes are 100, although the
// driver takes 512. In pitched memory, pitch x height counts.
//
// run: one-byte
// expect: error copy-out-of-bounds count=1 api=cudaMemcpy stacks="allocated here"@main:LINE(alloc),"copied here"@one_byte_past:LINE(one-byte)
// run: read
// expect: error copy-out-of-bounds count=1 api=cudaMemcpy stacks="allocated here"@main:LINE(alloc),"copied here"@read_past:LINE(read)
// run: set
// expect: error copy-out-of-bounds count=1 api=cudaMemset stacks="allocated here"@main:LINE(alloc),"set here"@set_past:LINE(set)
// run: rows
// expect: error copy-out-of-bounds count=1 api=cudaMemcpy2D stacks="allocated here"@too_many_rows:LINE(alloc-rows),"copied here"@too_many_rows:LINE(rows)
// run: before
// expect: error copy-out-of-bounds count=1 bytes=16 api=cudaMemset message="writes 50 bytes that begin 16 bytes before a block of 100 bytes" stacks="allocated here"@main:LINE(alloc),"set here"@set_before:LINE(before)
// run: behind
// expect: error copy-out-of-bounds count=1 bytes=10 api=cudaMemcpy message="writes 10 bytes that begin exactly at the end of a block of 100 bytes" stacks="allocated here"@main:LINE(alloc),"copied here"@copy_behind:LINE(behind)
// run: host
// expect: error copy-direction count=1 api=cudaMemset message="a host pointer" stacks="set here"@set_host:LINE(host)
// run: inside
// expect: clean
#include "answers.h"

constexpr size_t kBytes = 100;

static void one_byte_past(char* block)
{
  char host[kBytes + 1] = {};
  ANSWERS(cudaErrorInvalidValue, cudaMemcpy(block, host, kBytes + 1, cudaMemcpyHostToDevice)); // @one-byte
}

static void read_past(char* block)
{
  char host[kBytes] = {};
  ANSWERS(cudaErrorInvalidValue, cudaMemcpy(host, block + 1, kBytes, cudaMemcpyDeviceToHost)); // @read
}

static void set_past(char* block)
{
  ANSWERS(cudaErrorInvalidValue, cudaMemset(block + 60, 0, 41)); // @set
}

static void too_many_rows()
{
  constexpr size_t kWidth = 400, kHeight = 10;
  static char host[kWidth * (kHeight + 1)];
  char* matrix = nullptr;
  size_t pitch = 0;
  CHECK(cudaMallocPitch(&matrix, &pitch, kWidth, kHeight)); // @alloc-rows
  CHECK(cudaMemset2D(matrix, pitch, 0, kWidth, kHeight));
  cudaMemcpyKind up = cudaMemcpyHostToDevice;
  ANSWERS(cudaErrorInvalidValue, cudaMemcpy2D(matrix, pitch, host, kWidth, kWidth, kHeight + 1, up)); // @rows
  CHECK(cudaFree(matrix));
}

static void set_before(char* block)
{
  ANSWERS(cudaErrorInvalidValue, cudaMemset(block - 16, 0, 50)); // @before
}

static void copy_behind(char* block)
{
  char host[kBytes] = {};
  ANSWERS(cudaErrorInvalidValue, cudaMemcpy(block + kBytes, host, 10, cudaMemcpyHostToDevice)); // @behind
}

static void set_host()
{
  char* host = static_cast<char*>(std::calloc(1, kBytes));
  ANSWERS(cudaErrorInvalidValue, cudaMemset(host, 0, kBytes)); // @host
  std::free(host);
}

static void inside(char* block)
{
  char host[kBytes] = {};
  CHECK(cudaMemcpy(block + 99, host, 1, cudaMemcpyHostToDevice));
  CHECK(cudaMemset(block + 60, 0, 40));
}

int main(int argc, char** argv)
{
  char* block = nullptr;
  CHECK(cudaMalloc(&block, kBytes)); // @alloc
  TOUCH(block, kBytes);
  if (started_with(argc, argv, "one-byte"))
    one_byte_past(block);
  else if (started_with(argc, argv, "read"))
    read_past(block);
  else if (started_with(argc, argv, "set"))
    set_past(block);
  else if (started_with(argc, argv, "rows"))
    too_many_rows();
  else if (started_with(argc, argv, "before"))
    set_before(block);
  else if (started_with(argc, argv, "behind"))
    copy_behind(block);
  else if (started_with(argc, argv, "host"))
    set_host();
  else
    inside(block);
  CHECK(cudaFree(block));
  return 0;
}
