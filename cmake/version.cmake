# SPDX-License-Identifier: Apache-2.0
# Writes OUT with the git state of SOURCE; leaves it alone when nothing changed.
execute_process(COMMAND git -C ${SOURCE} rev-parse HEAD OUTPUT_VARIABLE hash RESULT_VARIABLE failed
  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
set(dirty false)
if(failed)
  set(hash unknown)
else()
  execute_process(COMMAND git -C ${SOURCE} status --porcelain --untracked-files=no OUTPUT_VARIABLE changes ERROR_QUIET)
  if(changes)
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
