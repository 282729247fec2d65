/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RIDGE_KV_PLACE_CUH
#define RIDGE_KV_PLACE_CUH

#include "kernels/kv_quantise/kv_problem.h"

/* Bytes from the beginning of the cache to the parts of a token. */
struct kv_place {
    int64_t codes, scales, rope;
};

/* Blocks of all formats but MODEL1 are their tokens and nothing else, so that pages do not matter. */
template <kv_format format> static __device__ __forceinline__ kv_place kv_place_of(unsigned token, unsigned page)
{
    if constexpr (format == KV_MODEL1) {
        const unsigned block = token / page, at = token - block * page;
        const int64_t base = block * kv_block_bytes(format, page);
        return {base + kv_token_offset(format, at), base + kv_scale_offset(format, page, at),
                base + kv_rope_offset(format, at)};
    } else {
        const int64_t base = (int64_t)token * kv_token_bytes(format);
        return {base, base + kv_scale_offset(format, 1, 0), base + kv_rope_offset(format, 0)};
    }
}

#endif
