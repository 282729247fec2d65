/* SPDX-License-Identifier: Apache-2.0 */
/* Axes and buffers of mla_prefill_sparse, and its rule for indices, for the family and its host variants. */
#ifndef RIDGE_MLA_PREFILL_SPARSE_H
#define RIDGE_MLA_PREFILL_SPARSE_H

#include "kernels/kernel.h"
#include "kernels/support/numeric.h"

#include <stdio.h>

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

/* For setup of kernels that copy 16 bytes at a time: 0, or nonzero with call->error, rows that do not lie so and lists
 * that are too short. */
static inline int prefill_refuse_buffers(const struct ridge_call *call)
{
    static const struct {
        const char *name;
        int buffer;
    } rows[] = {{"q", PREFILL_Q}, {"kv", PREFILL_KV}, {"out", PREFILL_OUT}};
    const int64_t indices = call->dim[PREFILL_S_Q] * call->dim[PREFILL_TOPK] * 4;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const uintptr_t beyond = (uintptr_t)call->buffer[rows[i].buffer] % 16;
        if (beyond) {
            snprintf(call->error, call->error_bytes, "%s: address is %d bytes beyond a multiple of 16: must be one",
                     rows[i].name, (int)beyond);
            return 1;
        }
    }
    if (call->buffer_bytes && (int64_t)call->buffer_bytes[PREFILL_INDICES] < indices) {
        snprintf(call->error, call->error_bytes, "indices: %lld bytes: must be at least %lld, s_q * topk of 4",
                 (long long)call->buffer_bytes[PREFILL_INDICES], (long long)indices);
        return 1;
    }
    return 0;
}

#endif
