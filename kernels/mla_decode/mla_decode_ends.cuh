/* SPDX-License-Identifier: Apache-2.0 */
/* What variants with short ends have in common: averages in shared memory, tiles of 16 rows, the launch. */
#ifndef RIDGE_MLA_DECODE_ENDS_CUH
#define RIDGE_MLA_DECODE_ENDS_CUH

#include "kernels/mla_decode/mla_decode_apart.cuh"
#include "kernels/mla_decode/mla_decode_meet_launch.cuh"
#include "kernels/mla_decode/mla_decode_meet.cuh"
#include "kernels/mla_decode/mla_decode_transposed_launch.cuh"

/* Averages [row][column], FP32: rows 16 bytes apart from a multiple of 128, so that the threads of a warp, which have
 * two rows of eight columns each, store to different banks. */
constexpr int ends_rows = 16, ends_pitch = mla_d_v * 4 + 16, ends_stage = mla_transposed<ends_rows>::bytes;
constexpr int ends_kept = ends_stage + ends_rows * ends_pitch, ends_bytes = ends_kept + mla_meetings_bytes;
static_assert(ends_bytes <= 232448 && ends_kept % 16 == 0, "more than the shared memory of a block");

using ends_state = apart_state<ends_rows>;

/* Where the stage has register i of the thread's part of a tile. */
static __device__ __forceinline__ uint32_t ends_at(uint32_t stage, int tile, int i)
{
    return stage + mla_head(mla_own(i)) * ends_pitch + (tile * 64 + wgmma_row(threadIdx.x, i)) * 4;
}

/* By all threads, before anything else. */
static __device__ __forceinline__ void ends_begin(const mla_tile_arguments &arguments, uint32_t base)
{
    if (threadIdx.x / 32 == 9)
        mla_prefetch_share(arguments.problem, arguments.split.parts);
    if (threadIdx.x == 0) {
        mla_transposed_init<ends_rows>(base, 4, 8);
        mla_meetings_init(base + ends_kept);
    }
    __syncthreads();
}

/* Four columns a thread; the stage may be written again behind the next barrier of all consumers. */
static __device__ __forceinline__ void ends_store(const mla_tile_arguments &arguments, const mla_piece &piece, int row0,
                                                  uint32_t stage)
{
    const int all = mla_rows_of(arguments.problem), elements = min(ends_rows, all - row0) * mla_row_elements;
    float *part = arguments.split.part_out + ((int64_t)piece.slot * all + row0) * mla_d_v;
#pragma unroll 1
    for (int i = threadIdx.x; i < elements; i += 256) {
        const int row = i / mla_row_elements, column = i % mla_row_elements * 4;
        const float4 value = mla_shared_four(stage + row * ends_pitch + column * 4);
        if (piece.whole)
            mla_store_four(arguments.problem, piece.request, row0 + row, column, value);
        else
            __stcg((float4 *)part + i, value);
    }
}

static inline int ends_row_tiles(const int64_t *dim)
{
    return (int)ridge_ceil_div(dim[1] * dim[3], ends_rows);
}

static inline int ends_parts(const int64_t *dim, const struct ridge_device *device)
{
    return device->sms / ends_row_tiles(dim);
}

static inline const char *ends_unsupported(const int64_t *dim, const struct ridge_device *device)
{
    return dim[1] * dim[3] > 2 * ends_rows ? "s_q * h above 32: every 16 rows read all keys again, 12 is for these"
                                           : mla_tile_unsupported(dim, device);
}

static inline size_t ends_workspace_bytes(const int64_t *dim, const struct ridge_device *device)
{
    return mla_split_bytes(dim, ends_parts(dim, device));
}

static inline void ends_issued(const int64_t *dim, const struct ridge_device *, struct ridge_work *work)
{
    mla_transposed_issued_of(dim, ends_row_tiles(dim), ends_rows, work);
    work->launches = 1;
}

static inline int ends_setup(struct ridge_call *call, const void *kernel, void **state)
{
    if (mla_meet_setup(call, kernel, ends_bytes, ends_rows, ends_parts(call->dim, call->device), state))
        return 1;
    ((mla_tile_arguments *)*state)->evict_first = mla_meet_evict_first(call);
    return 0;
}

#endif
