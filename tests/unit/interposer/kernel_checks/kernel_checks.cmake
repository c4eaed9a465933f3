# SPDX-License-Identifier: Apache-2.0
# The library of --kernel-checks, over a driver that the test makes up. Without sanitizers, too: some of it needs a process
# that has no memory left, which they end.
if(NOT TARGET kernel_checks_objects)
  return()
endif()
file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.cpp)
add_executable(interposer_kernel_checks_test ${sources} $<TARGET_OBJECTS:kernel_checks_objects>)
gmt_unity_of_tests(interposer_kernel_checks_test)
target_include_directories(interposer_kernel_checks_test PRIVATE ${CMAKE_CURRENT_LIST_DIR})
target_link_options(interposer_kernel_checks_test PRIVATE -Wl,--build-id) # a part of the names of what is cached
target_link_libraries(interposer_kernel_checks_test PRIVATE rewriter gmt_trace gmt_cuda_headers gmt_warnings GTest::gtest_main
  zstd lz4)
gtest_discover_tests(interposer_kernel_checks_test PROPERTIES LABELS unit TIMEOUT 120)
