/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RIDGE_ATTENTION_F32_SHAPE_CUH
#define RIDGE_ATTENTION_F32_SHAPE_CUH

#include "kernels/support/launch.cuh"

/* q, out [b,s_q,h,dim]; k, v [b,s_k,h,dim]; lse [b,h,s_q]. A row is one (request, head, query), numbered as in lse. */
struct attention_shape {
    int b, s_q, s_k, h, dim;

    __device__ int64_t query_of(int64_t row) const /* element of q and out where the row starts */
    {
        const int64_t head = row / s_q;
        return ((head / h * s_q + row % s_q) * h + head % h) * dim;
    }

    __device__ int64_t keys_of(int64_t head) const /* element of k and v; head: request * h + head */
    {
        return (head / h * s_k * h + head % h) * dim;
    }
};

static inline attention_shape attention_shape_of(const int64_t *dim)
{
    return {(int)dim[0], (int)dim[1], (int)dim[2], (int)dim[3], (int)dim[4]};
}

static inline int64_t attention_rows(const int64_t *dim)
{
    return dim[0] * dim[1] * dim[3];
}

#endif
