/* SPDX-License-Identifier: Apache-2.0 */
/* Host side of the WGMMA variants with 64 query rows a CTA. */
#ifndef RIDGE_MLA_DECODE_LAUNCH_CUH
#define RIDGE_MLA_DECODE_LAUNCH_CUH

#include "kernels/mla_decode/mla_decode_combine.cuh"
#include "kernels/mla_decode/mla_decode_tile.cuh"
#include "kernels/support/tensor_map_side_by_side.h"

#include <stdlib.h>
#include <string.h>

static inline int mla_row_tiles(const int64_t *dim)
{
    return (int)ridge_ceil_div(dim[1] * dim[3], mla_tile_rows);
}

static inline int mla_tile_parts(const int64_t *dim, const struct ridge_device *device)
{
    const int parts = device->sms / mla_row_tiles(dim);
    return parts > 0 ? parts : 1;
}

static inline const char *mla_tile_unsupported(const int64_t *dim, const struct ridge_device *)
{
    if (dim[4] % mla_block_keys)
        return "page_size is not a multiple of 64: a block of 64 keys is copied from one page";
    return mla_row_tiles(dim) > 65535 ? "s_q * h needs more than 65535 tiles of 64 rows" : NULL;
}

static inline size_t mla_tile_workspace_bytes(const int64_t *dim, const struct ridge_device *device)
{
    return mla_split_bytes(dim, mla_tile_parts(dim, device));
}

/* Whole tiles of 64 rows and whole blocks of 64 keys are multiplied; lengths are s_k. Every tile of rows reads all
 * keys. */
static inline void mla_tile_issued(const int64_t *dim, const struct ridge_device *, struct ridge_work *work)
{
    const double tiles = (double)dim[0] * mla_row_tiles(dim);
    const double keys = (double)ridge_ceil_div(dim[2], mla_block_keys) * mla_block_keys;
    work->flop_bf16 = 2 * tiles * mla_tile_rows * keys * (mla_d_k + mla_d_v);
    work->exp = tiles * mla_tile_rows * keys;
    work->bytes_l2 = tiles * keys * mla_d_k * 2;
    work->launches = 2;
}

static inline int mla_encode(const struct ridge_call *call, int q_rows, mla_tile_arguments *arguments)
{
    const mla_problem &problem = arguments->problem;
    const int64_t rows = (int64_t)problem.b * mla_rows_of(problem), keys = (int64_t)problem.pages * problem.page_size;
    const struct tensor_map_matrix q = {mla_dtype, problem.q, rows, mla_d_k, mla_d_k, q_rows, 64, 128, "q", false};
    const struct tensor_map_matrix kv = {mla_dtype,      problem.kv, keys, mla_d_k, mla_d_k,
                                         mla_block_keys, 64,         128,  "kv",    true};
    return tensor_map_encode(call, &q, &arguments->q) || tensor_map_encode(call, &kv, &arguments->kv) ||
           tensor_map_encode_side_by_side(call, &kv, 2, &arguments->kv_wide);
}

/* The state is a mla_tile_arguments; tiles of q_rows rows of q. */
static inline int mla_setup(struct ridge_call *call, const void *kernel, int shared_bytes, int q_rows, int parts,
                            void **state)
{
    void *memory = NULL;
    *state = NULL;
    RIDGE_CUDA(call, cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
    if (posix_memalign(&memory, 64, sizeof(mla_tile_arguments))) {
        snprintf(call->error, call->error_bytes, "out of memory");
        return 1;
    }
    mla_tile_arguments *arguments = (mla_tile_arguments *)memset(memory, 0, sizeof(mla_tile_arguments));
    arguments->problem = mla_problem_of(call);
    arguments->split = mla_split_of(call, parts);
    if (mla_encode(call, q_rows, arguments)) {
        free(arguments);
        return 1;
    }
    *state = arguments;
    return 0;
}

static inline int mla_launch(const struct ridge_call *call, void (*kernel)(mla_tile_arguments), int shared_bytes,
                             int row_tiles, int threads = mla_threads)
{
    const mla_tile_arguments *arguments = (const mla_tile_arguments *)call->state;
    const dim3 grid((unsigned)row_tiles, (unsigned)arguments->split.parts);
    kernel<<<grid, threads, shared_bytes, ridge_stream(call)>>>(*arguments);
    if (RIDGE_LAUNCHED(call))
        return 1;
    return mla_launch_combine(call, arguments->problem, arguments->split, true);
}

static inline int mla_tile_setup(struct ridge_call *call, const void *kernel, void **state)
{
    return mla_setup(call, kernel, mla_shared_bytes, mla_tile_rows, mla_tile_parts(call->dim, call->device), state);
}

static inline int mla_tile_launch(const struct ridge_call *call, void (*kernel)(mla_tile_arguments))
{
    return mla_launch(call, kernel, mla_shared_bytes, mla_row_tiles(call->dim));
}

#endif
