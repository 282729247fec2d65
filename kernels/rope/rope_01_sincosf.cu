/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/rope/rope_rotate.cuh"

#define THREADS 256

/* One pair a thread; the frequency of pair i is 2^(-i octaves_per_pair). Angle and its reduction in double: formed in
 * FP32, position * frequency is off by up to position * 2^-24. */
static __global__ void __launch_bounds__(THREADS)
    rope_sincosf(uint32_t *x, const int *__restrict__ position, int pairs_per_token, int pairs, double octaves_per_pair,
                 int64_t positions)
{
    const int64_t token = blockIdx.x;
    const int in_token = (int)(blockIdx.y * THREADS + threadIdx.x);
    const int at = position[token];
    if (in_token >= pairs_per_token || !rope_inside(at, positions))
        return;
    const double two_pi = 6.283185307179586;
    double angle = at * exp2(-(in_token % pairs) * octaves_per_pair);
    angle -= two_pi * rint(angle * (1 / two_pi));
    float2 cos_sin;
    sincosf((float)angle, &cos_sin.y, &cos_sin.x);
    uint32_t *mine = x + token * pairs_per_token + in_token;
    *mine = rope_rotate(*mine, cos_sin);
}

/* No table is read. */
static void issued(const int64_t *dim, const struct ridge_device *device, struct ridge_work *work)
{
    (void)device;
    work->bytes_hbm_read = 2.0 * (double)dim[ROPE_TOKENS] * (double)dim[ROPE_HEADS] * (double)dim[ROPE_DIM] +
                           4.0 * (double)dim[ROPE_TOKENS];
}

static int launch(const struct ridge_call *call)
{
    const int64_t pairs = call->dim[ROPE_DIM] / 2, pairs_per_token = call->dim[ROPE_HEADS] * pairs;
    const double log2_theta = 13.287712379549449; /* log2(10000) */
    const dim3 grid((unsigned)call->dim[ROPE_TOKENS], (unsigned)ridge_ceil_div(pairs_per_token, THREADS));
    rope_sincosf<<<grid, THREADS, 0, ridge_stream(call)>>>((uint32_t *)call->buffer[0], (const int *)call->buffer[1],
                                                           (int)pairs_per_token, (int)pairs, log2_theta / (double)pairs,
                                                           call->dim[ROPE_POSITIONS]);
    return RIDGE_LAUNCHED(call);
}

extern "C" const struct ridge_variant ridge_variant_rope_01_sincosf = {
    .idea = "one pair a thread, angle, sine and cosine computed in the kernel",
    .source = "",
    .changes = "",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .issued = issued,
    .launch = launch,
    .kernel = (const void *)rope_sincosf,
};
