/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RIDGE_MLA_METADATA_LAUNCH_CUH
#define RIDGE_MLA_METADATA_LAUNCH_CUH

#include "kernels/mla_decode/mla_decode_split.cuh"

/* What of a decode problem the split looks at. */
static inline mla_problem metadata_problem(const struct ridge_call *call)
{
    mla_problem problem = {};
    problem.length = (const int32_t *)call->buffer[0];
    problem.b = (int)call->dim[0];
    problem.s_k = (int)call->dim[1];
    return problem;
}

#endif
