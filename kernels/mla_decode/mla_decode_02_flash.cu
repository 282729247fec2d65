/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/mla_decode/mla_decode_flash.cuh"

/* blockIdx: group of rows, request. */
static __global__ void __launch_bounds__(mla_flash_threads) mla_flash_kernel(mla_problem problem)
{
    const int request = blockIdx.x, row = blockIdx.y * mla_flash_rows + threadIdx.x / 32;
    if (row >= mla_rows_of(problem))
        return;
    mla_flash_state state;
    mla_flash_keys(state, problem, request, row, 0, mla_visible(problem, mla_length(problem, request), row));
    mla_flash_store(problem, state, request, row);
}

static int launch(const struct ridge_call *call)
{
    const mla_problem problem = mla_problem_of(call);
    const dim3 grid((unsigned)problem.b, (unsigned)ridge_ceil_div(mla_rows_of(problem), mla_flash_rows));
    mla_flash_kernel<<<grid, mla_flash_threads, 0, ridge_stream(call)>>>(problem);
    return RIDGE_LAUNCHED(call);
}

extern "C" const struct ridge_variant ridge_variant_mla_decode_02_flash = {
    .idea = "online softmax: a warp a row, one pass over the keys",
    .source = "Milakov and Gimelshein 2018, algorithm 3",
    .changes = "no scores in memory",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .unsupported = mla_flash_unsupported,
    .issued = mla_flash_issued,
    .launch = launch,
    .kernel = (const void *)mla_flash_kernel,
};
