/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_grouped_k/gemm_grouped_k_plan.cuh"

/* Consumers, sets, columns, columns whose scales are held (0: products are made), boxes of a slab. */
#define TILES(X) X(2, 1, 128, 0, 4)

template <int consumers, int sets, int columns, int ahead, int boxes>
static constexpr auto kernel_of =
    gemm_1d1d_kernel<gemm_1d1d_tile<consumers, sets, columns, ahead, boxes>, grouped_k_walk>;

#define KERNEL(...) kernel_of<__VA_ARGS__>,
#define COMPILED(...)                                                                                                  \
    gemm_1d1d_compiled<gemm_1d1d_tile<__VA_ARGS__>, grouped_k_walk>((const void *)kernel_of<__VA_ARGS__>),
static void (*const kernels[])(gemm_1d1d_arguments<grouped_k_walk>) = {TILES(KERNEL)};
static const struct gemm_fp8_compiled compiled[] = {TILES(COMPILED)};
static const grouped_k_table table = {compiled, kernels, sizeof compiled / sizeof *compiled, false};

static int setup(struct ridge_call *call, void **state)
{
    return grouped_k_setup(call, &table, state);
}

static void issued(const int64_t *dim, const struct ridge_device *device, struct ridge_work *work)
{
    grouped_k_issue(&table, dim, device, work);
}

extern "C" const struct ridge_variant ridge_variant_gemm_grouped_k_02_maps_on_device = {
    .idea = "gemm_fp8_block_1d1d 02 over the tiles of all groups; the producer makes each group's tensor maps",
    .source = "DeepGEMM, sm90_fp8_gemm_1d1d; PTX ISA 9.0, 9.7.9 (tensormap.replace)",
    .changes = "tensor cores",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .issued = issued,
    .workspace_bytes = grouped_k_workspace_bytes,
    .setup = setup,
    .teardown = free,
    .describe = gemm_1d1d_describe<grouped_k_walk>,
    .launch = grouped_k_launch,
    .kernel = (const void *)kernel_of<2, 1, 128, 0, 4>,
};
