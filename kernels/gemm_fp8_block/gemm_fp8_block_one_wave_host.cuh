/* SPDX-License-Identifier: Apache-2.0 */
/* Host side of gemm_fp8_block_one_wave.cuh: the hooks of a variant. */
#ifndef RIDGE_GEMM_FP8_BLOCK_ONE_WAVE_HOST_CUH
#define RIDGE_GEMM_FP8_BLOCK_ONE_WAVE_HOST_CUH

#include "kernels/gemm_fp8_block/gemm_fp8_block_one_wave.cuh"

struct one_wave_state {
    struct one_wave_arguments arguments;
    char text[96];
};

static inline const void *one_wave_kernel(const one_wave_plan &plan)
{
    const void *const kernels[] = {(const void *)gemm_fp8_block_one_wave<one_wave_tile<128, 192>>,
                                   (const void *)gemm_fp8_block_one_wave<one_wave_tile<128, 128>>,
                                   (const void *)gemm_fp8_block_one_wave<one_wave_tile<128, 64>>,
                                   (const void *)gemm_fp8_block_one_wave<one_wave_tile<64, 128>>,
                                   (const void *)gemm_fp8_block_one_wave<one_wave_tile<64, 64>>};
    static_assert(sizeof kernels / sizeof *kernels == ONE_WAVE_SHAPES, "a kernel for every shape");
    return kernels[plan.shape];
}

/* The buffers are a, b, scale_a, scale_b, d. */
static inline int one_wave_encode(const struct ridge_call *call, struct one_wave_arguments *arguments)
{
    const struct one_wave_plan *plan = &arguments->plan;
    const int64_t m = call->dim[0], n = call->dim[1], k = call->dim[2];
    const struct tensor_map_matrix b = {RIDGE_E4M3, call->buffer[1], n, k, k, plan->columns, 128, 128, "b", true};
    const struct tensor_map_matrix a = {RIDGE_E4M3, call->buffer[0], m, k, k, plan->taken, 128, 128, "a"};
    const struct tensor_map_matrix scale_a = {
        RIDGE_F32, call->buffer[2], plan->blocks, m, gemm_fp8_block_pitch_a(m), 1, plan->taken, 0, "scale_a"};
    arguments->whole = n % 8 == 0;
    return tensor_map_encode(call, &b, &arguments->b) || tensor_map_encode(call, &a, &arguments->a) ||
           tensor_map_encode(call, &scale_a, &arguments->scale_a);
}

static inline int one_wave_prepare(const struct ridge_call *call, struct one_wave_state *state)
{
    struct one_wave_arguments *arguments = &state->arguments;
    struct one_wave_plan *plan = &arguments->plan;
    if (one_wave_refused(call) || gemm_fp8_block_scales_refused(call))
        return 1;
    *plan = one_wave_choose(call->dim, call->device);
    arguments->out = {(bf16 *)call->buffer[4], call->dim[0], call->dim[1]};
    arguments->scale_b = (const float *)call->buffer[3];
    arguments->last_block_b = (int)gemm_fp8_block_count(call->dim[1]) - 1;
    snprintf(state->text, sizeof state->text, "%d x %d tile in %d, %d CTAs, %d stages", plan->rows,
             plan->columns * plan->pieces, plan->pieces, plan->ctas, plan->stages);
    RIDGE_CUDA(call,
               cudaFuncSetAttribute(one_wave_kernel(*plan), cudaFuncAttributeMaxDynamicSharedMemorySize, plan->bytes));
    return one_wave_encode(call, arguments);
}

static int one_wave_setup(struct ridge_call *call, void **state)
{
    struct one_wave_state *made = (struct one_wave_state *)gemm_plan_new(call, sizeof *made);
    if (made && one_wave_prepare(call, made)) {
        free(made);
        made = NULL;
    }
    *state = made;
    return made ? 0 : 1;
}

static int one_wave_launch(const struct ridge_call *call)
{
    const struct one_wave_state *state = (const struct one_wave_state *)call->state;
    const struct one_wave_plan *plan = &state->arguments.plan;
    void *arguments[] = {(void *)&state->arguments};
    return ridge_cuda_status(call,
                             cudaLaunchKernel(one_wave_kernel(*plan), dim3((unsigned)plan->ctas),
                                              dim3(ONE_WAVE_THREADS), arguments, plan->bytes, ridge_stream(call)),
                             __FILE__, __LINE__, "launch");
}

static const char *one_wave_describe(void *state)
{
    return state ? ((const struct one_wave_state *)state)->text : "";
}

/* Whole tiles and whole blocks of k are multiplied; A is read once a CTA, B once. */
static void one_wave_issued(const int64_t *dim, const struct ridge_device *device, struct ridge_work *work)
{
    const struct one_wave_plan plan = one_wave_choose(dim, device);
    const double blocks = plan.blocks, columns = (double)plan.ctas * plan.pieces * plan.columns;
    const double fragments = plan.rows == 128 ? 2 : 1; /* of 64 rows, which read the same rows of B */
    const double a = (double)plan.ctas * plan.taken * blocks * 128, b = columns * blocks * 128;
    const double read_a = (double)plan.ctas * plan.pieces * 128 * blocks * 128; /* of 64 rows by both warpgroups */
    work->tiles = plan.ctas;
    work->flop_fp8 = 2 * plan.rows * columns * blocks * 128;
    work->flop_fp32 = 2 * plan.rows * columns * blocks;
    work->bytes_l2 = a + b + (double)plan.ctas * plan.taken * blocks * 4;
    work->bytes_smem = a + b + fragments * b + read_a;
}

static int one_wave_list(const int64_t *dim, const struct ridge_device *device, char (*plan)[RIDGE_PLAN_BYTES], int max)
{
    return one_wave_plans(dim, device, plan, max);
}

static const char *one_wave_unsupported(const int64_t *dim, const struct ridge_device *)
{
    return dim[0] > ONE_WAVE_MAX_M ? "m > 128: a tile has at most 128 rows of A"
           : dim[2] % 16 ? "k is not a multiple of 16: tensor copies need rows of A and B at multiples of 16 bytes"
                         : NULL;
}

#endif
