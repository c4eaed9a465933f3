// SPDX-License-Identifier: Apache-2.0
// A library with nothing in it, that takes the place of NVIDIA's nvJitLink: see CMakeLists.txt.
