/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scores apart from values: four warpgroups, 64 heads of a query a CTA. The score warpgroup has five of the tiles of q
 * in its registers and makes the probabilities of block after block; two value warpgroups multiply them with their
 * halves of the values, and give a block back 16 tokens at a time; the converter (sparse_apart_convert.cuh) fills what
 * was given back.
 *
 * Named barriers: 1 the score warpgroup, 2 and 3 the value warpgroups.
 */
#ifndef RIDGE_SPARSE_APART_CUH
#define RIDGE_SPARSE_APART_CUH

#include "kernels/mla_decode/mla_decode_in_turn.cuh"
#include "kernels/mla_decode_sparse_fp8/sparse_apart_convert.cuh"

/* Asks for q of a piece, 64 rows from `row` on: tiles to shared memory, which nobody reads any more, and the others, a
 * line of 128 bytes a row, nearer. */
static __device__ __forceinline__ void apart_ask_q(const sparse_arguments &arguments, const apart_shared &shared,
                                                   int64_t row)
{
    if (threadIdx.x % 128 == 0) {
        mbarrier_arrive_expect(shared.q_full(), apart_shared::q_bytes);
        for (int tile = apart_held_tiles; tile < apart_tiles; tile++)
            tma_load(shared.q(tile), &arguments.q, tile * 64, (int)row, shared.q_full());
    }
#pragma unroll 1
    for (int i = thread_again() % 128; i < sparse_rows * apart_held_tiles; i += 128)
        prefetch_global_l1(arguments.problem.q + (row + i % sparse_rows) * sparse_d_k + i / sparse_rows * 64);
}

/* Takes q: slices of 16 columns as A fragments (wgmma.cuh). Four lanes share a row and load 64 bytes of it at a time.
 */
template <typename element>
static __device__ __forceinline__ void apart_take_q(const sparse_arguments &arguments, const apart_shared &shared,
                                                    int64_t row, uint32_t parity,
                                                    uint32_t (&q)[4 * apart_held_tiles][4])
{
    const uint4 *from =
        (const uint4 *)(arguments.problem.q + (row + mla_row_in_tile(0)) * sparse_d_k) + threadIdx.x % 4;
#pragma unroll
    for (int i = 0; i < 4 * apart_held_tiles; i++) {
        const uint4 word = __ldg(from + i % 2 * sparse_d_k + i / 2 * 4); /* eight rows are d_k times 16 bytes */
        uint32_t quad[4] = {word.x, word.y, word.z, word.w};
        mla_transpose_quad(quad);
#pragma unroll
        for (int j = 0; j < 4; j++)
            q[i / 2 * 2 + j / 2][j % 2 * 2 + i % 2] = element::of_bf16(quad[j]);
    }
    mbarrier_wait(shared.q_full(), parity);
    if constexpr (!element::is_bf16) {
#pragma unroll 4
        for (uint32_t at = shared.q(apart_held_tiles) + thread_again() % 128 * 16; at < shared.probabilities();
             at += 128 * 16) {
            const uint4 v = ld_shared_volatile_v4(at);
            st_shared_v4(at, make_uint4(element::of_bf16(v.x), element::of_bf16(v.y), element::of_bf16(v.z),
                                        element::of_bf16(v.w)));
        }
        fence_proxy_async();
        named_sync(1, 128);
    }
}

template <typename element>
static __device__ __forceinline__ void apart_make_scores(float (&score)[32], const apart_shared &shared, int block,
                                                         const uint32_t (&q)[4 * apart_held_tiles][4])
{
    const uint64_t keys = wgmma_descriptor_128(shared.keys(block));
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < 4 * apart_held_tiles; i++)
        element::rs(score, q[i], wgmma_descriptor_advance(keys, i / 4 * mla_tile_bytes + i % 4 * 32), i > 0);
#pragma unroll
    for (int i = 4 * apart_held_tiles; i < 4 * apart_tiles; i++)
        element::ss(score, wgmma_descriptor_128(shared.q(i / 4) + i % 4 * 32),
                    wgmma_descriptor_advance(keys, i / 4 * mla_tile_bytes + i % 4 * 32), 1);
    wgmma_commit();
    wgmma_wait<0>();
    wgmma_settle(score);
}

/* Scores of tokens that are not there become -inf. A thread's columns c = 16 s + 4 w + t (apart_shared::valid) are of
 * two warps w. */
