/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/kv_quantise/kv_problem.h"
#include "kernels/support/launch.cuh"

static __device__ uint32_t bf16_of(float value)
{
    return isnan(value) ? 0x7fff : bf16_from_f32(value);
}

/* One thread a token. The words count as bits. */
static __global__ void kv_dequantise_reference(const uint8_t *cache, uint32_t *ref, enum kv_format format,
                                               int64_t tokens, int page)
{
    const int64_t token = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    const int values = kv_values(format), quantised = kv_quantised(format), i = (int)(token % page);
    if (token >= tokens)
        return;
    const uint8_t *block = cache + token / page * kv_block_bytes(format, page);
    float value[KV_MAX_VALUES];
    kv_decode(format, block, page, i, value);
    for (int j = 0; j < quantised; j += 2)
        ref[(token * values + j) / 2] = bf16_of(value[j]) | bf16_of(value[j + 1]) << 16;
    for (int j = quantised; j < values; j += 2)
        ref[(token * values + j) / 2] = *(const uint32_t *)(block + kv_rope_offset(format, i) + 2 * (j - quantised));
}

extern "C" int ridge_reference_kv_dequantise(const struct ridge_call *call, float *const *ref, float *const *mag)
{
    const int64_t tokens = call->dim[KV_TOKENS];
    RIDGE_CUDA(call, cudaMemsetAsync(mag[0], 0, (size_t)kv_count_pairs(call->dim) * sizeof(float), ridge_stream(call)));
    kv_dequantise_reference<<<(unsigned)ridge_ceil_div(tokens, 64), 64, 0, ridge_stream(call)>>>(
        (const uint8_t *)call->buffer[0], (uint32_t *)ref[0], kv_format_of(call->dim[KV_BYTES]), tokens,
        (int)call->dim[KV_PAGE]);
    return RIDGE_LAUNCHED(call);
}
