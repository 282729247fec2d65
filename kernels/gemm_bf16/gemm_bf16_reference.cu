/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/support/gemm_reference.cuh"

#include <cuda_bf16.h>

extern "C" int ridge_reference_gemm_bf16(const struct ridge_call *call, float *const *ref, float *const *mag)
{
    return gemm_reference<__nv_bfloat16>(call, ref[0], mag[0]);
}