static __device__ __forceinline__ void apart_mask(float (&score)[32], uint32_t valid)
{
    const uint4 words = ld_shared_v4(valid);
    if ((words.x & words.y & words.z & words.w) == 0x0f0f0f0fu)
        return;
    const uint32_t thread = thread_again(), shift = thread % 2 * 2;
    const uint32_t word[2] = {(thread & 2 ? words.y : words.x) >> shift, (thread & 2 ? words.w : words.z) >> shift};
#pragma unroll
    for (int i = 0; i < 32; i++)
        if (!(word[i / 4 % 2] & 1u << (i / 8 * 8 + i % 2)))
            score[i] = -INFINITY;
}

/* The largest scores of the thread's rows. Both rows at a time: one's shuffles are the other's latency. */
static __device__ __forceinline__ void apart_highest(float (&high)[2], const float (&score)[32])
{
    float part[4] = {score[0], score[1], score[2], score[3]};
#pragma unroll
    for (int i = 4; i < 32; i++)
        part[i % 4] = fmaxf(part[i % 4], score[i]);
    high[0] = fmaxf(part[0], part[1]);
    high[1] = fmaxf(part[2], part[3]);
#pragma unroll
    for (int apart = 1; apart < 4; apart *= 2) {
        const float other[2] = {__shfl_xor_sync(~0u, high[0], apart), __shfl_xor_sync(~0u, high[1], apart)};
        high[0] = fmaxf(high[0], other[0]);
        high[1] = fmaxf(high[1], other[1]);
    }
}

/* score becomes exp(score - max), its sums are added. */
static __device__ __forceinline__ void apart_exponentiate(float (&score)[32], mla_row_pair &rows)
{
    float base[2], sum[4] = {rows.sum[0], 0, rows.sum[1], 0};
#pragma unroll
    for (int half = 0; half < 2; half++)
        base[half] = rows.max[half] == -INFINITY ? 0 : -rows.max[half] * sparse_scale_log2;
#pragma unroll
    for (int i = 0; i < 32; i++) {
        score[i] = ex2(fmaf(score[i], sparse_scale_log2, base[i / 2 % 2]));
        sum[i % 4] += score[i];
    }
    rows.sum[0] = sum[0] + sum[1];
    rows.sum[1] = sum[2] + sum[3];
}

/* The warp's 16 rows. Addresses are made again, or they would be kept in registers. */
static __device__ __forceinline__ void apart_store_probabilities(uint32_t tile, const uint32_t (&p)[4][4])
{
    const uint32_t thread = thread_again(), lane = thread % 32, row = thread / 32 % 4 * 16 + lane % 16;
#pragma unroll
    for (int slice = 0; slice < 4; slice++)
        stmatrix_x4(tile + swizzle_128(row, slice * 32 + lane / 16 * 16), p[slice][0], p[slice][1], p[slice][2],
                    p[slice][3]);
    fence_proxy_async();
}

/* Scores become probabilities, in shared memory too. The maximum stays until a score is 2^8 times as probable, which
 * BF16 and FP32 have room for: sums then rarely have to be scaled. */
template <typename element>
static __device__ __forceinline__ void apart_softmax(float (&score)[32], const apart_shared &shared, uint32_t count,
                                                     mla_row_pair &rows)
{
    const int block = count & 1;
    const uint32_t thread = thread_again();
    float high[2];
    uint32_t p[4][4];
    apart_highest(high, score);
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const float old = rows.max[half];
        rows.max[half] = (high[half] - old) * sparse_scale_log2 > 8 ? high[half] : old;
        const float factor = mla_factor(old, rows.max[half]);
        rows.sum[half] *= factor;
        if (thread % 4 == 0)
            st_shared_f32(shared.factor(block, thread / 32 % 4 * 16 + thread % 32 / 4 + 8 * half), factor);
    }
    apart_exponentiate(score, rows);
#pragma unroll
    for (int i = 0; i < 16; i++)
        p[i / 4][i % 4] = element::pack(score[2 * i], score[2 * i + 1]);
    if (count > 0) /* those of the block before have been multiplied */
        mbarrier_wait(shared.empty(block ^ 1, apart_slots - 1), (count - 1) / 2 & 1);
    apart_store_probabilities(shared.probabilities(), p);
}

