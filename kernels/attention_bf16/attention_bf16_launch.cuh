/* SPDX-License-Identifier: Apache-2.0 */
/* Host side of the WGMMA variants. */
#ifndef RIDGE_ATTENTION_BF16_LAUNCH_CUH
#define RIDGE_ATTENTION_BF16_LAUNCH_CUH

#include "kernels/attention_bf16/attention_bf16_tile.cuh"

#include <stdlib.h>
#include <string.h>

static inline int64_t attention_tiles(const int64_t *dim)
{
    return dim[ATTENTION_B] * dim[ATTENTION_H] * ridge_ceil_div(dim[ATTENTION_S_Q], attention_tile_rows);
}

static inline const char *attention_unsupported(const int64_t *dim, const struct ridge_device *)
{
    return attention_tiles(dim) > INT32_MAX ? "b * h * ceil(s_q / 128) is above 2147483647 blocks" : NULL;
}

/* Whole tiles of 128 queries and whole blocks of keys are multiplied, and each tile reads all keys and values. */
template <int keys>
static void attention_issued(const int64_t *dim, const struct ridge_device *, struct ridge_work *work)
{
    const double tiles = (double)attention_tiles(dim);
    const double read = (double)ridge_ceil_div(dim[ATTENTION_S_K], keys) * keys;
    work->flop_bf16 = 4 * tiles * attention_tile_rows * read * attention_dim;
    work->exp = tiles * attention_tile_rows * read;
    work->bytes_l2 = tiles * attention_dim * 2 * (2 * read + attention_tile_rows);
    work->tiles = tiles;
    work->launches = 1;
}

static inline int attention_encode(const struct ridge_call *call, int keys, attention_arguments *arguments)
{
    const attention_problem &problem = arguments->problem;
    const int64_t columns = (int64_t)problem.h * attention_dim;
    const struct tensor_map_matrix q = {RIDGE_BF16,          problem.q, problem.s_q, columns, columns,
                                        attention_tile_rows, 64,        128,         "q"};
    const struct tensor_map_matrix k = {RIDGE_BF16, problem.k, problem.s_k, columns, columns, keys, 64, 128, "k"};
    const struct tensor_map_matrix v = {RIDGE_BF16, problem.v, problem.s_k, columns, columns, keys, 64, 128, "v"};
    return tensor_map_encode_stack(call, &q, problem.b, &arguments->q) ||
           tensor_map_encode_stack(call, &k, problem.b, &arguments->k) ||
           tensor_map_encode_stack(call, &v, problem.b, &arguments->v);
}

/* The state is an attention_arguments. */
template <int keys, attention_schedule schedule> static int attention_setup(struct ridge_call *call, void **state)
{
    void *memory = NULL;
    *state = NULL;
    RIDGE_CUDA(call, cudaFuncSetAttribute(attention_kernel<keys, schedule>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                          attention_shared_bytes(keys)));
    if (posix_memalign(&memory, 64, sizeof(attention_arguments))) {
        snprintf(call->error, call->error_bytes, "out of memory");
        return 1;
    }
    attention_arguments *arguments = (attention_arguments *)memset(memory, 0, sizeof(attention_arguments));
    arguments->problem = attention_problem_of(call);
    if (attention_encode(call, keys, arguments)) {
        free(arguments);
        return 1;
    }
    *state = arguments;
    return 0;
}

template <int keys, attention_schedule schedule> static int attention_launch(const struct ridge_call *call)
{
    attention_kernel<keys, schedule>
        <<<(unsigned)attention_tiles(call->dim), attention_threads, attention_shared_bytes(keys), ridge_stream(call)>>>(
            *(const attention_arguments *)call->state);
    return RIDGE_LAUNCHED(call);
}

#endif
