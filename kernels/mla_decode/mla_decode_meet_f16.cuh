/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts that meet (mla_decode_meet.cuh) with partial results in FP16: half of the bytes to store, of the lines of L2
 * that they push out, and of what each part then reads. A row's averages of 256 columns are multiplied by the power of
 * two that brings the largest between 2^14 and 2^15, so that those down to 2^-28 of it keep 11 bits: 2^-12 of a value,
 * where rounding the result to BF16 costs 2^-9. A part that carries all of a row's weight is rounded twice, and at most
 * 0.56 instead of 0.5 units of the result's last place off.
 */
#ifndef RIDGE_MLA_DECODE_MEET_F16_CUH
#define RIDGE_MLA_DECODE_MEET_F16_CUH

#include "kernels/mla_decode/mla_decode_meet.cuh"

/* As mla_meet_sums, of four columns of each row. */
struct mla_half_sums {
    float value[8];
    float max[2], sum[2];
};

/* Element 16 (2 w + g) + i of 32 lanes each: accumulators 8 i to 8 i + 7 of warp w of warpgroup g, 16 bytes a lane. */
struct mla_half_layout {
    using sums = mla_half_sums;
    static constexpr int batch = 17, of_warp = mla_half / 16 * 32, of_tile = 8 * of_warp;
    int row0, rows;

    __device__ int elements() const
    {
        return min((rows + 15) / 16, 4) * 2 * of_warp;
    }
    __device__ int64_t begin(int slot) const
    {
        return ((int64_t)slot * gridDim.x + blockIdx.x) * of_tile;
    }
    __device__ int row(int element, int half) const
    {
        return element / (2 * of_warp) * 16 + element % 32 / 4 + half * 8;
    }
    /* Of accumulators 8 i and 8 i + 2; those of 8 i + 4 and 8 i + 6 are 8 columns further. */
    __device__ int column(int element) const
    {
        return element / of_warp % 2 * mla_half + element % of_warp / 32 * 16 + element % 4 * 2;
    }
};

/* End of a piece: sums of both warpgroups (barrier 5), of which factor becomes the inverse, and log-sums, base 2. */
static __device__ __forceinline__ void mla_half_total(const mla_shared &shared, int turn, int warpgroup,
                                                      const mla_row_pair &rows, float (&factor)[2], float (&lse)[2])
{
#pragma unroll
    for (int half = 0; half < 2; half++) {
        float sum = rows.sum[half] + __shfl_xor_sync(~0u, rows.sum[half], 1);
        sum += __shfl_xor_sync(~0u, sum, 2);
        st_shared_f32(shared.sum(warpgroup, turn, mla_row_in_tile(half)), sum);
    }
    named_sync(5, 256);
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int row = mla_row_in_tile(half);
        const float sum = ld_shared_f32(shared.sum(0, turn, row)) + ld_shared_f32(shared.sum(1, turn, row));
        lse[half] = sum > 0 || sum != sum ? rows.max[half] * mla_scale_log2 + log2f(sum) : -INFINITY;
        factor[half] = sum > 0 || sum != sum ? 1 / sum : 0;
    }
}

/* Of a request that is not cut. */
static __device__ __forceinline__ void mla_half_whole_lse(const mla_problem &problem, int request,
                                                          const mla_half_layout &of, int warpgroup,
                                                          const float (&lse)[2])
{
    if (warpgroup == 0 && threadIdx.x % 4 == 0)
        for (int half = 0; half < 2; half++)
            if (mla_row_in_tile(half) < of.rows)
                problem.lse[mla_lse_at(problem, request, of.row0 + mla_row_in_tile(half))] =
                    lse[half] == -INFINITY ? INFINITY : lse[half] * mla_ln2;
}

/* Log-sum, base 2, and scale of a row's columns of a warpgroup. */
static __device__ __forceinline__ float2 *mla_half_row(const mla_tile_arguments &arguments, int slot, int warpgroup,
                                                       int row)
{
    return (float2 *)arguments.split.part_lse + ((int64_t)slot * 2 + warpgroup) * mla_rows_of(arguments.problem) + row;
}

/* Largest magnitude of a row's values; infinities, beside which others would vanish, only if nothing else is there. */
template <bool finite>
static __device__ __forceinline__ void mla_half_tops(const float (&out)[mla_half / 2], float (&top)[2])
{
    top[0] = top[1] = 0;
#pragma unroll
    for (int i = 0; i < mla_half / 2; i++) {
        const float size = fabsf(out[i]);
        top[i / 2 % 2] = fmaxf(top[i / 2 % 2], finite && size == INFINITY ? 0 : size);
    }
}

