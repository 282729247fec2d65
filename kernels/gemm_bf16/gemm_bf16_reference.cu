/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/support/element.cuh"
#include "kernels/support/gemm_reference.cuh"

extern "C" int ridge_reference_gemm_bf16(const struct ridge_call *call, float *const *ref, float *const *mag)
{
    return gemm_reference<bf16>(call, ref[0], mag[0]);
}
