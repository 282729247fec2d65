/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A CTA has 128 queries of a head: two consumer warpgroups with 64 each, and a producer warp. Shared memory holds the
 * queries and two rings of two stages, `keys` rows of K and of V each. A tile of r rows x 128 columns is two parts of
 * r rows x 64 columns (128 bytes a row, swizzled). Scores and probabilities stay in registers.
 *
 * Schedules of a consumer, by what the tensor cores do while it makes a block's exponentials:
 *
 *   serial            the other warpgroup's products, whenever they come
 *   ping_pong         the other warpgroup's products for certain: the two take turns to queue theirs
 *   ahead             its own values of the block before, queued behind the scores of this one
 *   ahead_ping_pong   both
 */
#ifndef RIDGE_ATTENTION_BF16_TILE_CUH
#define RIDGE_ATTENTION_BF16_TILE_CUH

#include "kernels/attention_bf16/attention_bf16_gpu.cuh"
#include "kernels/ptx/global.cuh"
#include "kernels/ptx/mma.cuh"
#include "kernels/ptx/tma_stack.cuh"
#include "kernels/ptx/warpgroup.cuh"
#include "kernels/support/online_softmax.cuh"
#include "kernels/support/ring.cuh"
#include "kernels/support/tensor_map.h"

enum attention_schedule { attention_serial, attention_ping_pong, attention_ahead, attention_ahead_ping_pong };

constexpr int attention_tile_rows = 128, attention_threads = 384, attention_stages = 2;
constexpr int attention_producer_registers = 24, attention_consumer_registers = 240;

/* Bytes of `rows` x 128 elements; half of it is a part of 64 columns. */
constexpr int attention_tile_bytes(int rows)
{
    return rows * attention_dim * 2;
}

constexpr int attention_shared_bytes(int keys)
{
    return attention_tile_bytes(attention_tile_rows) + 2 * attention_stages * attention_tile_bytes(keys) +
           2 * 16 * attention_stages + 8;
}

struct attention_arguments {
    CUtensorMap q, k, v; /* stacks of requests; boxes of 64 columns, and 128 rows of q or `keys` rows of k and v */
    attention_problem problem;
};

struct attention_shared {
    uint32_t q, q_full;
    ring k, v;
};

template <int keys> static __device__ __forceinline__ attention_shared attention_layout(uint32_t base)
{
    const uint32_t k = base + attention_tile_bytes(attention_tile_rows);
    const uint32_t v = k + attention_stages * attention_tile_bytes(keys);
    const uint32_t barriers = v + attention_stages * attention_tile_bytes(keys);
    return {base,
            barriers + 32 * attention_stages,
            {k, barriers, attention_stages},
            {v, barriers + 16 * attention_stages, attention_stages}};
}

/* Which 128 queries. Neighbours share keys and values, so that L2 has them. */
struct attention_place {
    int request, head, query;
};

static __device__ __forceinline__ attention_place attention_place_of(const attention_problem &problem)
{
    const int tiles = (problem.s_q + attention_tile_rows - 1) / attention_tile_rows;
    const int head = blockIdx.x / tiles;
    return {head / problem.h, head % problem.h, (int)(blockIdx.x % tiles) * attention_tile_rows};
}

/* `rows` rows of 128 columns, two boxes. */
template <int rows>
static __device__ __forceinline__ void attention_load(uint32_t shared, const CUtensorMap *map,
                                                      const attention_place &place, int row, uint32_t full)
{
    mbarrier_arrive_expect(full, attention_tile_bytes(rows));
    for (int part = 0; part < 2; part++)
        tma_load_stack(shared + part * rows * 128, map, place.head * attention_dim + part * 64, row, place.request,
                       full);
}

template <int keys>
static __device__ __forceinline__ void attention_produce(const attention_arguments &arguments,
                                                         const attention_shared &shared, const attention_place &place)
{
    if (threadIdx.x % 128)
        return;
    ring_place at = {0, 0};
    attention_load<attention_tile_rows>(shared.q, &arguments.q, place, place.query, shared.q_full);
#pragma unroll 1
    for (int key = 0; key < arguments.problem.s_k; key += keys) {
        mbarrier_wait(ring_empty(shared.k, at), at.parity ^ 1);
        attention_load<keys>(shared.k.data + at.stage * attention_tile_bytes(keys), &arguments.k, place, key,
                             ring_full(shared.k, at));
        mbarrier_wait(ring_empty(shared.v, at), at.parity ^ 1);
        attention_load<keys>(shared.v.data + at.stage * attention_tile_bytes(keys), &arguments.v, place, key,
                             ring_full(shared.v, at));
        ring_next(shared.k, at);
    }
}

