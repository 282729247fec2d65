/* SPDX-License-Identifier: Apache-2.0 */
/* 02 without a second kernel, for few queries: parts meet (sparse_meet.cuh). Producers ask for their first indices
 * before barriers are there, since tokens wait for them, and everything for tokens. */
#include "kernels/mla_decode/mla_decode_counters.cuh"
#include "kernels/mla_decode_sparse_fp8/sparse_kernel.cuh"

constexpr int meet_left_registers = 208, meet_producer_registers = 128;

/* blockIdx: 64 heads, part. */
static __global__ void __launch_bounds__(sparse_threads, 1)
    meet_kernel(const __grid_constant__ sparse_arguments arguments)
{
    extern __shared__ __align__(1024) char memory[];
    const sparse_shared shared = {shared_address(memory)};
    const sparse_problem &problem = arguments.problem;
    const int row0 = blockIdx.x * sparse_rows, warpgroup = __shfl_sync(~0u, threadIdx.x / 128, 0);
    const sparse_span span = sparse_span_of(problem, arguments.split);
    sparse_ahead ahead;
    if (warpgroup == 2)
        ahead = sparse_ask<1, true>(problem, span);
    if (threadIdx.x == 0)
        sparse_init_barriers<1>(shared);
    __syncthreads();
    if (warpgroup == 2) {
        registers_give<meet_producer_registers>();
        sparse_produce_from<sparse_values, 1, true>(problem, span, shared, ahead);
    } else if (warpgroup == 0) {
        registers_take<meet_left_registers>();
        sparse_consume_left<1, true, true>(arguments, shared, row0);
    } else {
        registers_give<sparse_right_registers>();
        sparse_consume_right<1, true>(arguments, shared, row0);
    }
    if (warpgroup < 2)
        sparse_meet(arguments, row0);
}

static void issued(const int64_t *dim, const struct ridge_device *, struct ridge_work *work)
{
    sparse_issued(dim, (double)dim[SPARSE_H] / sparse_rows, work);
    work->launches = 1;
}

static void teardown(void *state)
{
    if (state)
        cudaFree(((sparse_arguments *)state)->split.meeting);
    free(state);
}

/* The state owns the counters. */
static int setup(struct ridge_call *call, void **state)
{
    if (sparse_setup(call, (const void *)meet_kernel, sparse_shared_bytes, state))
        return 1;
    sparse_split *split = &((sparse_arguments *)*state)->split;
    if (mla_make_counters(call, split->parts * call->dim[SPARSE_H] / sparse_rows, &split->meeting)) {
        teardown(*state);
        *state = NULL;
        return 1;
    }
    return 0;
}

static int launch(const struct ridge_call *call)
{
    const sparse_arguments *arguments = (const sparse_arguments *)call->state;
    const dim3 grid((unsigned)(arguments->problem.h / sparse_rows), (unsigned)arguments->split.parts);
    return mla_launch_resident(call, meet_kernel, grid, sparse_threads, sparse_shared_bytes, *arguments, true);
}

extern "C" const struct ridge_variant ridge_variant_mla_decode_sparse_fp8_08_meet = {
    .idea = "02 where the CTAs that made a cut query's partial results meet and add them up",
    .source = "",
    .changes = "no second kernel: each part adds up a share when all have counted; partial results in FP16 with units",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .issued = issued,
    .workspace_bytes = sparse_workspace_bytes,
    .setup = setup,
    .teardown = teardown,
    .launch = launch,
    .kernel = (const void *)meet_kernel,
};
