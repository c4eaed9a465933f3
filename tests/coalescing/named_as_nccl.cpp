// SPDX-License-Identifier: Apache-2.0
// A library of NCCL's name, for the tests of what the collector does where NCCL is loaded.
extern "C" __attribute__((visibility("default"))) int ncclGetVersion(int* version);
int ncclGetVersion(int* version) {
  *version = 22700;
  return 0;
}
