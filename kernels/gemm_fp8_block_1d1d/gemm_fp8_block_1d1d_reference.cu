/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_fp8_block_1d1d/gemm_1d1d_reference.cuh"

extern "C" int ridge_reference_gemm_fp8_block_1d1d(const struct ridge_call *call, float *const *ref, float *const *mag)
{
    return gemm_1d1d_reference(call, ref[0], mag[0]);
}
