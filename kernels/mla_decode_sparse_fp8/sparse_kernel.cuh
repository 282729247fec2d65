/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of 02 and 03, and its host side. */
#ifndef RIDGE_SPARSE_KERNEL_CUH
#define RIDGE_SPARSE_KERNEL_CUH

#include "kernels/mla_decode_sparse_fp8/sparse_consume.cuh"
#include "kernels/mla_decode_sparse_fp8/sparse_produce.cuh"
#include "kernels/mla_decode_sparse_fp8/sparse_unchecked.cuh"

#include <stdlib.h>
#include <string.h>

template <int ctas> static __device__ __forceinline__ void sparse_start(const sparse_shared &shared)
{
    if (threadIdx.x == 0)
        sparse_init_barriers<ctas>(shared);
    __syncthreads();
    if (ctas == 2)
        cluster_sync_relaxed();
    grid_launch_dependents();
}

/* blockIdx: 64 heads, part. */
template <int ctas, bool checked>
static __global__ void __launch_bounds__(sparse_threads, 1)
    sparse_kernel(const __grid_constant__ sparse_arguments arguments)
{
    extern __shared__ __align__(1024) char memory[];
    const sparse_shared shared = {shared_address(memory)};
    const int row0 = blockIdx.x * sparse_rows, warpgroup = __shfl_sync(~0u, threadIdx.x / 128, 0);
    sparse_start<ctas>(shared);
    if (warpgroup == 2) {
        registers_give<sparse_producer_registers>();
        sparse_produce<sparse_values, ctas, checked>(arguments, shared);
    } else if (warpgroup == 0) {
        registers_take<sparse_left_registers>();
        sparse_consume_left<ctas, checked>(arguments, shared, row0);
    } else {
        registers_give<sparse_right_registers>();
        sparse_consume_right<ctas>(arguments, shared, row0);
    }
    if (ctas == 2)
        cluster_sync(); /* the other may still store to this CTA, or arrive at its barriers */
}

static inline int sparse_parts(const int64_t *dim, const struct ridge_device *device)
{
    const int parts = device->sms / (int)(dim[SPARSE_H] / sparse_rows);
    return parts > 0 ? parts : 1;
}

static inline size_t sparse_workspace_bytes(const int64_t *dim, const struct ridge_device *device)
{
    return sparse_split_bytes(dim, sparse_parts(dim, device));
}

typedef void (*sparse_function)(sparse_arguments);

/* The state is a sparse_arguments. */
static inline int sparse_setup(struct ridge_call *call, const void *kernel, int shared_bytes, void **state)
{
    void *memory = NULL;
    *state = NULL;
    if (sparse_check_buffers(call) || sparse_refuse_plan(call))
        return 1;
    RIDGE_CUDA(call, cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
    if (posix_memalign(&memory, 64, sizeof(sparse_arguments))) {
        snprintf(call->error, call->error_bytes, "out of memory");
        return 1;
    }
    sparse_arguments *arguments = (sparse_arguments *)memset(memory, 0, sizeof(sparse_arguments));
    arguments->problem = sparse_problem_of(call);
    arguments->problem.overhead = sparse_overhead(call->dim, sparse_parts(call->dim, call->device));
    arguments->split = sparse_split_of(call, sparse_parts(call->dim, call->device));
    const struct tensor_map_matrix q = {RIDGE_BF16,
                                        arguments->problem.q,
                                        sparse_queries(call->dim) * call->dim[SPARSE_H],
                                        sparse_d_k,
                                        sparse_d_k,
                                        sparse_rows,
                                        64,
                                        128,
                                        "q",
                                        false};
    if (tensor_map_encode(call, &q, &arguments->q)) {
        free(arguments);
        return 1;
    }
    *state = arguments;
    return 0;
}

static inline int sparse_launch(const struct ridge_call *call, sparse_function kernel, int ctas, int threads,
                                int shared_bytes)
{
    const sparse_arguments *arguments = (const sparse_arguments *)call->state;
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = (unsigned)ctas;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)(arguments->problem.h / sparse_rows), (unsigned)arguments->split.parts);
    config.blockDim = dim3((unsigned)threads);
    config.dynamicSmemBytes = (size_t)shared_bytes;
    config.stream = ridge_stream(call);
    config.attrs = &attribute;
    config.numAttrs = 1;
    if (ridge_cuda_status(call, cudaLaunchKernelEx(&config, kernel, *arguments), __FILE__, __LINE__, "launch"))
        return 1;
    return sparse_launch_combine(call, arguments->problem, arguments->split);
}

static inline const char *sparse_needs_pairs(const int64_t *dim, const struct ridge_device *)
{
    return dim[SPARSE_H] == 128 ? NULL : "h is 64: there is no second CTA with the same tokens to share the work with";
}

/* `tokens`: how often a query's token is dequantised, all of it. Steps of the conversion from the BF16 kernels. */
static inline void sparse_issued(const int64_t *dim, double times, struct ridge_work *work)
{
    const double values = (double)sparse_queries(dim) * (double)dim[SPARSE_TOPK] * 512 * times;
    work->cvt_e4m3_f16 = work->cvt_f16_f32 = work->cvt_f32_bf16 = values;
    work->flop_fp32 = values;
    work->bytes_l2 = values / 512 * sparse_token_bytes;
    work->launches = 2;
}

#endif