/* After the last block of a piece: lse, and the inverse of the sums for who has the values. */
static __device__ __forceinline__ void apart_finish_rows(const sparse_arguments &arguments, const apart_shared &shared,
                                                         int query, int row0, int block, const mla_row_pair &rows)
{
    const sparse_problem &problem = arguments.problem;
    const sparse_piece piece = sparse_piece_of(problem, arguments.split, blockIdx.y, query);
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int row = mla_row_in_tile(half);
        float sum = rows.sum[half] + __shfl_xor_sync(~0u, rows.sum[half], 1);
        sum += __shfl_xor_sync(~0u, sum, 2);
        st_shared_f32(shared.inverse(block, row), sum == 0 ? 0 : 1 / sum);
        const float lse = sum == 0 ? -INFINITY : rows.max[half] * sparse_scale_log2 + log2f(sum);
        if (threadIdx.x % 4 == 0 && piece.whole)
            problem.lse[sparse_lse_at(problem, piece.query, row0 + row)] =
                lse == -INFINITY ? INFINITY : lse * sparse_ln2;
        else if (threadIdx.x % 4 == 0)
            __stcg(arguments.split.part_lse + (int64_t)piece.slot * problem.h + row0 + row, lse);
    }
}

/* q of the piece behind that of `query`. */
static __device__ __forceinline__ void apart_ask_next_q(const sparse_arguments &arguments, const apart_shared &shared,
                                                        int query, int row0)
{
    const sparse_piece next = sparse_piece_from(arguments.problem, arguments.split, blockIdx.y, query + 1);
    named_sync(1, 128); /* all warps have multiplied q */
    if (next.last > next.first)
        apart_ask_q(arguments, shared, (int64_t)next.query * arguments.problem.h + row0);
}

template <typename element, bool checked>
static __device__ __forceinline__ void apart_scores(const sparse_arguments &arguments, const apart_shared &shared,
                                                    int row0)
{
    const sparse_problem &problem = arguments.problem;
    const sparse_split &split = arguments.split;
    sparse_piece piece = sparse_first_piece(problem, split, blockIdx.y);
    uint32_t q_parity = 0, count = 0;
    if (piece.last > piece.first)
        apart_ask_q(arguments, shared, (int64_t)piece.query * problem.h + row0);
#pragma unroll 1
    while (piece.last > piece.first) {
        mla_row_pair rows = {{-INFINITY, -INFINITY}, {0, 0}, {0, 0}};
        uint32_t q[4 * apart_held_tiles][4];
        apart_take_q<element>(arguments, shared, (int64_t)piece.query * problem.h + row0, q_parity, q);
        q_parity ^= 1;
#pragma unroll 1
        for (int index = piece.first; index < piece.last; index++, count++) {
            const int block = count & 1;
            const bool last = index + 1 == piece.last;
            float score[32];
            mbarrier_wait(shared.full(block), count / 2 & 1);
            fence_proxy_async(); /* of what the converter stored */
            apart_make_scores<element>(score, shared, block, q);
            if (last)
                apart_ask_next_q(arguments, shared, piece.query, row0);
            if (checked)
                apart_mask(score, shared.valid(block));
            apart_softmax<element>(score, shared, count, rows);
            if (last)
                apart_finish_rows(arguments, shared, piece.query, row0, block, rows);
            mbarrier_arrive(shared.ready(block)); /* every lane: each stored factors or probabilities */
        }
        piece = sparse_piece_from(problem, split, blockIdx.y, piece.query + 1);
    }
}

/* The value warpgroup's half of a partial result: a thread has pairs of columns, eight apart, of two rows. */
static __device__ __forceinline__ void apart_store_part(const sparse_arguments &arguments, int64_t row, int warpgroup,
                                                        const float (&out)[sparse_half / 2], const float (&inverse)[2])
{
    const int thread = thread_again();
    float *to = arguments.split.part_out + (row + thread / 32 % 4 * 16 + thread % 32 / 4) * sparse_d_v +
                warpgroup * sparse_half + thread % 4 * 2;
#pragma unroll
    for (int i = 0; i < sparse_half / 2; i += 2)
        __stcg((float2 *)(to + i / 2 % 2 * 8 * sparse_d_v + i / 4 * 8),
               make_float2(out[i] * inverse[i / 2 % 2], out[i + 1] * inverse[i / 2 % 2]));
}

/* The piece's output; a whole one through the value warpgroup's own tiles of the last block, which all of it has
 * multiplied. */
static __device__ __forceinline__ void apart_store(const sparse_arguments &arguments, const apart_shared &shared,
                                                   const sparse_piece &piece, int row0, int warpgroup, int block,
                                                   const float (&out)[sparse_half / 2])
{
    const float inverse[2] = {ld_shared_f32(shared.inverse(block, mla_row_in_tile(0))),
                              ld_shared_f32(shared.inverse(block, mla_row_in_tile(1)))};
    if (!piece.whole) {
        apart_store_part(arguments, (int64_t)piece.slot * arguments.problem.h + row0, warpgroup, out, inverse);
        return;
    }
    named_sync(2 + warpgroup, 128);
    mla_store_whole(sparse_as_dense(arguments.problem), shared.keys(block), out, inverse, warpgroup, piece.query, row0);
}

