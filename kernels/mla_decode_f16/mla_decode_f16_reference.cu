/* SPDX-License-Identifier: Apache-2.0 */
#define MLA_DECODE_F16
#include "kernels/mla_decode/mla_decode_reference.cuh"

extern "C" int ridge_reference_mla_decode_f16(const struct ridge_call *call, float *const *ref, float *const *mag)
{
    return mla_reference(call, ref, mag);
}
