/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel is that of 07, which can store from the registers as 03 to 05 do: one compiled kernel for two steps. */
#include "kernels/gemm_bf16/gemm_schedule.cuh"

extern "C" const struct ridge_variant ridge_variant_gemm_bf16_07_tensor_store;

using tile = gemm_tile<2, 256>;

enum { STAGES = 4, SHARED_BYTES = STAGES * (tile::stage_bytes + 16) + gemm_slab<tile>::bytes_all };
enum { BAND = 8, CLUSTER = 2 };

static int setup(struct ridge_call *call, void **state)
{
    const void *kernel = ridge_variant_gemm_bf16_07_tensor_store.kernel;
    RIDGE_CUDA(call, cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED_BYTES));
    gemm_arguments *arguments = (gemm_arguments *)gemm_plan_new(call, sizeof *arguments);
    if (!arguments || gemm_encode(call, tile::rows, tile::columns / CLUSTER, &arguments->maps)) {
        free(arguments);
        return 1;
    }
    arguments->out = gemm_output_of(call);
    arguments->k = (int)call->dim[2];
    arguments->stages = STAGES;
    arguments->cluster = {CLUSTER, 1};
    arguments->order = gemm_order<tile>(call->dim, CLUSTER, 1, BAND);
    *state = arguments;
    return 0;
}

static int launch(const struct ridge_call *call)
{
    const gemm_arguments *arguments = (const gemm_arguments *)call->state;
    const int places = call->device->sms / CLUSTER, tiles = tile_count(arguments->order);
    const auto kernel = (void (*)(gemm_arguments))ridge_variant_gemm_bf16_07_tensor_store.kernel;
    return gemm_launch_clusters(call, kernel, tiles < places ? tiles : places, CLUSTER, tile::threads, SHARED_BYTES,
                                *arguments);
}

extern "C" const struct ridge_variant ridge_variant_gemm_bf16_06_multicast = {
    .idea = "clusters of two tiles one above the other; each CTA loads half of their B tile for both",
    .source = "PTX ISA 9.0, 9.7.9.25.5.2 (.multicast::cluster)",
    .changes = "a tile pair reads 64 KiB a stage from L2 instead of 96",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = gemm_unsupported,
    .issued = gemm_issued<tile, CLUSTER>,
    .setup = setup,
    .teardown = free,
    .launch = launch,
};