/* out += p values of a slot, 128 columns an instruction: with 512 threads no instruction gets the registers for 256. */
template <typename element>
static __device__ __forceinline__ void apart_add_values(float (&out)[sparse_half / 2], uint64_t p, uint64_t values,
                                                        int slot)
{
#pragma unroll
    for (int part = 0; part < 2; part++)
        element::template ss<1>(*(float(*)[sparse_half / 4])(out + part * sparse_half / 4),
                                wgmma_descriptor_advance(p, slot * 32),
                                wgmma_descriptor_advance(values, slot * 2048 + part * 2 * mla_tile_bytes), 1);
    wgmma_commit();
}

/* Values of a block. It is given back slot by slot, after its last use in the piece all at once by the caller. */
template <typename element>
static __device__ __forceinline__ void apart_multiply(float (&out)[sparse_half / 2], const apart_shared &shared,
                                                      int block, int warpgroup, bool release)
{
    const float factor[2] = {ld_shared_f32(shared.factor(block, mla_row_in_tile(0))),
                             ld_shared_f32(shared.factor(block, mla_row_in_tile(1)))};
    const uint64_t p = wgmma_descriptor_128(shared.probabilities()), values = mla_values(shared.keys(block), warpgroup);
    mla_scale_rows(out, factor);
    wgmma_fence();
#pragma unroll
    for (int slot = 0; slot < apart_slots; slot++)
        apart_add_values<element>(out, p, values, slot);
    if (release) {
        wgmma_wait<3>();
        apart_arrive(shared.empty(block, 0));
        wgmma_wait<2>();
        apart_arrive(shared.empty(block, 1));
        wgmma_wait<1>();
        apart_arrive(shared.empty(block, 2));
    }
    wgmma_wait<0>();
    wgmma_settle(out);
    if (release)
        apart_arrive(shared.empty(block, 3));
}

template <typename element>
static __device__ __forceinline__ void apart_values(const sparse_arguments &arguments, const apart_shared &shared,
                                                    int row0, int warpgroup)
{
    uint32_t count = 0;
    sparse_each_piece(arguments.problem, arguments.split, blockIdx.y, [&](const sparse_piece &piece) {
        float out[sparse_half / 2];
#pragma unroll
        for (int i = 0; i < sparse_half / 2; i++)
            out[i] = 0;
#pragma unroll 1
        for (int index = piece.first; index < piece.last; index++, count++) {
            const int block = count & 1;
            const bool last = index + 1 == piece.last;
            mbarrier_wait(shared.ready(block), count / 2 & 1);
            fence_proxy_async(); /* of what the converter stored */
            apart_multiply<element>(out, shared, block, warpgroup, !last);
            if (last) {
                apart_store(arguments, shared, piece, row0, warpgroup, block, out);
#pragma unroll 1
                for (int slot = 0; slot < apart_slots; slot++)
                    apart_arrive(shared.empty(block, slot));
            }
        }
    });
}

template <typename tokens>
constexpr int apart_shared_bytes =
    apart_shared::staged_at + sparse_block_tokens / apart_slot_tokens *tokens::slot_bytes;

/* blockIdx: 64 heads, part. */
template <typename tokens, bool checked = true>
static __global__ void __launch_bounds__(apart_threads, 1)
    apart_kernel(const __grid_constant__ sparse_arguments arguments)
{
    using element = typename tokens::element;
    static_assert(apart_shared_bytes<tokens> <= 232448, "more than the shared memory of a block");
    extern __shared__ __align__(1024) char memory[];
    const apart_shared shared = {shared_address(memory)};
    const int row0 = blockIdx.x * sparse_rows, warpgroup = __shfl_sync(~0u, threadIdx.x / 128, 0);
    if (threadIdx.x == 0)
        shared.init();
    __syncthreads();
    grid_launch_dependents();
    if (warpgroup == 3) {
        registers_give<apart_convert_registers>();
        apart_convert_blocks<tokens, checked>(arguments, shared);
    } else if (warpgroup == 2) {
        registers_take<apart_score_registers>();
        apart_scores<element, checked>(arguments, shared, row0);
    } else {
        registers_take<apart_value_registers>();
        apart_values<element>(arguments, shared, row0, warpgroup);
    }
}

#endif
