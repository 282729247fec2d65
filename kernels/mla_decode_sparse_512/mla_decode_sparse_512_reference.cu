/* SPDX-License-Identifier: Apache-2.0 */
#define SPARSE_512
#include "kernels/mla_decode_sparse_fp8/sparse_reference.cuh"

extern "C" int ridge_reference_mla_decode_sparse_512(const struct ridge_call *call, float *const *ref,
                                                     float *const *mag)
{
    return sparse_reference(call, ref, mag);
}
