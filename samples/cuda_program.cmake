# SPDX-License-Identifier: Apache-2.0
# Builds one CUDA program in every flavour that matters to a tracer: optimised or not, runtime shared or static.
# nvcc is called by custom commands and not through enable_language(CUDA),
# which rejects the incomplete toolkits that NVIDIA's Python wheels install.
#
#   gmt_add_cuda_program(<source> <folder> <out-variable>)
# sets <out-variable> to the list of binaries, each named <folder>/<name>-<O0|O2>-<shared|static>; O0-static would say nothing
# that the others do not, and is left out. Those with a static runtime belong to the target gpu_programs, too. A source with the
# line "// libs: cuda" is linked to the driver library and to no runtime; it exists as -shared only. A source with the line
# "// device hooks: all calls" has the malloc and free of its kernels logged; its O2-static flavour is built with -rdc=true.
# One with "// launches by kernels" is built with -rdc=true in all.
# A source with "// compute capability: 90" or 90a has PTX of that one, where all others have that of 75.
include_guard(DIRECTORY) # the variables below belong to the including folder

find_program(GMT_NVCC nvcc PATHS ENV CUDA_PATH ENV CUDA_HOME /usr/local/cuda PATH_SUFFIXES bin
    DOC "nvcc that builds the samples and the test programs")
set(GMT_NVCC_FLAGS "" CACHE STRING "Extra flags of nvcc for the samples and the test programs, such as -ccbin or -L")
separate_arguments(gmt_nvcc_extra NATIVE_COMMAND "${GMT_NVCC_FLAGS}")

if(GMT_NVCC)
    get_filename_component(gmt_nvcc_real "${GMT_NVCC}" REALPATH)
    get_filename_component(gmt_toolkit "${gmt_nvcc_real}" DIRECTORY)
    get_filename_component(gmt_toolkit "${gmt_toolkit}" DIRECTORY)
    # The link-time stand-in of libcuda.so.1, which no machine without a GPU has.
    find_library(GMT_CUDA_STUB cuda PATHS "${gmt_toolkit}"
        PATH_SUFFIXES lib64/stubs lib/stubs targets/x86_64-linux/lib/stubs NO_DEFAULT_PATH)
    find_path(GMT_CUDART_DIR libcudart.so.13 PATHS "${gmt_toolkit}"
        PATH_SUFFIXES lib64 lib targets/x86_64-linux/lib NO_DEFAULT_PATH)
endif()
mark_as_advanced(GMT_CUDA_STUB GMT_CUDART_DIR)
option(GPUMEMTRACE_MACHINE_CODE "Samples and test programs contain machine code of an H100 beside PTX" ON)

# Code for one GPU and PTX for all others from Turing up keep the binaries small. Where nothing runs on a GPU, PTX alone is
# compiled in half the time. Line tables only: -G would change
# the kernels, and the frames that matter are the host's.
# Device code is not compressed, so that the simulated device can read the kernels' parameters.
# Sources are named from the repository's root, so that reports and recorded traces read the same on every machine: nvcc
# runs there, since kernels keep the name that it was given, and no folder is kept with the host's lines.
set(gmt_nvcc_flags -std=c++17 -g -lineinfo -Xcompiler -Wall,-Wextra
    -Xcompiler "-fdebug-prefix-map=${CMAKE_SOURCE_DIR}=" -Xcompiler "-fdebug-prefix-map=${CMAKE_SOURCE_DIR}/="
    -no-compress -gencode arch=compute_75,code=compute_75)
if(GPUMEMTRACE_MACHINE_CODE)
    list(APPEND gmt_nvcc_flags -gencode arch=compute_90,code=sm_90)
endif()

