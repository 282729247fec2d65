// SPDX-License-Identifier: Apache-2.0
#include <math_constants.h>

#include "kernels/support/numeric.h"
#include "kernels/support/support.h"

namespace {

constexpr int kThreads = 256;
constexpr int kTileSide = 128;

struct Error {
    float relative, absolute; // relative: in units of the tolerance
};

__device__ bool compared_as_bits(enum ridge_dtype dtype)
{
    return dtype == RIDGE_I32 || dtype == RIDGE_U32;
}

__device__ float load_float(const void *out, enum ridge_dtype dtype, int64_t i)
{
    switch (dtype) {
    case RIDGE_F64:
        return (float)((const double *)out)[i];
    case RIDGE_F16:
        return f16_to_f32(((const uint16_t *)out)[i]);
    case RIDGE_BF16:
        return bf16_to_f32(((const uint16_t *)out)[i]);
    case RIDGE_E4M3:
        return e4m3_to_f32(((const uint8_t *)out)[i]);
    case RIDGE_U8:
        return ((const uint8_t *)out)[i];
    default:
        return ((const float *)out)[i];
    }
}

__device__ Error error_at(const void *out, enum ridge_dtype dtype, const float *ref, const float *mag, int64_t i,
                          float rel, float mag_rel)
{
    if (compared_as_bits(dtype))
        return ((const uint32_t *)out)[i] == f32_bits(ref[i]) ? Error{0.f, 0.f} : Error{CUDART_INF_F, CUDART_INF_F};
    float value = load_float(out, dtype, i), expected = ref[i];
    if (value == expected) // equal infinities too
        return {0.f, 0.f};
    float absolute = fabsf(value - expected);
    float allowed = rel * fabsf(expected) + mag_rel * mag[i];
    float relative = absolute / allowed;
    if (!(relative <= 3e38f)) // NaN, or nothing allowed
        return {CUDART_INF_F, CUDART_INF_F};
    return {relative, absolute};
}

// One block a tile.
__global__ void compare_kernel(const void *out, enum ridge_dtype dtype, const float *ref, const float *mag,
                               int64_t count, int64_t columns, float rel, float mag_rel, struct support_tile *tile)
{
    int64_t width = columns ? columns : kTileSide;
    int64_t across = (width + kTileSide - 1) / kTileSide;
    int64_t row0 = blockIdx.x / across * kTileSide, column0 = blockIdx.x % across * kTileSide;
    struct support_tile mine = {};
    mine.at = -1;
    for (int j = threadIdx.x; j < kTileSide * kTileSide; j += kThreads) {
        int64_t column = column0 + j % kTileSide;
        int64_t i = (row0 + j / kTileSide) * width + column;
        if (column >= width || i >= count)
            continue;
        Error error = error_at(out, dtype, ref, mag, i, rel, mag_rel);
        mine.elements++;
        mine.sum_squares += error.relative * error.relative;
        mine.max_abs = fmaxf(mine.max_abs, error.absolute);
        mine.error_squares += (double)error.absolute * error.absolute;
        if (!compared_as_bits(dtype) && isfinite(ref[i]))
            mine.ref_squares += (double)ref[i] * ref[i];
        if (error.relative > mine.max || mine.at < 0) {
            mine.max = error.relative;
            mine.at = i;
        }
    }
    __shared__ struct support_tile all[kThreads];
    all[threadIdx.x] = mine;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int t = 1; t < kThreads; t++) {
            mine.elements += all[t].elements;
            mine.sum_squares += all[t].sum_squares;
            mine.max_abs = fmaxf(mine.max_abs, all[t].max_abs);
            mine.error_squares += all[t].error_squares;
            mine.ref_squares += all[t].ref_squares;
            if (all[t].at >= 0 && all[t].max > mine.max) {
                mine.max = all[t].max;
                mine.at = all[t].at;
            }
        }
        tile[blockIdx.x] = mine;
    }
}

} // namespace

extern "C" int64_t support_tiles(int64_t count, int64_t columns)
{
    int64_t width = columns ? columns : kTileSide;
    int64_t rows = (count + width - 1) / width;
    return (rows + kTileSide - 1) / kTileSide * ((width + kTileSide - 1) / kTileSide);
}

extern "C" int support_compare(const void *out, enum ridge_dtype dtype, const float *ref, const float *mag,
                               int64_t count, int64_t columns, double rel, double mag_rel, struct support_tile *tile,
                               void *stream)
{
    compare_kernel<<<(unsigned)support_tiles(count, columns), kThreads, 0, (cudaStream_t)stream>>>(
        out, dtype, ref, mag, count, columns, (float)rel, (float)mag_rel, tile);
    return cudaGetLastError();
}
