/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/mla_decode/mla_decode_combine.cuh"
#include "kernels/mla_decode/mla_decode_flash.cuh"

/* blockIdx: group of rows, part. */
static __global__ void __launch_bounds__(mla_flash_threads) mla_split_kernel(mla_problem problem, mla_split split)
{
    const int row = blockIdx.x * mla_flash_rows + threadIdx.x / 32;
    mla_range range = mla_range_of(problem, split.parts, blockIdx.y);
    if (row >= mla_rows_of(problem) || range.request >= problem.b)
        return;
    do {
        const mla_piece piece = mla_piece_of(problem, range, blockIdx.y);
        if (!piece.mine)
            continue;
        mla_flash_state state;
        mla_flash_keys(state, problem, piece.request, row, piece.first * mla_block_keys,
                       min(piece.last * mla_block_keys, mla_visible(problem, piece.length, row)));
        if (piece.whole)
            mla_flash_store(problem, state, piece.request, row);
        else
            mla_flash_store_part(problem, split, state, piece.slot, row);
    } while (mla_advance(problem, range));
}

/* Two blocks an SM. */
static int parts_of(const int64_t *dim, const struct ridge_device *device)
{
    const int64_t parts = 2 * device->sms / ridge_ceil_div(dim[1] * dim[3], mla_flash_rows);
    return parts > 1 ? (int)parts : 1;
}

static size_t workspace_bytes(const int64_t *dim, const struct ridge_device *device)
{
    return mla_split_bytes(dim, parts_of(dim, device));
}

static void issued(const int64_t *dim, const struct ridge_device *device, struct ridge_work *work)
{
    mla_flash_issued(dim, device, work);
    work->launches = 2;
}

static int launch(const struct ridge_call *call)
{
    const mla_problem problem = mla_problem_of(call);
    const mla_split split = mla_split_of(call, parts_of(call->dim, call->device));
    const dim3 grid((unsigned)ridge_ceil_div(mla_rows_of(problem), mla_flash_rows), (unsigned)split.parts);
    mla_split_kernel<<<grid, mla_flash_threads, 0, ridge_stream(call)>>>(problem, split);
    if (RIDGE_LAUNCHED(call))
        return 1;
    return mla_launch_combine(call, problem, split, false);
}

extern "C" const struct ridge_variant ridge_variant_mla_decode_03_split_kv = {
    .idea = "equal shares of all requests' keys for all SMs, partial results combined by a second kernel",
    .source = "Dao et al., Flash-Decoding, 2023; FlashMLA's get_mla_metadata",
    .changes = "few or uneven requests fill the chip",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = mla_flash_unsupported,
    .issued = issued,
    .workspace_bytes = workspace_bytes,
    .launch = launch,
    .kernel = (const void *)mla_split_kernel,
};
