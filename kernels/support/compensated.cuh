/* SPDX-License-Identifier: Apache-2.0 */
/* Compensated FP32 sums for the GPU references. The _rn intrinsics keep the compiler from contracting to FMA. */
#ifndef RIDGE_SUPPORT_COMPENSATED_CUH
#define RIDGE_SUPPORT_COMPENSATED_CUH

/* Sum and its running rounding error (Ogita, Rump, Oishi, "Accurate sum and dot product", 2005, algorithm 4.4). */
struct compensated {
    float sum = 0, rest = 0;

    __device__ void add(float value)
    {
        float next = __fadd_rn(sum, value);
        float virtual_value = __fsub_rn(next, sum);
        float lost_of_sum = __fsub_rn(sum, __fsub_rn(next, virtual_value));
        float lost_of_value = __fsub_rn(value, virtual_value);
        rest = __fadd_rn(rest, __fadd_rn(lost_of_sum, lost_of_value));
        sum = next;
    }

    /* An infinite sum has no rest. */
    __device__ float value() const
    {
        return isfinite(rest) ? __fadd_rn(sum, rest) : sum;
    }
};

#endif
