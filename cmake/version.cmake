# SPDX-License-Identifier: Apache-2.0
# Writes OUT with the git state of SOURCE; leaves it alone when nothing changed. Kernels are found by their names, so
# an untracked file in a source folder is in the build as much as a changed one.
execute_process(COMMAND git -C ${SOURCE} rev-parse HEAD OUTPUT_VARIABLE hash RESULT_VARIABLE failed
  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
set(dirty false)
if(failed)
  set(hash unknown)
else()
  execute_process(COMMAND git -C ${SOURCE} status --porcelain --untracked-files=no OUTPUT_VARIABLE changes ERROR_QUIET)
  execute_process(COMMAND git -C ${SOURCE} ls-files --others --exclude-standard --
    base bench cli cmake kernels profiles reports roofline OUTPUT_VARIABLE untracked ERROR_QUIET)
  if(changes OR untracked)
    set(dirty true)
  endif()
endif()
set(text "/* Generated at every build. */
#include \"base/version.h\"

const char *const ridge_version = \"${VERSION}\";
const char *const ridge_git_hash = \"${hash}\";
const bool ridge_git_dirty = ${dirty};
const char *const ridge_build_note = \"${NOTE}\";
")
set(old "")
if(EXISTS ${OUT})
  file(READ ${OUT} old)
endif()
if(NOT old STREQUAL text)
  file(WRITE ${OUT} "${text}")
endif()
