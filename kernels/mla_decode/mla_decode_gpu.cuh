/* SPDX-License-Identifier: Apache-2.0 */
/* What the CUDA variants of mla_decode share: the problem as kernels see it. */
#ifndef RIDGE_MLA_DECODE_GPU_CUH
#define RIDGE_MLA_DECODE_GPU_CUH

#include "kernels/mla_decode/mla_decode_element.cuh"
#include "kernels/support/launch.cuh"

constexpr int mla_d_k = 576, mla_d_v = 512;
constexpr float mla_scale = 1.0f / 24, mla_scale_log2 = 1.4426950408889634f / 24, mla_ln2 = 0.69314718055994531f;

/* Row r of a request is query token r / h of head r % h. */
struct mla_problem {
    const mla_element *q, *kv;
    const int32_t *block_table, *length;
    mla_element *out;
    float *lse;
    int b, s_q, s_k, h, page_size, table_columns, pages;
};

static inline mla_problem mla_problem_of(const struct ridge_call *call)
{
    const int64_t *dim = call->dim, columns = ridge_ceil_div(dim[2], dim[4]);
    return {(const mla_element *)call->buffer[0],
            (const mla_element *)call->buffer[1],
            (const int32_t *)call->buffer[2],
            (const int32_t *)call->buffer[3],
            (mla_element *)call->buffer[4],
            (float *)call->buffer[5],
            (int)dim[0],
            (int)dim[1],
            (int)dim[2],
            (int)dim[3],
            (int)dim[4],
            (int)columns,
            (int)(dim[0] * columns)};
}

static __host__ __device__ __forceinline__ int mla_rows_of(const mla_problem &problem)
{
    return problem.s_q * problem.h;
}

/* Lengths outside [0, s_k] are taken as the nearest end: keys that the table does not have are not read. */
static __device__ __forceinline__ int mla_length(const mla_problem &problem, int request)
{
    return min(max(__ldg(problem.length + request), 0), problem.s_k);
}

/* Keys that row `row` sees. */
static __device__ __forceinline__ int mla_visible(const mla_problem &problem, int length, int row)
{
    return max(length - problem.s_q + row / problem.h + 1, 0);
}

/* The page of a key; one that the cache does not have becomes `pages`, which is behind its end. */
static __device__ __forceinline__ int mla_page(const mla_problem &problem, int request, int key)
{
    const int page = __ldg(problem.block_table + (int64_t)request * problem.table_columns + key / problem.page_size);
    return (unsigned)page < (unsigned)problem.pages ? page : problem.pages;
}

/* Row of the cache, 576 elements each, that holds a key below the request's length; NULL for a page that is not there.
 */
static __device__ __forceinline__ const mla_element *mla_key(const mla_problem &problem, int request, int key)
{
    const int page = mla_page(problem, request, key);
    return page < problem.pages ? problem.kv + ((int64_t)page * problem.page_size + key % problem.page_size) * mla_d_k
                                : NULL;
}

static __device__ __forceinline__ int64_t mla_lse_at(const mla_problem &problem, int request, int row)
{
    return ((int64_t)request * problem.h + row % problem.h) * problem.s_q + row / problem.h;
}

#endif
