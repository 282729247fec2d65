/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RIDGE_ALU_CEILING_CUH
#define RIDGE_ALU_CEILING_CUH

#include "kernels/ceiling_fma_f32/alu_ceiling.h"
#include "kernels/ptx/arithmetic.cuh"
#include "kernels/support/launch.cuh"

constexpr int ALU_CTAS_PER_SM = 2;

/* `op` has:
 *   steps, unroll               steps of a unit, and of a trip of its loop
 *   parameters, clear           words a thread takes from the second buffer (0 or 1), and bits cleared in them
 *   start(seed, kind)           the first value of a chain
 *   step(x, first, parameter)   one step of all chains; first is what start returned
 *   fold(x)                     the word a thread leaves */
template <class op>
static __global__ void __launch_bounds__(ALU_THREADS, ALU_CTAS_PER_SM)
    alu_ceiling(const uint32_t *__restrict__ seed, const uint32_t *__restrict__ parameter, uint32_t *__restrict__ out,
                unsigned units)
{
    uint32_t seeds[ALU_CHAINS], p = 0;
#pragma unroll
    for (int i = 0; i < ALU_CHAINS; i++)
        seeds[i] = seed[threadIdx.x * ALU_CHAINS + i];
    if (op::parameters)
        p = parameter[threadIdx.x] & ~op::clear;

    for (unsigned unit = blockIdx.x; unit < units; unit += gridDim.x) {
        uint32_t x[ALU_CHAINS], first[ALU_CHAINS];
#pragma unroll
        for (int i = 0; i < ALU_CHAINS; i++)
            x[i] = first[i] = op::start(seeds[i], unit % ALU_KINDS);
#pragma unroll 1
        for (int trip = 0; trip < op::steps / op::unroll; trip++) {
#pragma unroll
            for (int i = 0; i < op::unroll; i++)
                op::step(x, first, p);
        }
        if (unit + ALU_KEPT >= units)
            out[unit % ALU_KEPT * ALU_THREADS + threadIdx.x] = op::fold(x);
    }
}

template <class op> static int alu_launch(const struct ridge_call *call)
{
    alu_ceiling<op><<<call->device->sms * ALU_CTAS_PER_SM, ALU_THREADS, 0, ridge_stream(call)>>>(
        (const uint32_t *)call->buffer[0], (const uint32_t *)call->buffer[op::parameters ? 1 : 0],
        (uint32_t *)call->buffer[op::parameters ? 2 : 1], (unsigned)call->dim[0]);
    return RIDGE_LAUNCHED(call);
}

/* Halves a float `kind` times. */
static __device__ __forceinline__ uint32_t alu_start_float(uint32_t seed, unsigned kind)
{
    return __float_as_uint(__uint_as_float(seed) * (kind == 0 ? 1.0f : kind == 1 ? 0.5f : 0.25f));
}

static __device__ __forceinline__ uint32_t alu_fold_xor(const uint32_t (&x)[ALU_CHAINS])
{
    uint32_t word = 0;
#pragma unroll
    for (int i = 0; i < ALU_CHAINS; i++)
        word ^= x[i];
    return word;
}

static __device__ __forceinline__ uint32_t alu_fold_float(const uint32_t (&x)[ALU_CHAINS])
{
    float sum = 0;
#pragma unroll
    for (int i = 0; i < ALU_CHAINS; i++)
        sum += __uint_as_float(x[i]);
    return __float_as_uint(sum);
}

#endif
