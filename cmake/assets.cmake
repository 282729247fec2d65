# SPDX-License-Identifier: Apache-2.0
# Writes OUT, a C table of the files in ASSETS (comma-separated, relative to SOURCE).
string(REPLACE "," ";" assets "${ASSETS}")
set(bodies "")
set(rows "")
set(index 0)
foreach(path IN LISTS assets)
  file(READ ${SOURCE}/${path} hex HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
  string(LENGTH "${hex}" digits)
  math(EXPR size "${digits} / 2")
  string(APPEND bodies "static const unsigned char asset_${index}[] = {${bytes}0};\n")
  string(APPEND rows "    {\"${path}\", (const char *)asset_${index}, ${size}},\n")
  math(EXPR index "${index} + 1")
endforeach()
file(WRITE ${OUT} "/* Generated from data files. */
#include \"base/assets.h\"

${bodies}
const struct asset ridge_assets[] = {
${rows}    {0},
};
const size_t ridge_asset_count = ${index};
")
