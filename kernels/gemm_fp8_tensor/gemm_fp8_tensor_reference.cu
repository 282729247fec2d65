/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_fp8_tensor/gemm_fp8_reference.cuh"

namespace
{

struct operands {
    const e4m3 *pa, *pb;
    const float *scale_a, *scale_b;
    int64_t k;

    __device__ float a(int64_t row, int64_t i) const
    {
        return (float)pa[row * k + i] * *scale_a;
    }
    __device__ float b(int64_t column, int64_t i) const
    {
        return (float)pb[column * k + i] * *scale_b;
    }
};

} // namespace

extern "C" int ridge_reference_gemm_fp8_tensor(const struct ridge_call *call, float *const *ref, float *const *mag)
{
    const operands x = {(const e4m3 *)call->buffer[0], (const e4m3 *)call->buffer[1], (const float *)call->buffer[2],
                        (const float *)call->buffer[3], call->dim[2]};
    return gemm_fp8_reference(call, x, ref[0], mag[0]);
}
