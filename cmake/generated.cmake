# SPDX-License-Identifier: Apache-2.0
# Build tools. assets.c: data files inside the binary. version.c: git state, at every build. cubin_hash.c: hashes of device code.
set(generated ${CMAKE_BINARY_DIR}/generated)

file(GLOB RIDGE_ASSETS CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}
  roofline/devices/*.json roofline/*.gp profiles/groups/*.json bench/*.schema.json reports/*.py)
list(SORT RIDGE_ASSETS)
string(JOIN "," asset_list ${RIDGE_ASSETS})
list(TRANSFORM RIDGE_ASSETS PREPEND ${CMAKE_SOURCE_DIR}/ OUTPUT_VARIABLE asset_paths)
add_custom_command(OUTPUT ${generated}/assets.c
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR} -DASSETS=${asset_list} -DOUT=${generated}/assets.c
          -P ${CMAKE_SOURCE_DIR}/cmake/assets.cmake
  DEPENDS ${asset_paths} ${CMAKE_SOURCE_DIR}/cmake/assets.cmake VERBATIM)

add_custom_target(version BYPRODUCTS ${generated}/version.c
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR} -DVERSION=${PROJECT_VERSION} "-DNOTE=${RIDGE_BUILD_NOTE}"
          -DOUT=${generated}/version.c -P ${CMAKE_SOURCE_DIR}/cmake/version.cmake VERBATIM)

add_executable(keep_operands cmake/keep_operands.c)
target_include_directories(keep_operands PRIVATE ${CMAKE_SOURCE_DIR})
add_executable(hash_cubins cmake/hash_cubins.c)
target_include_directories(hash_cubins PRIVATE ${CMAKE_SOURCE_DIR} ${XXHASH_INCLUDE})
target_link_libraries(hash_cubins PRIVATE ${XXHASH_STATIC})
if(RIDGE_WITH_CUDA)
  add_custom_command(OUTPUT ${generated}/cubin_hash.c
    COMMAND hash_cubins ${generated}/cubin_hash.c $<TARGET_OBJECTS:kernels_hopper> $<TARGET_OBJECTS:kernels_portable>
            $<TARGET_OBJECTS:kernels_h20>
    DEPENDS hash_cubins kernels_hopper kernels_portable kernels_h20 $<TARGET_OBJECTS:kernels_hopper>
            $<TARGET_OBJECTS:kernels_portable> $<TARGET_OBJECTS:kernels_h20>
    COMMAND_EXPAND_LISTS VERBATIM)
else()
  file(CONFIGURE OUTPUT ${generated}/cubin_hash.c CONTENT
"/* Generated: a build without device code. */
#include \"base/version.h\"
const char *ridge_cubin_hash(const char *file) { (void)file; return \"\"; }
")
endif()

set(RIDGE_GENERATED ${generated}/registry.c ${generated}/assets.c ${generated}/version.c ${generated}/cubin_hash.c)
