/* SPDX-License-Identifier: Apache-2.0 */
/* Host side of variants whose parts meet: counters that the state owns, and a launch that has all CTAs resident. */
#ifndef RIDGE_MLA_DECODE_MEET_LAUNCH_CUH
#define RIDGE_MLA_DECODE_MEET_LAUNCH_CUH

#include "kernels/mla_decode/mla_decode_counters.cuh"
#include "kernels/mla_decode/mla_decode_launch.cuh"

static inline void mla_meet_teardown(void *state)
{
    if (state)
        cudaFree(((mla_tile_arguments *)state)->split.meeting);
    free(state);
}

/* As mla_setup; counters: of a part and tile of rows. */
static inline int mla_meet_setup(struct ridge_call *call, const void *kernel, int shared_bytes, int q_rows, int parts,
                                 void **state, int counters = 1)
{
    if (mla_setup(call, kernel, shared_bytes, q_rows, parts, state))
        return 1;
    mla_split *split = &((mla_tile_arguments *)*state)->split;
    if (mla_make_counters(call, ridge_ceil_div(call->dim[1] * call->dim[3], q_rows) * parts * counters,
                          &split->meeting)) {
        mla_meet_teardown(*state);
        *state = NULL;
        return 1;
    }
    return 0;
}

/* Elements of all partial results, two slots a part, of a layout as mla_decode_meet.cuh describes it. */
template <typename layout> static inline int64_t mla_part_elements(const int64_t *dim, int parts)
{
    return (int64_t)2 * parts * mla_row_tiles(dim) * layout::of_tile;
}

/* Keys that leave L2 first do not push out what else is there, dirty lines that would have to be written among them;
 * of a cache of many times its size that costs more than it saves. */
static inline bool mla_meet_evict_first(const struct ridge_call *call)
{
    const double bytes = (double)call->dim[0] * call->dim[2] * mla_d_k * 2;
    return bytes < 4.0 * (double)call->device->l2_bytes;
}

static inline void mla_meet_issued(const int64_t *dim, const struct ridge_device *device, struct ridge_work *work)
{
    mla_tile_issued(dim, device, work);
    work->launches = 1;
}

/* A single part cuts nothing and waits for nobody. */
static inline int mla_meet_launch(const struct ridge_call *call, void (*kernel)(mla_tile_arguments), int shared_bytes,
                                  int row_tiles)
{
    const mla_tile_arguments *arguments = (const mla_tile_arguments *)call->state;
    const dim3 grid((unsigned)row_tiles, (unsigned)arguments->split.parts);
    return mla_launch_resident(call, kernel, grid, mla_threads, shared_bytes, *arguments, arguments->split.parts > 1);
}

#endif
