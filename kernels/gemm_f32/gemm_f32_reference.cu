/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/support/gemm_reference.cuh"

extern "C" int ridge_reference_gemm_f32(const struct ridge_call *call, float *const *ref, float *const *mag)
{
    return gemm_reference<float>(call, ref[0], mag[0]);
}
