/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_bf16/gemm_cluster.cuh"
#include "kernels/gemm_fp8_block/gemm_fp8_block_parts.cuh"
#include "kernels/support/keep_operands.cuh"

struct parts_state {
    struct parts_arguments arguments;
    char text[96];
};

/* The buffers are a, b, scale_a, scale_b, d. */
static int encode(const struct ridge_call *call, struct parts_arguments *arguments)
{
    const struct parts_plan *plan = &arguments->plan;
    const int64_t m = call->dim[0], n = call->dim[1], k = call->dim[2];
    const struct tensor_map_matrix b = {RIDGE_E4M3, call->buffer[1], n, k, k, PARTS_COLUMNS, 128, 128, "b"};
    const struct tensor_map_matrix a = {RIDGE_E4M3, call->buffer[0], m, k, k, plan->taken, 128, 128, "a"};
    const struct tensor_map_matrix scale_a = {
        RIDGE_F32, call->buffer[2], plan->blocks, m, gemm_fp8_block_pitch_a(m), 1, plan->taken, 0, "scale_a"};
    return tensor_map_encode(call, &b, &arguments->b) || tensor_map_encode(call, &a, &arguments->a) ||
           tensor_map_encode(call, &scale_a, &arguments->scale_a);
}

static int prepare(const struct ridge_call *call, struct parts_state *state)
{
    struct parts_arguments *arguments = &state->arguments;
    struct parts_plan *plan = &arguments->plan;
    if (parts_refused(call) || gemm_fp8_block_scales_refused(call))
        return 1;
    *plan = parts_choose(call->dim, call->device);
    arguments->out = {(bf16 *)call->buffer[4], call->dim[0], call->dim[1]};
    arguments->scale_b = (const float *)call->buffer[3];
    snprintf(state->text, sizeof state->text, "%d x 128 tile, k in %d, %d CTAs, %d stages",
             64 * (plan->sets[0] + plan->sets[1]), plan->parts, plan->tiles * plan->parts, plan->stages);
    RIDGE_CUDA(call,
               cudaFuncSetAttribute(gemm_fp8_block_parts, cudaFuncAttributeMaxDynamicSharedMemorySize, plan->bytes));
    return encode(call, arguments);
}

static int setup(struct ridge_call *call, void **state)
{
    struct parts_state *made = (struct parts_state *)gemm_plan_new(call, sizeof *made);
    if (made && prepare(call, made)) {
        free(made);
        made = NULL;
    }
    *state = made;
    return made ? 0 : 1;
}

static int launch(const struct ridge_call *call)
{
    const struct parts_arguments *arguments = &((const struct parts_state *)call->state)->arguments;
    const struct parts_plan *plan = &arguments->plan;
    return gemm_launch_clusters(call, gemm_fp8_block_parts, plan->tiles, plan->parts, PARTS_THREADS, plan->bytes,
                                *arguments);
}

static const char *describe(void *state)
{
    return state ? ((const struct parts_state *)state)->text : "";
}

/* Whole sets of rows and whole blocks of k are multiplied, and a part of k sends all totals but its own to the others.
 */
static void issued(const int64_t *dim, const struct ridge_device *device, struct ridge_work *work)
{
    const struct parts_plan plan = parts_choose(dim, device);
    const double steps = (double)plan.tiles * plan.blocks, sets = plan.sets[0] + plan.sets[1];
    const double a = 64 * 128, b = PARTS_B_BYTES, sums = sets * 64 * (int)PARTS_COLUMNS;
    work->tiles = (double)plan.tiles * plan.parts;
    work->flop_fp8 = 2 * steps * sums * 128;
    work->flop_fp32 = 2 * steps * sums;
    work->bytes_l2 = steps * plan.copied;
    work->bytes_smem = steps * (plan.copied + sets * (a + b));
    work->bytes_dsmem = (double)plan.tiles * (plan.parts - 1) * sums * 4;
}

static int plans(const int64_t *dim, const struct ridge_device *device, char (*plan)[RIDGE_PLAN_BYTES], int max)
{
    return parts_plans(dim, device, plan, max);
}

static const char *unsupported(const int64_t *dim, const struct ridge_device *)
{
    return dim[0] > PARTS_MAX_M ? "m > 256: a tile has all rows of A, of which it holds 256"
           : dim[2] % 16 ? "k is not a multiple of 16: tensor copies need rows of A and B at multiples of 16 bytes"
                         : NULL;
}

extern "C" const struct ridge_variant ridge_variant_gemm_fp8_block_17_parts = {
    .idea = "for at most 256 rows of A: one tile has all of them, and the CTAs of a cluster have a part of k each",
    .source = "PTX ISA 9.0, 9.7.9.12 (st.async) and 9.7.9.18 (createpolicy)",
    .changes =
        "of 14: tiles of one wave instead of a loop over tiles, k in parts whose totals meet in the ring's place",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = unsupported,
    .issued = issued,
    .setup = setup,
    .teardown = free,
    .describe = describe,
    .launch = launch,
    .plans = plans,
    .kernel = (const void *)gemm_fp8_block_parts,
};
