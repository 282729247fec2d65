/* SPDX-License-Identifier: Apache-2.0 */
/* Host side of the WGMMA variants with 64 heads a CTA. */
#ifndef RIDGE_MLA_PREFILL_SPARSE_LAUNCH_CUH
#define RIDGE_MLA_PREFILL_SPARSE_LAUNCH_CUH

#include "kernels/mla_prefill_sparse/mla_prefill_sparse.h"
#include "kernels/mla_prefill_sparse/mla_prefill_sparse_tile.cuh"

/* Tiles of 64 heads of all queries. */
static inline int64_t prefill_items(const int64_t *dim)
{
    return dim[0] * ridge_ceil_div(dim[2], prefill_heads);
}

static inline const char *prefill_unsupported(const int64_t *dim, const struct ridge_device *)
{
    return prefill_items(dim) > INT32_MAX ? "s_q, h: more than 2^31 - 1 tiles of 64 heads" : NULL;
}

/* Whole tiles of 64 heads are multiplied; every tile gathers its query's keys, of `gathers` tiles once. */
static inline void prefill_issued_of(const int64_t *dim, int gathers, struct ridge_work *work)
{
    const double keys = (double)prefill_items(dim) * (double)dim[3];
    work->flop_bf16 = 2 * keys * prefill_heads * (double)(dim[4] + prefill_d_v);
    work->exp = keys * prefill_heads;
    work->bytes_l2 = 2 * keys / gathers * (double)dim[4];
    work->launches = 1;
}

static inline void prefill_issued(const int64_t *dim, const struct ridge_device *, struct ridge_work *work)
{
    prefill_issued_of(dim, 1, work);
}

/* CTAs of a persistent kernel. */
static inline unsigned prefill_persistent(const struct ridge_call *call)
{
    const int64_t items = prefill_items(call->dim), sms = call->device->sms;
    return (unsigned)(items < sms ? items : sms);
}

static inline int prefill_allow_shared(const struct ridge_call *call, const void *kernel, int bytes)
{
    RIDGE_CUDA(call, cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    return 0;
}

#endif
