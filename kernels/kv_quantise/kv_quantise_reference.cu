/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/kv_quantise/kv_problem.h"
#include "kernels/support/launch.cuh"

static __global__ void kv_quantise_keep(const uint8_t *cache, float *ref, float *mag, int64_t bytes)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= bytes)
        return;
    ref[i] = cache[i];
    mag[i] = 0;
}

static __device__ void copy(const uint8_t *from, int64_t count, float *to)
{
    for (int64_t i = 0; i < count; i++)
        to[i] = from[i];
}

/* One thread a token, which it encodes as a block of one. */
static __global__ void kv_quantise_reference(const uint16_t *x, float *ref, enum kv_format format, int64_t tokens,
                                             int page)
{
    const int64_t token = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    const int values = kv_values(format), quantised = kv_quantised(format), i = (int)(token % page);
    if (token >= tokens)
        return;
    float value[KV_MAX_VALUES];
    uint8_t alone[2 * 576];
    for (int j = 0; j < values; j++)
        value[j] = bf16_to_f32(x[token * values + j]);
    kv_encode(format, KV_SCALE_FORMAT, value, 1, 0, alone);
    float *block = ref + token / page * kv_block_bytes(format, page);
    const int scale_bytes = format == KV_MODEL1 ? 8 : kv_tiles(format) * kv_scale_bytes(format);
    copy(alone, kv_code_bytes(format), block + kv_token_offset(format, i));
    copy(alone + kv_scale_offset(format, 1, 0), scale_bytes, block + kv_scale_offset(format, page, i));
    copy((const uint8_t *)(x + token * values + quantised), 2 * kv_rope(format), block + kv_rope_offset(format, i));
}

extern "C" int ridge_reference_kv_quantise(const struct ridge_call *call, float *const *ref, float *const *mag)
{
    const int64_t tokens = call->dim[KV_TOKENS], bytes = (int64_t)kv_count_cache(call->dim);
    kv_quantise_keep<<<(unsigned)ridge_ceil_div(bytes, 256), 256, 0, ridge_stream(call)>>>(
        (const uint8_t *)call->buffer[1], ref[0], mag[0], bytes);
    kv_quantise_reference<<<(unsigned)ridge_ceil_div(tokens, 64), 64, 0, ridge_stream(call)>>>(
        (const uint16_t *)call->buffer[0], ref[0], kv_format_of(call->dim[KV_BYTES]), tokens, (int)call->dim[KV_PAGE]);
    return RIDGE_LAUNCHED(call);
}
