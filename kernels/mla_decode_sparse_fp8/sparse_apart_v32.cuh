/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens of V3.2, as sparse_apart_convert.cuh takes them: 512 codes; four scales and the RoPE part. */
#ifndef RIDGE_SPARSE_APART_V32_CUH
#define RIDGE_SPARSE_APART_V32_CUH

#include "kernels/mla_decode_sparse_fp8/sparse_apart.cuh"

template <typename element_> struct apart_v32 {
    using element = element_;
    static constexpr int row_bytes = kv_token_bytes(KV_V32), head_bytes = kv_code_bytes(KV_V32);
    static constexpr int tail_bytes = row_bytes - head_bytes, slot_bytes = apart_slot_tokens * row_bytes;
    static constexpr bool scales_elsewhere = false;

    /* Of the 64 chunks of eight codes a lane has chunk lane and chunk lane + 32: eight lanes store all of a row of a
     * tile, which is all banks. Loads are under way before the first is used, since one behind stores waits for them.
     */
    static __device__ __forceinline__ void convert(uint32_t staged, uint32_t keys, int row)
    {
        const int lane = thread_again() % 32; /* addresses made again, or they would be kept in registers */
        const uint32_t to = keys + lane / 8 * mla_tile_bytes + swizzle_128(row, lane % 8 * 16);
        const uint32_t tails = staged + apart_slot_tokens * head_bytes;
        const uint4 rope = ld_shared_v4(tails + lane / 8 * tail_bytes + 16 + lane % 8 * 16);
        float2 codes[2 * apart_slot_tokens];
        float scale[2 * apart_slot_tokens];
#pragma unroll
        for (int i = 0; i < 2 * apart_slot_tokens; i++) {
            codes[i] = ld_shared_v2_f32(staged + i / 2 * head_bytes + i % 2 * 256 + lane * 8);
            scale[i] = ld_shared_f32(tails + i / 2 * tail_bytes + i % 2 * 8 + lane / 16 * 4);
        }
        st_shared_v4(keys + 8 * mla_tile_bytes + swizzle_128(row + lane / 8, lane % 8 * 16),
                     make_uint4(element::of_bf16(rope.x), element::of_bf16(rope.y), element::of_bf16(rope.z),
                                element::of_bf16(rope.w)));
#pragma unroll
        for (int i = 0; i < 2 * apart_slot_tokens; i++)
            st_shared_v4((to ^ i / 2 * 16) + i / 2 * 128 + i % 2 * 4 * mla_tile_bytes,
                         element::chunk(codes[i], scale[i]));
    }
};

#endif
