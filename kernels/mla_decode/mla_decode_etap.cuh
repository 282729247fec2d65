/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ETAP: transposed products that take turns with the exponentials. Warpgroup 0 makes scores and probabilities of a
 * block of `slots` times 64 keys; then each warpgroup multiplies them with its share of the 512 columns of values.
 *
 * Named barriers: 1 and 3 maxima and sums of warpgroup 0, 2 probabilities and factors are there. What is announced has
 * two buffers, by `turn`: barrier 2 of the next block comes after the last read of this one.
 */
#ifndef RIDGE_MLA_DECODE_ETAP_CUH
#define RIDGE_MLA_DECODE_ETAP_CUH

#include "kernels/mla_decode/mla_decode_transposed_launch.cuh"

/* A block of keys: its first key and slot, the end of the piece, the parities of both slots (bit i: slot i). */
struct etap_block {
    int key, end, slot;
    uint32_t parity, turn;
};

template <int heads> static __device__ __forceinline__ uint32_t etap_p(uint32_t base, const etap_block &block, int slot)
{
    return base + mla_transposed<heads>::p + (block.turn * 2 + slot) * mla_transposed<heads>::p_bytes;
}

/* Of a column: what sums so far are worth (of == 0), and at the end of a piece its sum (of == 1). */
template <int heads>
static __device__ __forceinline__ uint32_t etap_announced(uint32_t base, int of, uint32_t turn, int own)
{
    return base + mla_transposed<heads>::totals + ((of * 2 + turn) * heads + mla_head(own)) * 4;
}

template <int heads>
static __device__ __forceinline__ void etap_announce(uint32_t base, int of, uint32_t turn,
                                                     const float (&value)[heads / 4])
{
    if (threadIdx.x < 4)
#pragma unroll
        for (int j = 0; j < heads / 4; j++)
            st_shared_f32(etap_announced<heads>(base, of, turn, j), value[j]);
}

template <int heads>
static __device__ __forceinline__ void etap_listen(uint32_t base, int of, uint32_t turn, float (&value)[heads / 4])
{
#pragma unroll
    for (int j = 0; j < heads / 4; j++)
        value[j] = ld_shared_f32(etap_announced<heads>(base, of, turn, j));
}

/* Warpgroup 0: probabilities of a block to shared memory; factor: what sums so far are worth. */
template <int heads, int slots>
static __device__ __forceinline__ void etap_probabilities(const mla_problem &problem, uint32_t base, int length,
                                                          const etap_block &block, float (&max)[heads / 4],
                                                          float (&sum)[heads / 4], float (&factor)[heads / 4])
{
    float score[slots][heads / 2];
    trace_begin(trace_scores);
#pragma unroll
    for (int slot = 0; slot < slots; slot++)
        mla_transposed_scores<heads>(score[slot], base, block.slot + slot, block.parity >> (block.slot + slot) & 1);
    wgmma_wait<0>();
    trace_end(trace_scores);
    trace_begin(trace_softmax);
#pragma unroll
    for (int slot = 0; slot < slots; slot++) {
        const int key = block.key + slot * mla_block_keys;
        wgmma_settle(score[slot]);
        if (key < block.end && length - key < mla_block_keys)
            mla_clear_values(base + (block.slot + slot) * mla_block_bytes, length - key);
        mla_transposed_mask<heads>(score[slot], problem, key < block.end ? length : 0, key);
    }
    mla_transposed_softmax<heads, slots>(max, sum, factor, score, base, 0);
#pragma unroll
    for (int slot = 0; slot < slots; slot++)
        mla_transposed_store_p<heads>(score[slot], etap_p<heads>(base, block, slot));
    etap_announce<heads>(base, 0, block.turn, factor);
    trace_end(trace_softmax);
}

