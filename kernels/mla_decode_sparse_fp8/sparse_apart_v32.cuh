/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens of V3.2, as sparse_apart_convert.cuh takes them: 512 codes; four scales and the RoPE part. */
#ifndef RIDGE_SPARSE_APART_V32_CUH
#define RIDGE_SPARSE_APART_V32_CUH

#include "kernels/mla_decode_sparse_fp8/sparse_apart.cuh"

template <typename element_> struct apart_v32 {
    using element = element_;
    static constexpr int row_bytes = kv_token_bytes(KV_V32), head_bytes = kv_code_bytes(KV_V32);
    static constexpr int tail_bytes = row_bytes - head_bytes, slot_bytes = apart_slot_tokens * row_bytes;
    static constexpr int chunks = 64, rope_tile = 8;
    static constexpr bool scales_elsewhere = false;

    static __device__ __forceinline__ void load(float2 &codes, uint32_t &scale, uint32_t staged, int lane, int token,
                                                int half)
    {
        codes = ld_shared_v2_f32(staged + token * head_bytes + half * 256 + lane * 8);
        scale = __float_as_uint(
            ld_shared_f32(staged + apart_slot_tokens * head_bytes + token * tail_bytes + half * 8 + lane / 16 * 4));
    }
    static __device__ __forceinline__ uint4 values(float2 codes, uint32_t scale, int)
    {
        return element::chunk(codes, __uint_as_float(scale));
    }
    static __device__ __forceinline__ uint4 rope(uint32_t staged, int token, int piece)
    {
        return ld_shared_v4(staged + apart_slot_tokens * head_bytes + token * tail_bytes + 16 + piece * 16);
    }
};

#endif
