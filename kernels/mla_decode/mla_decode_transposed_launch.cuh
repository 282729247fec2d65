/* SPDX-License-Identifier: Apache-2.0 */
/* Host side of the transposed variants: tiles of 16 rows, or of 32 where there are more. */
#ifndef RIDGE_MLA_DECODE_TRANSPOSED_LAUNCH_CUH
#define RIDGE_MLA_DECODE_TRANSPOSED_LAUNCH_CUH

#include "kernels/mla_decode/mla_decode_launch.cuh"
#include "kernels/mla_decode/mla_decode_transposed.cuh"

static inline int mla_transposed_tile_rows(const int64_t *dim)
{
    return dim[1] * dim[3] <= 16 ? 16 : 32;
}

static inline int mla_transposed_row_tiles(const int64_t *dim)
{
    return (int)ridge_ceil_div(dim[1] * dim[3], mla_transposed_tile_rows(dim));
}

static inline int mla_transposed_parts(const int64_t *dim, const struct ridge_device *device)
{
    const int parts = device->sms / mla_transposed_row_tiles(dim);
    return parts > 0 ? parts : 1;
}

static inline const char *mla_transposed_unsupported(const int64_t *dim, const struct ridge_device *device)
{
    return dim[1] * dim[3] > 128 ? "s_q * h above 128: every 32 rows read all keys again, 05 is for these"
                                 : mla_tile_unsupported(dim, device);
}

static inline size_t mla_transposed_workspace_bytes(const int64_t *dim, const struct ridge_device *device)
{
    return mla_split_bytes(dim, mla_transposed_parts(dim, device));
}

/* Of a request's row_tiles tiles of tile_rows rows, each of which reads all keys. */
static inline void mla_transposed_issued_of(const int64_t *dim, int row_tiles, int tile_rows, struct ridge_work *work)
{
    const double rows = (double)dim[0] * row_tiles * tile_rows;
    const double keys = (double)ridge_ceil_div(dim[2], mla_block_keys) * mla_block_keys;
    work->flop_bf16 = 2 * rows * keys * (mla_d_k + mla_d_v);
    work->exp = rows * keys;
    work->bytes_l2 = (double)dim[0] * row_tiles * keys * mla_d_k * 2;
    work->bytes_smem = work->bytes_l2 * (1 + (double)mla_d_v / mla_d_k);
}

static inline void mla_transposed_issued(const int64_t *dim, const struct ridge_device *, struct ridge_work *work)
{
    mla_transposed_issued_of(dim, mla_transposed_row_tiles(dim), mla_transposed_tile_rows(dim), work);
    work->launches = 2;
}

#endif
