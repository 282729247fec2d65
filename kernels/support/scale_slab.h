/* SPDX-License-Identifier: Apache-2.0 */
/* How many rows of scales a CTA takes when it takes whole ones: a power of two, at least 32 (a line of the M-major
 * layout), as many as come to 48 KiB at most. */
#ifndef RIDGE_SCALE_SLAB_H
#define RIDGE_SCALE_SLAB_H

#include "kernels/kernel.h"
#include "kernels/support/block_scale.h"

enum { SCALE_SLAB_MAX_BLOCKS = 1024 };

static inline int scale_slab_shift(int blocks)
{
    int shift = 5;
    while (shift < 9 && (8 * blocks << shift) <= 49152)
        shift++;
    return shift;
}

static inline const char *scale_slab_unsupported(const int64_t *dim, const struct ridge_device *device)
{
    (void)device;
    return block_scale_count(dim[1]) > SCALE_SLAB_MAX_BLOCKS ? "k above 131072: 32 rows do not fit shared memory here"
                                                             : NULL;
}

#endif
