# SPDX-License-Identifier: Apache-2.0
# Unit tests of the rewriter of PTX: kernels run plain and with checks on the executor, and must give the same.
gmt_ptx_tests(unit_rewriter rewriter rewriter)
target_link_libraries(unit_rewriter PRIVATE executor)
