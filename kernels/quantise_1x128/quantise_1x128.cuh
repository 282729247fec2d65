/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RIDGE_QUANTISE_1X128_CUH
#define RIDGE_QUANTISE_1X128_CUH

#include "kernels/ptx/global.cuh"
#include "kernels/support/block_scale.cuh"
#include "kernels/support/launch.cuh"

struct quantise_1x128_shape {
    int64_t m, pitch;
    int pieces, blocks; /* of a row: 8 values, and 128 */
};

static inline quantise_1x128_shape quantise_1x128_shape_of(const int64_t *dim)
{
    return {dim[0], block_scale_pitch(dim[0]), (int)(dim[1] / 8), (int)block_scale_count(dim[1])};
}

static inline const char *quantise_1x128_unsupported(const int64_t *dim, const struct ridge_device *device)
{
    (void)device;
    return dim[1] % 8 ? "k must be a multiple of 8 here: rows of whole 16-byte loads" : NULL;
}

#endif
