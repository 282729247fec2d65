/* SPDX-License-Identifier: Apache-2.0 */
/* Axes and buffers of mla_prefill_sparse, and its rule for indices, for the family and its host variants. */
#ifndef RIDGE_MLA_PREFILL_SPARSE_H
#define RIDGE_MLA_PREFILL_SPARSE_H

#include "kernels/kernel.h"
#include "kernels/support/numeric.h"

enum { PREFILL_S_Q, PREFILL_S_KV, PREFILL_H, PREFILL_TOPK, PREFILL_D_QK };
enum { PREFILL_Q, PREFILL_KV, PREFILL_INDICES, PREFILL_OUT, PREFILL_MAX_LOGITS, PREFILL_LSE };
enum {
    PREFILL_D_V = 512,   /* the first columns of a key */
    PREFILL_D_MAX = 576, /* with the RoPE part */
};

/* As mla_decode; a model passes the scale of its unabsorbed heads. */
#define PREFILL_SCALE (1.0f / 24)

/* An index that is no row of kv, whatever its value, is no key: nothing is read for it. */
static inline const uint16_t *prefill_key(const int64_t *dim, const uint16_t *kv, int32_t index)
{
    return index >= 0 && index < dim[PREFILL_S_KV] ? kv + index * dim[PREFILL_D_QK] : NULL;
}

#endif