template <int heads, int slots, int tiles>
static __device__ __forceinline__ void etap_values(float (&out)[tiles][heads / 2], uint32_t base,
                                                   const etap_block &block, int warpgroup)
{
    trace_begin(trace_values);
#pragma unroll
    for (int slot = 0; slot < slots; slot++)
        mla_transposed_values<heads>(out,
                                     base + (block.slot + slot) * mla_block_bytes + warpgroup * tiles * mla_tile_bytes,
                                     etap_p<heads>(base, block, slot));
    wgmma_wait<0>();
#pragma unroll
    for (int tile = 0; tile < tiles; tile++)
        wgmma_settle(out[tile]);
    trace_end(trace_values);
#pragma unroll
    for (int slot = 0; slot < slots; slot++)
        mla_release(base + mla_transposed<heads>::empty + (block.slot + slot) * 8);
}

template <int heads, int slots, int warpgroups>
static __device__ __forceinline__ void etap_consume(const mla_tile_arguments &arguments, uint32_t base, int warpgroup)
{
    using memory = mla_transposed<heads>;
    constexpr int tiles = memory::value_tiles / warpgroups;
    const int row0 = blockIdx.x * heads;
    uint32_t q_parity = 0;
    etap_block block = {};
    mla_each_piece(arguments, [&](const mla_piece &piece) {
        float out[tiles][heads / 2] = {}, max[heads / 4], sum[heads / 4] = {}, factor[heads / 4];
#pragma unroll
        for (int j = 0; j < heads / 4; j++)
            max[j] = -INFINITY;
        block.end = piece.last * mla_block_keys;
        mbarrier_wait(base + memory::q_full, q_parity);
#pragma unroll 1
        for (int index = piece.first; index < piece.last; index += slots, block.turn ^= 1) {
            asm volatile("" : "+r"(base)); /* addresses of operands are made here and not kept in registers */
            block.key = index * mla_block_keys;
            block.slot = slots == 1 ? index - piece.first & 1 : 0;
            if (warpgroup == 0)
                etap_probabilities<heads, slots>(arguments.problem, base, piece.length, block, max, sum, factor);
            trace_begin(trace_exchange);
            named_sync(2, warpgroups * 128);
            trace_end(trace_exchange);
            if (warpgroup > 0)
                etap_listen<heads>(base, 0, block.turn, factor);
            mla_transposed_scale<heads>(out, factor);
            etap_values<heads, slots>(out, base, block, warpgroup);
            block.parity ^= (1 << slots) - 1 << block.slot;
        }
        if (warpgroup == 0) {
            mla_release(base + memory::q_empty);
            mla_reduce_columns<heads, false>(sum, base + memory::warp_sum, 0);
            etap_announce<heads>(base, 1, q_parity, sum);
            if (threadIdx.x < 4)
                mla_transposed_store_lse<heads>(arguments, piece, row0, max, sum);
        }
        named_sync(3, warpgroups * 128);
        if (warpgroup > 0)
            etap_listen<heads>(base, 1, q_parity, sum);
        q_parity ^= 1;
#pragma unroll
        for (int tile = 0; tile < tiles; tile++)
            mla_transposed_store<heads>(arguments, piece, row0, sum, out[tile], (warpgroup * tiles + tile) * 64);
    });
}

/* blockIdx: tile of rows, part. A warp behind the warpgroups loads. */
template <int heads, int slots, int warpgroups>
static __global__ void __launch_bounds__(warpgroups * 128 + 32, 1)
    etap_kernel(const __grid_constant__ mla_tile_arguments arguments)
{
    extern __shared__ __align__(1024) char memory[];
    const uint32_t base = shared_address(memory);
    if (threadIdx.x == 0)
        mla_transposed_init<heads>(base, 4 * warpgroups, 4);
    emulate_begin();
    trace_open();
    __syncthreads();
    grid_launch_dependents();
    const int warpgroup = __shfl_sync(~0u, threadIdx.x / 128, 0);
    if (warpgroup == warpgroups)
        mla_transposed_produce<heads, slots>(arguments, base);
    else
        etap_consume<heads, slots, warpgroups>(arguments, base, warpgroup);
}

struct etap_built {
    int rows, keys, warps;
    void (*kernel)(mla_tile_arguments);
};

