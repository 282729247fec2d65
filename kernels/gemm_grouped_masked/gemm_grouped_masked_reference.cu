/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_grouped_contiguous/gemm_grouped_reference.cuh"
#include "kernels/gemm_grouped_masked/gemm_grouped_masked.h"
#include "kernels/support/element.cuh"

namespace
{

struct rows {
    const int32_t *valid;
    const bf16 *d;
    int64_t m, pitch, blocks;

    __device__ int64_t group(int64_t row) const
    {
        return row % m < masked_rows(valid[row / m], (int)m) ? row / m : -1;
    }
    __device__ int64_t scale_a(int64_t row) const
    {
        return row / m * blocks * pitch + row % m;
    }
    __device__ float none(int64_t i) const
    {
        return (float)d[i];
    }
};

} // namespace

extern "C" int ridge_reference_gemm_grouped_masked(const struct ridge_call *call, float *const *ref, float *const *mag)
{
    const int64_t m = call->dim[GROUPED_M];
    const grouped_operands x = grouped_operands_of(call, call->dim[GROUPED_GROUPS] * m);
    const rows of = {(const int32_t *)call->buffer[GROUPED_INDEX], (const bf16 *)call->buffer[GROUPED_D], m, x.pitch,
                     x.blocks};
    return grouped_reference_launch(call, x, of, ref[0], mag[0]);
}