/* factor, which makes averages, becomes that of the stored values; scale: what brings those back. */
static __device__ __forceinline__ void mla_half_scale(const float (&out)[mla_half / 2], float (&factor)[2],
                                                      float (&scale)[2])
{
    float top[2];
    mla_half_tops<false>(out, top);
    if (__any_sync(~0u, top[0] == INFINITY || top[1] == INFINITY))
        mla_half_tops<true>(out, top);
#pragma unroll
    for (int half = 0; half < 2; half++) {
        top[half] = fmaxf(top[half], __shfl_xor_sync(~0u, top[half], 1));
        top[half] = fmaxf(top[half], __shfl_xor_sync(~0u, top[half], 2)) * factor[half];
        const int exponent = min(max(__float_as_int(top[half]) >> 23, 15), 254);
        factor[half] *= __int_as_float((268 - exponent) << 23);
        scale[half] = __int_as_float((exponent - 14) << 23);
    }
}

/* Multiplied by factor; warp: of the layout. */
static __device__ __forceinline__ void mla_half_store_values(const mla_tile_arguments &arguments,
                                                             const mla_half_layout &of, int slot, int warp, int lane,
                                                             const float (&out)[mla_half / 2], const float (&factor)[2])
{
    uint4 *to = (uint4 *)arguments.split.part_out + of.begin(slot) + warp * of.of_warp + lane;
#pragma unroll
    for (int i = 0; i < mla_half / 2; i += 8) {
        uint32_t word[4];
#pragma unroll
        for (int j = 0; j < 4; j++)
            word[j] = cvt_f16x2_f32(out[i + 2 * j] * factor[j % 2], out[i + 2 * j + 1] * factor[j % 2]);
        __stcg(to + i * 4, make_uint4(word[0], word[1], word[2], word[3]));
    }
}

/* lse: of both rows, base 2. */
static __device__ __forceinline__ void mla_half_store(const mla_tile_arguments &arguments, const mla_half_layout &of,
                                                      int slot, int warpgroup, const float (&out)[mla_half / 2],
                                                      float (&factor)[2], const float (&lse)[2])
{
    float scale[2];
    mla_half_scale(out, factor, scale);
    const int thread = (int)thread_again(), lane = thread % 32; /* no register is left to keep what follows in */
    const int warp = thread / 32 % 4 * 2 + warpgroup;
    mla_half_store_values(arguments, of, slot, warp, lane, out, factor);
    if (lane % 4 == 0)
        for (int half = 0; half < 2; half++) {
            const int row = warp / 2 * 16 + lane / 4 + 8 * half;
            if (row < of.rows)
                __stcg(mla_half_row(arguments, slot, warpgroup, of.row0 + row), make_float2(lse[half], scale[half]));
        }
}

static __device__ __forceinline__ void mla_half_add(mla_half_sums &to, const mla_half_sums &from)
{
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const float weight = mla_meet_weight(from.max[half], to.max[half]);
        to.sum[half] = fmaf(from.sum[half], weight, to.sum[half]);
#pragma unroll
        for (int i = 2 * half; i < 8; i += 4) {
            to.value[i] = fmaf(from.value[i], weight, to.value[i]);
            to.value[i + 1] = fmaf(from.value[i + 1], weight, to.value[i + 1]);
        }
    }
}

static __device__ __forceinline__ void mla_half_add(mla_half_sums &to, uint4 value, float2 upper, float2 lower)
{
    const uint32_t word[4] = {value.x, value.y, value.z, value.w};
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const float2 row = half ? lower : upper;
        const float weight = mla_meet_weight(row.x, to.max[half]), scaled = weight * row.y;
        to.sum[half] += weight;
#pragma unroll
        for (int j = half; j < 4; j += 2) {
            to.value[2 * j] = fmaf(cvt_f32_f16((uint16_t)word[j]), scaled, to.value[2 * j]);
            to.value[2 * j + 1] = fmaf(cvt_f32_f16((uint16_t)(word[j] >> 16)), scaled, to.value[2 * j + 1]);
        }
    }
}

/* Parts part, part + step, ...: `batch` of them. What is behind the last part counts for nothing, and rows behind the
 * last get what that gets. */