/* The first of a width is what is taken without a plan, and all that is emulated or traced: a plan takes two seconds to
 * compile. */
static const struct etap_built etap_builts[] = {
    {16, 64, 8, etap_kernel<16, 1, 2>}, {32, 64, 8, etap_kernel<32, 1, 2>},
#if !defined RIDGE_EMULATE_H20 && !defined RIDGE_TRACE
    {16, 64, 4, etap_kernel<16, 1, 1>}, {16, 128, 8, etap_kernel<16, 2, 2>}, {16, 128, 4, etap_kernel<16, 2, 1>},
#endif
};
static constexpr int etap_count = sizeof etap_builts / sizeof *etap_builts;

static inline void etap_write(const struct etap_built *built, char plan[RIDGE_PLAN_BYTES])
{
    snprintf(plan, RIDGE_PLAN_BYTES, "keys%d-warps%d", built->keys, built->warps);
}

static inline int etap_bytes(int rows)
{
    return rows == 16 ? mla_transposed<16>::bytes : mla_transposed<32>::bytes;
}

/* The i-th that is as wide as the shape; NULL behind the last. */
static inline const struct etap_built *etap_fitting(const int64_t *dim, int i)
{
    for (const struct etap_built *built = etap_builts; built < etap_builts + etap_count; built++)
        if (built->rows == mla_transposed_tile_rows(dim) && i-- == 0)
            return built;
    return NULL;
}

/* What device->plan says, or without one the first that fits; NULL if it says nothing that was built. */
static inline const struct etap_built *etap_choose(const int64_t *dim, const struct ridge_device *device)
{
    char plan[RIDGE_PLAN_BYTES];
    const struct etap_built *built = etap_fitting(dim, 0);
    for (int i = 0; device->plan && (built = etap_fitting(dim, i)); i++) {
        etap_write(built, plan);
        if (strcmp(plan, device->plan) == 0)
            break;
    }
    return built;
}

static inline int etap_plans(const int64_t *dim, const struct ridge_device *, char (*plan)[RIDGE_PLAN_BYTES], int max)
{
    int count = 0;
    for (const struct etap_built *built; count < max && (built = etap_fitting(dim, count)); count++)
        etap_write(built, plan[count]);
    return count;
}

/* Says why a plan is none of those that were built. */
static inline int etap_refuse(const struct ridge_call *call)
{
    int keys = 0, warps = 0;
    const long long has = call->device->smem_optin_bytes;
    const bool read = sscanf(call->device->plan, "keys%d-warps%d", &keys, &warps) == 2;
    const long long needed = (long long)keys * mla_d_k * 2, q = mla_transposed_tile_rows(call->dim) * mla_d_k * 2;
    if (read && keys > 0 && keys % mla_block_keys == 0 && needed + q > has)
        snprintf(
            call->error, call->error_bytes,
            "plan %.63s: %d keys of %d bytes, whose values wait in shared memory for the last of their scores, and q "
            "are %lld bytes, and a block has %lld",
            call->device->plan, keys, mla_d_k * 2, needed + q, has);
    else
        snprintf(call->error, call->error_bytes,
                 "plan %.63s: expected keysK-warpsW, K 64 or 128 (wgmma's M side takes 64), W 4 or 8 (one or two "
                 "warpgroups); 32 rows have keys64-warps8, and so have emulated and traced kernels",
                 call->device->plan);
    return 1;
}

static inline int etap_setup(struct ridge_call *call, void **state)
{
    const struct etap_built *built = etap_choose(call->dim, call->device);
    *state = NULL;
    return built ? mla_setup(call, (const void *)built->kernel, etap_bytes(built->rows), built->rows,
                             mla_transposed_parts(call->dim, call->device), state)
                 : etap_refuse(call);
}

static inline int etap_launch(const struct ridge_call *call)
{
    const struct etap_built *built = etap_choose(call->dim, call->device);
    return mla_launch(call, built->kernel, etap_bytes(built->rows), mla_transposed_row_tiles(call->dim),
                      built->warps * 32 + 32);
}

#endif