/* A consumer: 64 queries, the first at `q` in shared memory; `at`: the block whose scores are made next. */
template <int keys> struct attention_consumer {
    const attention_shared &shared;
    uint32_t q;
    int warpgroup, s_k;
    softmax_rows rows;
    float out[attention_dim / 2] = {}, score[keys / 2];
    uint32_t p[keys / 16][4];

    /* score = q k^T of the stage at `at`. */
    __device__ __forceinline__ void multiply_keys(const ring_place &at)
    {
        mbarrier_wait(ring_full(shared.k, at), at.parity);
        wgmma_fence();
        const uint32_t k = shared.k.data + at.stage * attention_tile_bytes(keys);
#pragma unroll
        for (int part = 0; part < 2; part++) {
            const uint64_t a = wgmma_descriptor_128(q + part * attention_tile_rows * 128);
            const uint64_t b = wgmma_descriptor_128(k + part * keys * 128);
#pragma unroll
            for (int slice = 0; slice < 4; slice++)
                wgmma_bf16_ss(score, wgmma_descriptor_advance(a, slice * 32), wgmma_descriptor_advance(b, slice * 32),
                              part + slice > 0);
        }
        wgmma_commit();
    }

    /* out += p v. Rows of values are the k of this product. */
    __device__ __forceinline__ void multiply_values(const ring_place &at)
    {
        mbarrier_wait(ring_full(shared.v, at), at.parity);
        wgmma_fence();
        const uint64_t v =
            wgmma_descriptor_128(shared.v.data + at.stage * attention_tile_bytes(keys), 1024, keys * 128);
#pragma unroll
        for (int slice = 0; slice < keys / 16; slice++)
            wgmma_bf16_rs<1>(out, p[slice], wgmma_descriptor_advance(v, slice * 2048), 1);
        wgmma_commit();
    }

    static __device__ __forceinline__ void release(const ring &ring, const ring_place &at)
    {
        if (threadIdx.x % 32 == 0)
            mbarrier_arrive(ring_empty(ring, at));
    }

    /* Scores become exponentials; `key`: the block's first. */
    __device__ __forceinline__ void soften(float (&factor)[2], int key)
    {
        softmax_mask(score, s_k - key);
        softmax_raise(rows, factor, score, attention_scale_log2);
        softmax_exponentiate(rows, score, attention_scale_log2);
    }

    /* The other warpgroup's products are queued, and mine may be. Warpgroup 0 is first. */
    template <bool turns> __device__ __forceinline__ void take_turn()
    {
        if constexpr (turns)
            named_sync(1 + warpgroup, 256);
    }

    template <bool turns> __device__ __forceinline__ void pass_turn()
    {
        if constexpr (turns)
            named_arrive(2 - warpgroup, 256);
    }

    template <bool turns> __device__ __forceinline__ void begin_turns()
    {
        if (turns && warpgroup == 1)
            named_arrive(1, 256);
    }

    /* Takes the other's last arrival. */
    template <bool turns> __device__ __forceinline__ void end_turns()
    {
        if (turns && warpgroup == 0)
            named_sync(1, 256);
    }

    __device__ __forceinline__ void run_serial()
    {
        ring_place at = {0, 0};
        float factor[2];
#pragma unroll 1
        for (int key = 0; key < s_k; key += keys, ring_next(shared.k, at)) {
            multiply_keys(at);
            wgmma_wait<0>();
            wgmma_settle(score);
            release(shared.k, at);
            soften(factor, key);
            softmax_scale(out, factor);
            softmax_round(p, score);
            multiply_values(at);
            wgmma_wait<0>();
            wgmma_settle(out);
            release(shared.v, at);
        }
    }

    /* Values of a block and scores of the next are queued in one turn. */
    __device__ __forceinline__ void run_ping_pong()
    {
        ring_place at = {0, 0};
        float factor[2];
        begin_turns<true>();
        take_turn<true>();
        multiply_keys(at);
        pass_turn<true>();
        wgmma_wait<0>();
#pragma unroll 1
        for (int key = 0; key < s_k; key += keys) {
            const ring_place before = at;
            wgmma_settle(score);
            release(shared.k, at);
            soften(factor, key);
            softmax_scale(out, factor);
            softmax_round(p, score);
            ring_next(shared.k, at);
            take_turn<true>();
            multiply_values(before);
            if (key + keys < s_k)
                multiply_keys(at);
            pass_turn<true>();
            wgmma_wait<0>();
            wgmma_settle(out);
            release(shared.v, before);
        }
        end_turns<true>();
    }

    /* Scores of a block are queued before the values of the one before it. */
    template <bool turns> __device__ __forceinline__ void run_ahead()
    {
        ring_place at = {0, 0}, before = {0, 0};
        float factor[2];
        begin_turns<turns>();
        take_turn<turns>();
        multiply_keys(at);
        pass_turn<turns>();
        wgmma_wait<0>();
        wgmma_settle(score);
        release(shared.k, at);
        soften(factor, 0);
        softmax_round(p, score);
#pragma unroll 1
        for (int key = keys; key < s_k; key += keys) {
            ring_next(shared.k, at);
            take_turn<turns>();
            multiply_keys(at);
            multiply_values(before);
            pass_turn<turns>();
            wgmma_wait<1>();
            wgmma_settle(score);
            release(shared.k, at);
            soften(factor, key);
            wgmma_wait<0>();
            wgmma_settle(out);
            release(shared.v, before);
            softmax_scale(out, factor);
            softmax_round(p, score);
            before = at;
        }
        end_turns<turns>();
        multiply_values(before);
        wgmma_wait<0>();
        wgmma_settle(out);
    }
};

