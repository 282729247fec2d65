# SPDX-License-Identifier: Apache-2.0
# Finds families and variants by their file names, refuses names outside the rule, and writes the sorted registry.
#
#   kernels/<family>/<family>.c                 the family
#   kernels/<family>/<family>_<NN>_<name>.cu    a CUDA variant; .min_cc = 90 in the file builds it for sm_90a only
#   kernels/<family>/<family>_h<NN>_<name>.c    a host variant
#   kernels/<family>/<family>_reference.cu      the GPU reference
# and headers (.h .cuh) and README.md. A variant that includes kernels/ptx/emulate.cuh or kernels/support/trace.cuh is
# compiled once more for it, with a definition and another symbol, through a generated file, and entered in a table of its
# own. Of one that includes kernels/support/keep_operands.cuh the machine code is changed (keep_operands.c).

file(GLOB family_files CONFIGURE_DEPENDS LIST_DIRECTORIES false kernels/*/*)
list(SORT family_files)

set(RIDGE_HOST_KERNELS "")
set(RIDGE_HOPPER_KERNELS "")
set(RIDGE_PORTABLE_KERNELS "")
set(RIDGE_EMULATED_KERNELS "")
set(RIDGE_TRACED_KERNELS "")
set(kept_objects "")
set(emulated_rows "")
set(emulated_count 0)
set(traced_rows "")
set(traced_count 0)
set(declarations "")
set(rows "")
set(row_count 0)
set(left_out "")
set(left_out_count 0)

# The variant at hand once more, in the folder generated/<folder> and with the symbol's ending _<folder>.
macro(compile_again folder definition sources)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/${folder}/${relative} CONTENT "// Generated.
${definition}
#define ridge_variant_${stem} ridge_variant_${stem}_${folder}
#include \"${relative}\"
")
  list(APPEND ${sources} ${CMAKE_BINARY_DIR}/generated/${folder}/${relative})
  string(APPEND declarations "extern const struct ridge_variant ridge_variant_${stem}_${folder};\n")
endmacro()

foreach(path IN LISTS family_files)
  file(RELATIVE_PATH relative ${CMAKE_SOURCE_DIR} ${path})
  get_filename_component(folder ${path} DIRECTORY)
  get_filename_component(family ${folder} NAME)
  get_filename_component(name ${path} NAME)
  get_filename_component(stem ${path} NAME_WE)
  if(name MATCHES "\\.(h|cuh|md|svg|png)$" OR family STREQUAL "ptx")
    continue()
  endif()
  set(variant "")
  if(family STREQUAL "support")
    # the harness' own device code
  elseif(name STREQUAL "${family}.c")
    string(APPEND declarations "extern const struct ridge_family ridge_family_${family};\n")
  elseif(name STREQUAL "${family}_reference.cu")
    string(APPEND declarations "extern int ridge_reference_${family}(const struct ridge_call *, float *const *, float *const *);\n")
  elseif(name MATCHES "^${family}_([0-9][0-9]_[a-z0-9_]+)\\.cu$")
    set(variant ${CMAKE_MATCH_1})
  elseif(name MATCHES "^${family}_(h[0-9][0-9]_[a-z0-9_]+)\\.c$")
    set(variant ${CMAKE_MATCH_1})
  else()
    message(FATAL_ERROR "${relative}: not a kernel file name. Expected ${family}.c, ${family}_<NN>_<name>.cu, "
      "${family}_h<NN>_<name>.c, ${family}_reference.cu, or a header (lower case, digits, underscores)")
  endif()

  if(name MATCHES "\\.cu$")
    if(NOT RIDGE_WITH_CUDA)
      if(variant)
        string(APPEND left_out "    {\"${family}\", \"${variant}\", NULL, NULL, NULL, NULL},\n")
        math(EXPR left_out_count "${left_out_count} + 1")
      endif()
      continue()
    endif()
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
    file(STRINGS ${path} hopper REGEX "\\.min_cc *= *90")
    if(hopper)
      list(APPEND RIDGE_HOPPER_KERNELS ${path})
    else()
      list(APPEND RIDGE_PORTABLE_KERNELS ${path})
    endif()
  else()
    list(APPEND RIDGE_HOST_KERNELS ${path})
  endif()

  if(variant)
    if(NOT EXISTS ${folder}/${family}.c)
      message(FATAL_ERROR "${relative}: its family has no ${family}.c")
    endif()
    set(reference NULL)
    if(RIDGE_WITH_CUDA AND EXISTS ${folder}/${family}_reference.cu)
      set(reference ridge_reference_${family})
    endif()
    string(APPEND declarations "extern const struct ridge_variant ridge_variant_${stem};\n")
    string(APPEND rows "    {\"${family}\", \"${variant}\", \"${relative}\", &ridge_family_${family}, &ridge_variant_${stem}, ${reference}},\n")
    math(EXPR row_count "${row_count} + 1")
    set(again "")
    if(name MATCHES "\\.cu$")
      file(STRINGS ${path} kept REGEX "^#include \"kernels/support/keep_operands.cuh\"")
      if(kept)
        list(APPEND kept_objects ${stem}.cu)
      endif()
      file(STRINGS ${path} again REGEX "^#include \"kernels/(ptx/emulate|support/trace).cuh\"")
    endif()
    set(entry "\"${family}\", \"${variant}\"")
    if(again MATCHES "emulate")
      compile_again(h20 "#define RIDGE_EMULATE_H20" RIDGE_EMULATED_KERNELS)
      string(APPEND emulated_rows "    {${entry}, \"generated/h20/${relative}\", &ridge_family_${family}, &ridge_variant_${stem}_h20, ${reference}},\n")
      math(EXPR emulated_count "${emulated_count} + 1")
    endif()
    if(again MATCHES "trace")
      compile_again(trace "#define RIDGE_TRACE ridge_trace_${stem}" RIDGE_TRACED_KERNELS)
      string(APPEND declarations "extern const struct ridge_trace ridge_trace_${stem};\n")
      string(APPEND traced_rows "    {{${entry}, \"generated/trace/${relative}\", &ridge_family_${family}, &ridge_variant_${stem}_trace, ${reference}}, &ridge_trace_${stem}},\n")
      math(EXPR traced_count "${traced_count} + 1")
    endif()
  endif()
endforeach()

file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/registry.c @ONLY CONTENT
"/* Generated from the file names under kernels/. */
#include \"bench/registry.h\"

@declarations@
const struct ridge_entry ridge_builtin_entries[] = {
@rows@    {0},
};
const int ridge_builtin_entry_count = @row_count@;

const struct ridge_entry ridge_emulated_entries[] = {
@emulated_rows@    {0},
};
const int ridge_emulated_entry_count = @emulated_count@;

const struct ridge_traced_entry ridge_traced_entries[] = {
@traced_rows@    {{0}, 0},
};
const int ridge_traced_entry_count = @traced_count@;

const struct ridge_entry ridge_left_out_entries[] = {
@left_out@    {0},
};
const int ridge_left_out_count = @left_out_count@;
")

if(RIDGE_WITH_CUDA)
  set(cache "")
  if(CCACHE)
    set(cache ${CCACHE})
  endif()
  set(launcher ${CMAKE_SOURCE_DIR}/scripts/ptxas_scan ${cache})
  add_library(kernels_hopper STATIC ${RIDGE_HOPPER_KERNELS} cmake/empty.cu)
  add_library(kernels_portable STATIC ${RIDGE_PORTABLE_KERNELS} cmake/empty.cu)
  add_library(kernels_h20 STATIC ${RIDGE_EMULATED_KERNELS} cmake/empty.cu)
  add_library(kernels_trace STATIC ${RIDGE_TRACED_KERNELS} cmake/empty.cu)
  # PTX for any GPU from sm_80 on, and machine code for Hopper from the same PTX: one pass of the front end, not two.
  set_target_properties(kernels_portable PROPERTIES CUDA_ARCHITECTURES OFF)
  target_compile_options(kernels_portable PRIVATE "--generate-code=arch=compute_80,code=[compute_80,sm_90]")
  foreach(library kernels_hopper kernels_portable kernels_h20 kernels_trace)
    set_target_properties(${library} PROPERTIES CUDA_SEPARABLE_COMPILATION OFF
      CUDA_COMPILER_LAUNCHER "${launcher}")
    target_compile_options(${library} PRIVATE -std=c++20 -lineinfo -Xptxas=-v,-warn-spills --expt-relaxed-constexpr)
    target_include_directories(${library} PRIVATE ${CMAKE_SOURCE_DIR})
  endforeach()
  if(kept_objects)
    list(JOIN kept_objects "|" kept_objects)
    add_custom_command(TARGET kernels_hopper PRE_LINK
      COMMAND keep_operands "$<FILTER:$<TARGET_OBJECTS:kernels_hopper>,INCLUDE,/(${kept_objects})\\.o(bj)?$>"
      COMMAND_EXPAND_LISTS VERBATIM)
  endif()
  # Traced kernels are not timed: where stamps cost a spill, that is in the slowdown that is printed.
  set_target_properties(kernels_trace PROPERTIES CUDA_COMPILER_LAUNCHER "${cache}")
endif()
