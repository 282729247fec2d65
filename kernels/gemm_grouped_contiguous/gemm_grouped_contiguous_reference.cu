/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_grouped_contiguous/gemm_grouped_reference.cuh"

namespace
{

struct rows {
    const int32_t *index;
    int64_t groups;

    __device__ int64_t group(int64_t row) const
    {
        return index[row] >= 0 && index[row] < groups ? index[row] : -1;
    }
    __device__ int64_t scale_a(int64_t row) const
    {
        return row;
    }
    __device__ float none(int64_t) const
    {
        return 0;
    }
};

} // namespace

extern "C" int ridge_reference_gemm_grouped_contiguous(const struct ridge_call *call, float *const *ref,
                                                       float *const *mag)
{
    const rows of = {(const int32_t *)call->buffer[GROUPED_INDEX], call->dim[GROUPED_GROUPS]};
    return grouped_reference_launch(call, grouped_operands_of(call, call->dim[GROUPED_M]), of, ref[0], mag[0]);
}
