/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_fp8_block/gemm_fp8_block.h"
#include "kernels/gemm_fp8_tensor/gemm_fp8_reference.cuh"

namespace
{

struct operands {
    const e4m3 *pa, *pb;
    const float *scale_a, *scale_b;
    int64_t k, pitch_a, blocks;

    __device__ float a(int64_t row, int64_t i) const
    {
        return (float)pa[row * k + i] * scale_a[i / 128 * pitch_a + row];
    }
    __device__ float b(int64_t column, int64_t i) const
    {
        return (float)pb[column * k + i] * scale_b[column / 128 * blocks + i / 128];
    }
};

} // namespace

extern "C" int ridge_reference_gemm_fp8_block(const struct ridge_call *call, float *const *ref, float *const *mag)
{
    const int64_t m = call->dim[0], k = call->dim[2];
    const operands x = {(const e4m3 *)call->buffer[0],
                        (const e4m3 *)call->buffer[1],
                        (const float *)call->buffer[2],
                        (const float *)call->buffer[3],
                        k,
                        gemm_fp8_block_pitch_a(m),
                        gemm_fp8_block_count(k)};
    return gemm_fp8_reference(call, x, ref[0], mag[0]);
}
