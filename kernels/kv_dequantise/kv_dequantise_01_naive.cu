/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/kv_quantise/kv_problem.h"
#include "kernels/support/launch.cuh"

constexpr int THREADS = 128;

static __device__ __forceinline__ uint16_t bf16_of(float value)
{
    return isnan(value) ? 0x7fff : bf16_from_f32(value);
}

static __global__ void __launch_bounds__(THREADS)
    kv_dequantise_naive(const uint8_t *__restrict__ cache, uint16_t *__restrict__ out, enum kv_format format,
                        int64_t tokens, int page)
{
    const int64_t token = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    const int values = kv_values(format), quantised = kv_quantised(format), i = (int)(token % page);
    if (token >= tokens)
        return;
    const uint8_t *block = cache + token / page * kv_block_bytes(format, page);
    float value[KV_MAX_VALUES];
    kv_decode(format, block, page, i, value);
    for (int j = 0; j < quantised; j++)
        out[token * values + j] = bf16_of(value[j]);
    const uint16_t *rope = (const uint16_t *)(block + kv_rope_offset(format, i));
    for (int j = 0; j < kv_rope(format); j++)
        out[token * values + quantised + j] = rope[j];
}

static int launch(const struct ridge_call *call)
{
    const int64_t tokens = call->dim[KV_TOKENS];
    kv_dequantise_naive<<<(unsigned)ridge_ceil_div(tokens, THREADS), THREADS, 0, ridge_stream(call)>>>(
        (const uint8_t *)call->buffer[0], (uint16_t *)call->buffer[1], kv_format_of(call->dim[KV_BYTES]), tokens,
        (int)call->dim[KV_PAGE]);
    return RIDGE_LAUNCHED(call);
}

extern "C" const struct ridge_variant ridge_variant_kv_dequantise_01_naive = {
    .idea = "one thread a token, by the decoder of the host",
    .source = "kernels/support/kv_format.h",
    .changes = "",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .launch = launch,
    .kernel = (const void *)kv_dequantise_naive,
};
