/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/kv_quantise/kv_problem.h"
#include "kernels/support/launch.cuh"

constexpr int THREADS = 128;

static __global__ void __launch_bounds__(THREADS)
    kv_quantise_naive(const uint16_t *__restrict__ x, uint8_t *__restrict__ cache, enum kv_format format,
                      int64_t tokens, int page)
{
    const int64_t token = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    const int values = kv_values(format), quantised = kv_quantised(format), i = (int)(token % page);
    if (token >= tokens)
        return;
    float value[KV_MAX_VALUES];
    for (int j = 0; j < values; j++)
        value[j] = bf16_to_f32(x[token * values + j]);
    uint8_t *block = cache + token / page * kv_block_bytes(format, page);
    kv_encode(format, KV_SCALE_FORMAT, value, page, i, block);
    uint16_t *rope = (uint16_t *)(block + kv_rope_offset(format, i));
    for (int j = 0; j < kv_rope(format); j++)
        rope[j] = x[token * values + quantised + j];
}

static int launch(const struct ridge_call *call)
{
    const int64_t tokens = call->dim[KV_TOKENS];
    kv_quantise_naive<<<(unsigned)ridge_ceil_div(tokens, THREADS), THREADS, 0, ridge_stream(call)>>>(
        (const uint16_t *)call->buffer[0], (uint8_t *)call->buffer[1], kv_format_of(call->dim[KV_BYTES]), tokens,
        (int)call->dim[KV_PAGE]);
    return RIDGE_LAUNCHED(call);
}

extern "C" const struct ridge_variant ridge_variant_kv_quantise_01_naive = {
    .idea = "one thread a token, by the encoder of the host",
    .source = "kernels/support/kv_format.h",
    .changes = "",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .launch = launch,
    .kernel = (const void *)kv_quantise_naive,
};