/* out / sum through the queries' shared memory to global memory, 16 bytes a lane; a warp has 16 rows. */
template <int keys>
static __device__ __forceinline__ void attention_store(const attention_problem &problem, const attention_place &place,
                                                       attention_consumer<keys> &consumer)
{
    const int lane = threadIdx.x % 32, warp_row = threadIdx.x / 32 % 4 * 16;
    const int query = place.query + consumer.warpgroup * 64 + warp_row;
    float inverse[2];
    uint32_t words[attention_dim / 16][4];
    for (int half = 0; half < 2; half++) {
        const float sum = softmax_row_sum(consumer.rows, half);
        inverse[half] = 1 / sum;
        const int row = query + lane / 4 + 8 * half;
        if (lane % 4 == 0 && row < problem.s_q)
            problem.lse[attention_lse_at(problem, place.request, place.head, row)] =
                (consumer.rows.max[half] * attention_scale_log2 + log2f(sum)) * attention_ln2;
    }
    softmax_scale(consumer.out, inverse);
    softmax_round(words, consumer.out);
#pragma unroll
    for (int slice = 0; slice < attention_dim / 16; slice++)
        stmatrix_x4(consumer.q + slice / 4 * attention_tile_rows * 128 +
                        swizzle_128(warp_row + lane % 16, slice % 4 * 32 + lane / 16 * 16),
                    words[slice][0], words[slice][1], words[slice][2], words[slice][3]);
    __syncwarp();
#pragma unroll
    for (int i = 0; i < 16; i += 2) {
        const int row = i + lane / 16, chunk = lane % 16;
        if (query + row < problem.s_q)
            st_global_v4(problem.out + attention_at(problem, problem.s_q, place.request, place.head, query + row) +
                             chunk * 8,
                         ld_shared_v4(consumer.q + chunk / 8 * attention_tile_rows * 128 +
                                      swizzle_128(warp_row + row, chunk % 8 * 16)));
    }
}

/* blockIdx: tile of queries of a head of a request. */
template <int keys, attention_schedule schedule>
static __global__ void __launch_bounds__(attention_threads, 1)
    attention_kernel(const __grid_constant__ attention_arguments arguments)
{
    extern __shared__ __align__(1024) char memory[];
    const attention_shared shared = attention_layout<keys>(shared_address(memory));
    const attention_place place = attention_place_of(arguments.problem);
    if (threadIdx.x == 0) {
        mbarrier_init(shared.q_full, 1);
        ring_init(shared.k, 8);
        ring_init(shared.v, 8);
    }
    __syncthreads();
    const int warpgroup = __shfl_sync(~0u, threadIdx.x / 128, 0);
    if (warpgroup == 2) {
        registers_give<attention_producer_registers>();
        attention_produce<keys>(arguments, shared, place);
    } else {
        registers_take<attention_consumer_registers>();
        attention_consumer<keys> consumer = {shared, shared.q + warpgroup * 64 * 128, warpgroup, arguments.problem.s_k};
        mbarrier_wait(shared.q_full, 0);
        if constexpr (schedule == attention_serial)
            consumer.run_serial();
        else if constexpr (schedule == attention_ping_pong)
            consumer.run_ping_pong();
        else
            consumer.template run_ahead<schedule == attention_ahead_ping_pong>();
        attention_store(arguments.problem, place, consumer);
    }
}

#endif
