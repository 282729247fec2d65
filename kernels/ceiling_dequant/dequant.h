/* SPDX-License-Identifier: Apache-2.0 */
/* Word w of token t holds four codes, DEQUANT_STRIDE t + seed[w] as bytes; a tile of 128 codes has a scale. */
#ifndef RIDGE_DEQUANT_H
#define RIDGE_DEQUANT_H

#include <stdint.h>

enum { DEQUANT_VALUES = 512, DEQUANT_WORDS = 128, DEQUANT_TILES = 4, DEQUANT_KEPT = 264 };

/* Odd, so that every word takes all values. */
#define DEQUANT_STRIDE UINT32_C(0x9e3779b9)

/* What stands in the output for codes 0x7f and 0xff, which not every route makes NaN. */
#define DEQUANT_NAN UINT32_C(0x7fc00000)

#endif