template <int batch>
static __device__ __forceinline__ void mla_meet_load(const mla_tile_arguments &arguments, const mla_half_layout &of,
                                                     const mla_meeting &meeting, int element, int part, int step,
                                                     mla_half_sums &sums)
{
    const int rows = mla_rows_of(arguments.problem), warpgroup = element / of.of_warp % 2;
    const int upper = min(of.row0 + of.row(element, 0), rows - 1), lower = min(of.row0 + of.row(element, 1), rows - 1);
    uint4 value[batch];
    float2 row[batch][2];
    mla_half_sums total = {{0, 0, 0, 0, 0, 0, 0, 0}, {sums.max[0], sums.max[1]}, {0, 0}};
#pragma unroll
    for (int i = 0; i < batch; i++) {
        const int slot = mla_slot(meeting.first + min(part + i * step, meeting.parts - 1), meeting.first);
        row[i][0] = __ldcg(mla_half_row(arguments, slot, warpgroup, upper));
        row[i][1] = __ldcg(mla_half_row(arguments, slot, warpgroup, lower));
        value[i] = __ldcg((const uint4 *)arguments.split.part_out + of.begin(slot) + element);
        if (part + i * step >= meeting.parts)
            row[i][0].x = row[i][1].x = -INFINITY;
    }
#pragma unroll
    for (int i = 0; i < batch; i++)
#pragma unroll
        for (int half = 0; half < 2; half++)
            total.max[half] = fmaxf(total.max[half], row[i][half].x);
    mla_half_add(total, sums);
#pragma unroll
    for (int i = 0; i < batch; i++)
        mla_half_add(total, value[i], row[i][0], row[i][1]);
    sums = total;
}

static __device__ __forceinline__ void mla_meet_store(const mla_problem &problem, const mla_half_layout &of,
                                                      int request, int element, const mla_half_sums &sums)
{
    const int rows = mla_rows_of(problem), column = of.column(element);
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int row = of.row0 + of.row(element, half);
        const float inverse = sums.sum[half] == 0 ? 0 : 1 / sums.sum[half];
        if (row >= rows)
            continue;
        uint32_t *to = (uint32_t *)(problem.out + ((int64_t)request * rows + row) * mla_d_v + column);
#pragma unroll
        for (int i = 0; i < 2; i++)
            to[4 * i] = mla_pack(sums.value[4 * i + 2 * half] * inverse, sums.value[4 * i + 2 * half + 1] * inverse);
        if (column == 0)
            problem.lse[mla_lse_at(problem, request, row)] =
                sums.sum[half] == 0 ? INFINITY : (sums.max[half] + log2f(sums.sum[half])) * mla_ln2;
    }
}

/* sums of the first `across` threads become those of all threads whose number is the same modulo `across`. */
static __device__ __forceinline__ void mla_meet_exchange(mla_half_sums &sums, int across, uint32_t shared)
{
    constexpr int rest = mla_meet_threads * 16;
    const uint32_t mine = shared + threadIdx.x * 16;
    const auto words = [](float a, float b, float c, float d) {
        return make_uint4(__float_as_uint(a), __float_as_uint(b), __float_as_uint(c), __float_as_uint(d));
    };
    for (int i = 0; i < 2; i++)
        st_shared_v4(mine + i * rest,
                     words(sums.value[4 * i], sums.value[4 * i + 1], sums.value[4 * i + 2], sums.value[4 * i + 3]));
    st_shared_v4(mine + 2 * rest, words(sums.max[0], sums.max[1], sums.sum[0], sums.sum[1]));
    named_sync(mla_meet_barrier, mla_meet_threads);
    if ((int)threadIdx.x < across)
#pragma unroll 1
        for (int other = threadIdx.x + across; other < mla_meet_threads; other += across) {
            const uint32_t at = shared + other * 16;
            const float4 low = mla_shared_four(at), high = mla_shared_four(at + rest),
                         rows = mla_shared_four(at + 2 * rest);
            const mla_half_sums more = {
                {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w}, {rows.x, rows.y}, {rows.z, rows.w}};
            mla_half_sums total = {
                {0, 0, 0, 0, 0, 0, 0, 0}, {fmaxf(sums.max[0], more.max[0]), fmaxf(sums.max[1], more.max[1])}, {0, 0}};
            mla_half_add(total, sums);
            mla_half_add(total, more);
            sums = total;
        }
    named_sync(mla_meet_barrier, mla_meet_threads);
}

#endif
