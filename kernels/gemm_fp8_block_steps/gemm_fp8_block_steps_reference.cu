/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/kernel.h"

extern "C" int ridge_reference_gemm_fp8_block(const struct ridge_call *call, float *const *ref, float *const *mag);

extern "C" int ridge_reference_gemm_fp8_block_steps(const struct ridge_call *call, float *const *ref, float *const *mag)
{
    return ridge_reference_gemm_fp8_block(call, ref, mag);
}
