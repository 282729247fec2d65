/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_fp8_block_1d1d/gemm_1d1d_naive.cuh"
#include "kernels/gemm_grouped_k/gemm_grouped_k_plan.cuh"

/* blockIdx.y: the group. `whole`: operands of all groups, of `blocks` blocks of k at most. A group that is not allowed
 * ends the list. */
static __global__ void __launch_bounds__(GEMM_1D1D_SIDE *GEMM_1D1D_SIDE)
    gemm_grouped_k_naive(gemm_1d1d_operands whole, const int32_t *__restrict__ ks, int blocks, float *__restrict__ d,
                         int64_t m, int64_t n, int64_t tiles_n)
{
    const int64_t row = blockIdx.x / tiles_n * GEMM_1D1D_SIDE + threadIdx.y;
    const int64_t column = blockIdx.x % tiles_n * GEMM_1D1D_SIDE + threadIdx.x;
    int64_t first = 0;
    for (unsigned g = 0; g <= blockIdx.y; g++) {
        if (ks[g] < 0 || ks[g] % 128 || first + ks[g] > blocks * 128ll)
            return;
        first += g < blockIdx.y ? ks[g] : 0;
    }
    const gemm_1d1d_operands x = {whole.pa + m * first,
                                  whole.pb + n * first,
                                  whole.scale_a + first / 128 * whole.pitch_a,
                                  whole.scale_b + first / 128 * whole.pitch_b,
                                  ks[blockIdx.y],
                                  whole.pitch_a,
                                  whole.pitch_b};
    if (row < m && column < n && x.k > 0)
        d[(blockIdx.y * m + row) * n + column] += gemm_1d1d_dot(x, row, column);
}

static const char *unsupported(const int64_t *dim, const struct ridge_device *device)
{
    return ridge_too_slow(dim + GROUPED_K_M, device);
}

/* The products run on the FP32 units, not on the tensor cores. */
static void issued(const int64_t *dim, const struct ridge_device *device, struct ridge_work *work)
{
    (void)device;
    work->flop_fp32 += 2.0 * (double)dim[GROUPED_K_M] * (double)dim[GROUPED_K_N] * (double)dim[GROUPED_K_K];
    work->flop_fp8 = 0;
}

static int setup(struct ridge_call *call, void **state)
{
    *state = NULL;
    return grouped_k_check(call);
}

static int launch(const struct ridge_call *call)
{
    const int64_t m = call->dim[GROUPED_K_M], n = call->dim[GROUPED_K_N];
    const int64_t tiles_n = ridge_ceil_div(n, GEMM_1D1D_SIDE), tiles = ridge_ceil_div(m, GEMM_1D1D_SIDE) * tiles_n;
    const gemm_1d1d_operands whole = {(const e4m3 *)call->buffer[GROUPED_K_A],
                                      (const e4m3 *)call->buffer[GROUPED_K_B],
                                      (const float *)call->buffer[GROUPED_K_SCALE_A],
                                      (const float *)call->buffer[GROUPED_K_SCALE_B],
                                      0,
                                      gemm_fp8_block_pitch_a(m),
                                      gemm_fp8_block_pitch_a(n)};
    const dim3 grid((unsigned)tiles, (unsigned)call->dim[GROUPED_K_GROUPS]);
    gemm_grouped_k_naive<<<grid, dim3(GEMM_1D1D_SIDE, GEMM_1D1D_SIDE), 0, ridge_stream(call)>>>(
        whole, (const int32_t *)call->buffer[GROUPED_K_KS], (int)(call->dim[GROUPED_K_K] / 128),
        (float *)call->buffer[GROUPED_K_D], m, n, tiles_n);
    return RIDGE_LAUNCHED(call);
}

extern "C" const struct ridge_variant ridge_variant_gemm_grouped_k_01_naive = {
    .idea = "one thread an output, FP32 accumulation on the FP32 units, scaled once a block of 128 along k",
    .source = "",
    .changes = "",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = unsupported,
    .issued = issued,
    .setup = setup,
    .launch = launch,
    .kernel = (const void *)gemm_grouped_k_naive,
};
