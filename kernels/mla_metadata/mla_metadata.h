/* SPDX-License-Identifier: Apache-2.0 */
/* Axes, buffers and rows of mla_metadata. */
#ifndef RIDGE_MLA_METADATA_H
#define RIDGE_MLA_METADATA_H

#include "kernels/kernel.h"
#include "kernels/mla_decode/mla_decode_share.h"

enum { META_B, META_S_K, META_PARTS };
enum { META_LENGTH, META_RANGE, META_MADE_FOR };
enum {
    META_FIRST, /* the part's units, [first, last); none where first is not below last */
    META_LAST,
    META_REQUEST, /* where they begin; b if there are none */
    META_START,   /* unit where that request begins; 0 if there are none */
    META_WORDS
};

/* As the decode kernels take it: outside [0, s_k] the nearest end counts. */
static inline int metadata_length(const int64_t *dim, const int32_t *length, int64_t request)
{
    return mla_clamp(length[request], 0, (int)dim[META_S_K]);
}

#endif
