/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two products of the schedule of gemm_fp8_block_05, in 128 x 128 tiles, launched one after the other. A kernel lets
 * the next one start at its own beginning; `producer` waits for the kernel before as late as it may. What the chain
 * reads of the kernel before is A and its scales, for which consumers wait through the producer; B and its scales are
 * weights that no kernel writes.
 */
#ifndef RIDGE_GEMM_FP8_CHAIN_CUH
#define RIDGE_GEMM_FP8_CHAIN_CUH

#include "kernels/gemm_fp8_block/gemm_fp8_block_cluster.cuh"
#include "kernels/gemm_fp8_chain/gemm_fp8_chain.h"
#include "kernels/ptx/grid.cuh"

using gemm_fp8_chain_tile = gemm_fp8_block_shape<1, 128, 1>;

/* Waits before the first load. */
struct gemm_fp8_chain_producer {
    static __device__ __forceinline__ void produce(const gemm_fp8_block_cluster_arguments &arguments, const ring &ring,
                                                   const gemm_part &part, uint32_t scales)
    {
        grid_launch_dependents();
        grid_wait();
        gemm_fp8_block_producer<gemm_fp8_chain_tile>::produce(arguments, ring, part, scales);
    }
};

template <typename producer>
static __global__ void __launch_bounds__(gemm_fp8_chain_tile::threads, 1)
    gemm_fp8_chain_kernel(const __grid_constant__ gemm_fp8_block_cluster_arguments arguments)
{
    using tile = gemm_fp8_chain_tile;
    extern __shared__ __align__(1024) char memory[];
    gemm_fp8_block_run_cluster<tile, gemm_fp8_block_consume_cluster<tile, false, false>, producer>(
        arguments, shared_address(memory), gemm_slab<tile>::bytes_all);
}

struct gemm_fp8_chain_plan {
    struct gemm_fp8_block_plan link[GEMM_CHAIN_LINKS];
};

/* A variant: what the producer does, and whether the second kernel may start before the end of the first. */
template <typename producer, bool overlapped> struct gemm_fp8_chain {
    using tile = gemm_fp8_chain_tile;
    static constexpr auto kernel = gemm_fp8_chain_kernel<producer>;

    static struct gemm_fp8_compiled compiled()
    {
        return {{tile::rows, tile::columns, tile::stage_bytes + tile::scale_bytes, gemm_slab<tile>::bytes_all},
                (const void *)kernel,
                tile::threads,
                gemm_slab<tile>::columns};
    }

    /* Clusters of two share B, unless there is one row of tiles. */
    static struct ridge_device planned(const int64_t *dim, const struct ridge_device *device)
    {
        struct ridge_device with_plan = *device;
        with_plan.plan = dim[0] > tile::rows ? "128x128:2x1" : "128x128:1x1";
        return with_plan;
    }

    static int setup(struct ridge_call *call, void **state)
    {
        const struct gemm_fp8_compiled only = compiled();
        const struct ridge_device device = planned(call->dim, call->device);
        struct gemm_fp8_chain_plan *plan = (struct gemm_fp8_chain_plan *)gemm_plan_new(call, sizeof *plan);
        for (int link = 0; plan && link < GEMM_CHAIN_LINKS; link++) {
            void *buffer[GEMM_CHAIN_LINK_BUFFERS];
            gemm_fp8_chain_buffers(call->buffer, link, buffer);
            struct ridge_call call_of_link = *call;
            call_of_link.buffer = buffer;
            call_of_link.device = &device;
            if (gemm_fp8_block_prepare(&call_of_link, &only, 1, &plan->link[link])) {
                free(plan);
                plan = NULL;
            }
        }
        *state = plan;
        return plan ? 0 : 1;
    }

    static int launch_link(const struct ridge_call *call, const struct gemm_fp8_block_plan *plan, bool overlaps)
    {
        const struct gemm_choice *choice = &plan->plan.choice;
        cudaLaunchAttribute attributes[2] = {};
        cudaLaunchConfig_t config =
            gemm_cluster_config(call, plan->plan.clusters, choice->cluster_rows * choice->cluster_columns,
                                tile::threads, plan->plan.shared_bytes, attributes);
        attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attributes[1].val.programmaticStreamSerializationAllowed = 1;
        config.numAttrs = overlaps ? 2 : 1;
        return ridge_cuda_status(call, cudaLaunchKernelEx(&config, kernel, gemm_fp8_block_arguments_of(call, plan)),
                                 __FILE__, __LINE__, "launch");
    }

    static int launch(const struct ridge_call *call)
    {
        const struct gemm_fp8_chain_plan *plan = (const struct gemm_fp8_chain_plan *)call->state;
        for (int link = 0; link < GEMM_CHAIN_LINKS; link++) {
            void *buffer[GEMM_CHAIN_LINK_BUFFERS];
            gemm_fp8_chain_buffers(call->buffer, link, buffer);
            struct ridge_call call_of_link = *call;
            call_of_link.buffer = buffer;
            if (launch_link(&call_of_link, &plan->link[link], overlapped && link > 0))
                return 1;
        }
        return 0;
    }

    static const char *describe(void *state)
    {
        return state ? ((const struct gemm_fp8_chain_plan *)state)->link[0].plan.text : "";
    }

    static void issued(const int64_t *dim, const struct ridge_device *device, struct ridge_work *work)
    {
        const struct gemm_fp8_compiled only = compiled();
        const struct ridge_device with_plan = planned(dim, device);
        gemm_fp8_block_issue_cluster(&only, 1, dim, &with_plan, work);
        work->flop_fp8 *= (double)GEMM_CHAIN_LINKS;
        work->flop_fp32 *= (double)GEMM_CHAIN_LINKS;
        work->bytes_l2 *= (double)GEMM_CHAIN_LINKS;
        work->bytes_smem *= (double)GEMM_CHAIN_LINKS;
    }
};

#endif
