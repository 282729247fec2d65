/* SPDX-License-Identifier: Apache-2.0 */
/* Angle, sine and cosine in double, independent of the table; the rotation in double, rounded to FP32 once.
 * mag = |x0| + |x1|. buffer[0] holds the original values. */
#include "kernels/rope/rope_rotate.cuh"

#define THREADS 128

static __global__ void __launch_bounds__(THREADS)
    rope_reference_kernel(const uint32_t *__restrict__ x, const int *__restrict__ position, float2 *__restrict__ ref,
                          float2 *__restrict__ mag, int heads, int pairs, int64_t positions)
{
    const int64_t token = blockIdx.x;
    const int pair = (int)(blockIdx.y * THREADS + threadIdx.x);
    if (pair >= pairs)
        return;
    const int at = position[token];
    double sine, cosine;
    sincos(rope_inside(at, positions) ? at * pow(10000.0, -(double)pair / pairs) : 0, &sine, &cosine);
    for (int head = 0; head < heads; head++) {
        const int64_t i = (token * heads + head) * pairs + pair;
        const float2 value = bf16x2_unpack(x[i]);
        ref[i] = make_float2((float)(value.x * cosine - value.y * sine), (float)(value.x * sine + value.y * cosine));
        mag[i].x = mag[i].y = fabsf(value.x) + fabsf(value.y);
    }
}

extern "C" int ridge_reference_rope(const struct ridge_call *call, float *const *ref, float *const *mag)
{
    const int64_t pairs = call->dim[ROPE_DIM] / 2;
    const dim3 grid((unsigned)call->dim[ROPE_TOKENS], (unsigned)ridge_ceil_div(pairs, THREADS));
    rope_reference_kernel<<<grid, THREADS, 0, ridge_stream(call)>>>(
        (const uint32_t *)call->buffer[0], (const int *)call->buffer[1], (float2 *)ref[0], (float2 *)mag[0],
        (int)call->dim[ROPE_HEADS], (int)pairs, call->dim[ROPE_POSITIONS]);
    return RIDGE_LAUNCHED(call);
}
