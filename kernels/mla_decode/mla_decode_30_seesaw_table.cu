/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/mla_decode/mla_decode_launch.cuh"
#include "kernels/mla_decode/mla_decode_seesaw.cuh"
#include "kernels/mla_metadata/mla_metadata_scan.cuh"

/* Made anew in each launch, or once in setup: then lengths must stay, and whoever changes them reads the error word,
 * the first of the workspace: 0, or 1 + a request whose length is another than the table was made for. */
static const char *const table_plans[] = {"each-launch", "once"};

static constexpr size_t table_bytes = 256 + 4 * metadata_requests + sizeof(mla_range) * 1024;

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

static int setup(struct ridge_call *call, void **state)
{
    const char *plan = call->device->plan;
    char *table = (char *)call->workspace;
    struct ridge_call rest = *call;
    *state = NULL;
    if (plan && strcmp(plan, table_plans[0]) && !made_once(call->device)) {
        snprintf(call->error, call->error_bytes, "plan %s: must be %s or %s", plan, table_plans[0], table_plans[1]);
        return 1;
    }
    rest.workspace = table + table_bytes;
    if (mla_tile_setup(&rest, (const void *)mla_seesaw_kernel<false>, state))
        return 1;
    mla_tile_arguments *arguments = (mla_tile_arguments *)*state;
    arguments->split.stale = (int *)table;
    arguments->split.made_for = (const int *)(table + 256);
    arguments->split.table = (const mla_range *)(table + 256 + 4 * metadata_requests);
    if (ridge_cuda_status(call, cudaMemsetAsync(table, 0, 256, ridge_stream(call)), __FILE__, __LINE__, "error word") ||
        make_table(call, *arguments)) {
        free(arguments);
        *state = NULL;
        return 1;
    }
    return 0;
}

static int launch(const struct ridge_call *call)
{
    if (!made_once(call->device) && make_table(call, *(const mla_tile_arguments *)call->state))
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
    .teardown = free,
    .launch = launch,
    .plans = plans,
    .kernel = (const void *)mla_seesaw_kernel<false>,
};
