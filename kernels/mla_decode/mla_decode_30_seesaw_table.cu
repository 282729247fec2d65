/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/mla_decode/mla_decode_launch.cuh"
#include "kernels/mla_decode/mla_decode_seesaw.cuh"
#include "kernels/mla_metadata/mla_metadata_scan.cuh"

/* Made anew in each launch, or once in setup: then lengths must stay. A CTA that finds another length than the table
 * was made for sets the error word, in memory of the host, to 1 + the request; the launch after it says so and fails.
 * That needs no hook of its own, and finds what replays of a graph left behind. */
static const char *const table_plans[] = {"each-launch", "once"};

static constexpr size_t table_bytes = 4 * metadata_requests + sizeof(mla_range) * 1024;

static const char *unsupported(const int64_t *dim, const struct ridge_device *device)
{
    return dim[0] > metadata_requests ? "more than 2048 requests: the table is made by one block"
                                      : mla_tile_unsupported(dim, device);
}

static size_t workspace_bytes(const int64_t *dim, const struct ridge_device *device)
{
    return table_bytes + mla_tile_workspace_bytes(dim, device);
}

static int make_table(const struct ridge_call *call, const mla_tile_arguments &arguments)
{
    const mla_split &split = arguments.split;
    mla_metadata_scan<<<1, metadata_threads, 0, ridge_stream(call)>>>(arguments.problem, split.parts,
                                                                      (mla_range *)split.table, (int *)split.made_for);
    return RIDGE_LAUNCHED(call);
}

static bool made_once(const struct ridge_device *device)
{
    return device->plan && strcmp(device->plan, table_plans[1]) == 0;
}

static void teardown(void *state)
{
    cudaFreeHost(((mla_tile_arguments *)state)->split.stale);
    free(state);
}

static int make_state(const struct ridge_call *call, mla_tile_arguments *arguments)
{
    char *table = (char *)call->workspace;
    arguments->split.made_for = (const int *)table;
    arguments->split.table = (const mla_range *)(table + 4 * metadata_requests);
    RIDGE_CUDA(call, cudaHostAlloc((void **)&arguments->split.stale, sizeof(int), cudaHostAllocMapped));
    *arguments->split.stale = 0;
    return make_table(call, *arguments);
}

static int setup(struct ridge_call *call, void **state)
{
    const char *plan = call->device->plan;
    struct ridge_call rest = *call;
    *state = NULL;
    if (plan && strcmp(plan, table_plans[0]) && !made_once(call->device)) {
        snprintf(call->error, call->error_bytes, "plan %s: must be %s or %s", plan, table_plans[0], table_plans[1]);
        return 1;
    }
    rest.workspace = (char *)call->workspace + table_bytes;
    if (mla_tile_setup(&rest, (const void *)mla_seesaw_kernel<false>, state))
        return 1;
    if (make_state(call, (mla_tile_arguments *)*state)) {
        teardown(*state);
        *state = NULL;
        return 1;
    }
    return 0;
}

static int launch(const struct ridge_call *call)
{
    const mla_tile_arguments *arguments = (const mla_tile_arguments *)call->state;
    const int found = *(volatile int *)arguments->split.stale;
    if (found) {
        *arguments->split.stale = 0;
        snprintf(call->error, call->error_bytes,
                 "plan %s: request %d has another length than the table was made for: its results are wrong",
                 table_plans[made_once(call->device)], found - 1);
        return 1;
    }
    if (!made_once(call->device) && make_table(call, *arguments))
        return 1;
    return mla_tile_launch(call, mla_seesaw_kernel<false>);
}

static void issued(const int64_t *dim, const struct ridge_device *device, struct ridge_work *work)
{
    mla_tile_issued(dim, device, work);
    work->launches = made_once(device) ? 2 : 3;
}

static int plans(const int64_t *, const struct ridge_device *, char (*plan)[RIDGE_PLAN_BYTES], int max)
{
    for (int i = 0; i < 2 && i < max; i++)
        snprintf(plan[i], RIDGE_PLAN_BYTES, "%s", table_plans[i]);
    return max < 2 ? max : 2;
}

extern "C" const struct ridge_variant ridge_variant_mla_decode_30_seesaw_table = {
    .idea = "the seesaw with its shares in a table that a kernel makes, in each launch or once",
    .source = "FlashMLA's get_mla_metadata",
    .changes = "against 05: CTAs load their share, and tell when a length is not that of the table",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .ladder_break = true,
    .unsupported = unsupported,
    .issued = issued,
    .workspace_bytes = workspace_bytes,
    .setup = setup,
    .teardown = teardown,
    .launch = launch,
    .plans = plans,
    .kernel = (const void *)mla_seesaw_kernel<false>,
};
