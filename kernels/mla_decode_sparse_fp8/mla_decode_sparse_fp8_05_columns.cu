/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/mla_decode_sparse_fp8/sparse_columns_consume.cuh"
#include "kernels/mla_decode_sparse_fp8/sparse_kernel.cuh"

/* blockIdx: half of the columns, part. */
static __global__ void __launch_bounds__(sparse_threads, 1)
    columns_kernel(const __grid_constant__ sparse_arguments arguments)
{
    extern __shared__ __align__(1024) char memory[];
    const columns_shared shared = {shared_address(memory)};
    const int rank = (int)cluster_rank(), warpgroup = __shfl_sync(~0u, threadIdx.x / 128, 0);
    if (threadIdx.x == 0)
        columns_init_barriers(shared);
    __syncthreads();
    cluster_sync_relaxed();
    grid_launch_dependents();
    if (warpgroup == 2) {
        registers_give<columns_producer_registers>();
        columns_produce(arguments, shared, rank);
    } else if (warpgroup == 0) {
        registers_take<columns_consumer_registers>();
        columns_consume<0>(arguments, shared, rank);
    } else {
        registers_take<columns_consumer_registers>();
        columns_consume<1>(arguments, shared, rank);
    }
    cluster_sync(); /* the other may still send to this CTA, or arrive at its barriers */
}

/* Both CTAs make the probabilities of all heads. */
static void issued(const int64_t *dim, const struct ridge_device *, struct ridge_work *work)
{
    const double values = work->cvt_e4m3_f16, scores = work->exp;
    sparse_issued(dim, 1, work);
    work->cvt_f16_f32 = work->cvt_f32_bf16 = 0;
    work->flop_fp32 = 0;
    work->mul_bf16 = values;
    work->exp = 2 * scores;
    work->bytes_dsmem = 8 * scores;
}

static int setup(struct ridge_call *call, void **state)
{
    return sparse_setup(call, (const void *)columns_kernel, columns_shared_bytes, state);
}

static int launch(const struct ridge_call *call)
{
    return sparse_launch(call, columns_kernel, 2, sparse_threads, columns_shared_bytes);
}

extern "C" const struct ridge_variant ridge_variant_mla_decode_sparse_fp8_05_columns = {
    .idea = "two CTAs share 128 heads by columns: each dequantises its half of every token and they exchange scores",
    .source = "",
    .changes = "no keys through distributed shared memory, partial scores instead; FP16; warpgroups take turns",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = sparse_needs_pairs,
    .issued = issued,
    .workspace_bytes = sparse_workspace_bytes,
    .setup = setup,
    .teardown = free,
    .launch = launch,
    .kernel = (const void *)columns_kernel,
};