function(gmt_add_cuda_program source folder out)
    get_filename_component(name "${source}" NAME_WE)
    file(RELATIVE_PATH relative "${CMAKE_SOURCE_DIR}" "${source}")
    file(STRINGS "${source}" libs REGEX "^// libs: cuda$")
    file(STRINGS "${source}" hooks REGEX "^// device hooks: all calls$")
    file(STRINGS "${source}" launches REGEX "^// launches by kernels$")
    file(STRINGS "${source}" capability REGEX "^// compute capability: [0-9]+a?$")
    if(capability)
        string(REGEX REPLACE "^.* " "" capability "${capability}")
        string(REPLACE compute_75 compute_${capability} gmt_nvcc_flags "${gmt_nvcc_flags}") # for this source
        if(capability STREQUAL 90a)
            string(REPLACE compute_90,code=sm_90 compute_90a,code=sm_90a gmt_nvcc_flags "${gmt_nvcc_flags}")
        endif()
    endif()
    file(GLOB headers CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.h")
    set(hook_flags "")
    if(hooks)
        set(hook_flags -I "${CMAKE_BINARY_DIR}/include" -include gpumemtrace/device.h)
        file(GLOB_RECURSE hook_headers CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/device_hooks/include/*.h")
        list(APPEND headers ${hook_headers})
    endif()
    file(MAKE_DIRECTORY "${folder}/objects")
    set(binaries "")
    if(libs AND NOT GMT_CUDA_STUB)
        message(STATUS "${name} is not built: the toolkit has no libcuda.so to link to")
        set(${out} "" PARENT_SCOPE)
        return()
    endif()
    # The levels differ in the host's code alone. What nvcc does before the host's compiler is the larger part: once for both.
    # A test program that has no code for the device needs none of it.
    set(compiled "${relative}")
    set(intermediate "")
    set(header "")
    file(STRINGS "${source}" device REGEX "__global__|__device__|__managed__|__constant__|<<<|two_devices\\.h" LIMIT_COUNT 1)
    if(source MATCHES "/tests/.*\\.cu$" AND NOT device AND NOT hooks)
        set(header -include cuda_runtime.h)
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${source}") # it may get some
    elseif(source MATCHES "\\.cu$" AND NOT launches)
        set(intermediate "${folder}/objects/${name}.cu.cpp.ii")
        set(compiled "${intermediate}")
        add_custom_command(OUTPUT "${intermediate}"
            COMMAND "${GMT_NVCC}" -O2 ${gmt_nvcc_flags} ${gmt_nvcc_extra} ${hook_flags} -cuda "${relative}" -o "${intermediate}"
            DEPENDS "${source}" ${headers} WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}" COMMENT "nvcc ${name}" VERBATIM)
    endif()
    foreach(level O0 O2)
        set(object "${folder}/objects/${name}-${level}.o")
        if(launches)
            set(object "${source}") # which is compiled as it is linked
        else()
            add_custom_command(OUTPUT "${object}"
                COMMAND "${GMT_NVCC}" -${level} ${gmt_nvcc_flags} ${gmt_nvcc_extra} ${header} -x c++ -c "${compiled}" -o "${object}"
                DEPENDS "${source}" ${intermediate} ${headers} WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}"
                COMMENT "nvcc ${name} -${level}" VERBATIM)
        endif()
        foreach(link shared static)
            set(link_flags -cudart ${link})
            if(link STREQUAL "static" AND (libs OR level STREQUAL "O0"))
                continue()
            elseif(libs)
                set(link_flags -cudart none "${GMT_CUDA_STUB}")
            endif()
            set(binary "${folder}/${name}-${level}-${link}")
            set(input "${object}")
            if(hooks AND level STREQUAL "O2" AND link STREQUAL "static")
                set(input "${relative}")
                list(APPEND link_flags -O2 -rdc=true ${hook_flags})
            endif()
            if(launches)
                set(input "${relative}")
                list(APPEND link_flags -${level} -rdc=true -lcudadevrt)
            endif()
            add_custom_command(OUTPUT "${binary}"
                COMMAND "${GMT_NVCC}" ${gmt_nvcc_flags} ${gmt_nvcc_extra} "${input}" ${link_flags} -o "${binary}"
                DEPENDS "${source}" "${object}" ${headers} WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}"
                COMMENT "nvcc ${name} -${level}, ${link} runtime" VERBATIM)
            list(APPEND binaries "${binary}")
        endforeach()
    endforeach()
    set(${out} "${binaries}" PARENT_SCOPE)
endfunction()
