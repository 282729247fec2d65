/* SPDX-License-Identifier: Apache-2.0 */
/* Variants of mla_decode in a CUDA graph that is replayed with other lengths. 30_seesaw_table: a table made in the
 * graph is never stale and the results are right; one made before it is, and the next launch fails and names a request.
 * Variants whose parts meet: other parts meet in each replay, and the counters are back at 0 after it. */
#include "tests/family_case.h"
#include "tests/gpu_records.h"

#include "bench/registry.h"
#include "kernels/mla_decode/mla_decode.h"

#ifdef RIDGE_WITH_CUDA

#include <cuda_runtime_api.h>

enum { REQUESTS = 5, S_K = 700 };

static const int32_t lengths[][REQUESTS] = {
    {700, 700, 700, 700, 700}, {1, 700, 0, 64, 333}, {0, 0, 0, 0, 0}, {700, 1, 1, 1, 1}, {7, 6, 5, 4, 700}};

struct replay {
    struct family_case c;
    struct ridge_device device;
    struct ridge_call call;
    void *memory[RIDGE_MAX_BUFFERS];
    char error[256];
    cudaStream_t stream;
    cudaGraphExec_t graph;
};

static void must(int status, const char *what)
{
    if (status == 0)
        return;
    printf("FAIL: %s: %s\n", what, cudaGetErrorString((cudaError_t)status));
    exit(1);
}

static void must_call(const struct replay *r, int status, const char *what)
{
    if (status == 0)
        return;
    printf("FAIL: %s: %s\n", what, r->error);
    exit(1);
}

static void set_lengths(struct replay *r, const int32_t *length)
{
    memcpy(r->c.buffer[MLA_LENGTH], length, sizeof *lengths);
    for (int i = 0; i < r->c.family->buffers; i++)
        must(cudaMemcpy(r->memory[i], r->c.buffer[i], r->c.bytes[i], cudaMemcpyHostToDevice), "upload");
}

/* With the table, if it is made once, for lengths[0]. */
static void capture(struct replay *r, const struct ridge_variant *variant)
{
    cudaGraph_t graph;
    set_lengths(r, lengths[0]);
    must_call(r, variant->setup(&r->call, &r->call.state), "setup");
    must(cudaStreamSynchronize(r->stream), "setup");
    must(cudaStreamBeginCapture(r->stream, cudaStreamCaptureModeGlobal), "begin of the capture");
    must_call(r, variant->launch(&r->call), "launch");
    must(cudaStreamEndCapture(r->stream, &graph), "end of the capture");
    must(cudaGraphInstantiate(&r->graph, graph, 0), "instantiate");
    must(cudaGraphDestroy(graph), "destroy");
}

static void replay(struct replay *r)
{
    must(cudaGraphLaunch(r->graph, r->stream), "replay");
    must(cudaStreamSynchronize(r->stream), "replay");
}

/* Replays, then launches: -1 if that went well, otherwise the request that the launch names. */
static int stale_request(struct replay *r, const struct ridge_variant *variant)
{
    int request = -1;
    replay(r);
    if (variant->launch(&r->call) && sscanf(strstr(r->error, "request") ?: "", "request %d has", &request) != 1)
        must_call(r, 1, "launch");
    must(cudaStreamSynchronize(r->stream), "launch");
    return request;
}

static void must_be_right(struct replay *r, int which)
{
    must(cudaMemcpy(r->c.buffer[MLA_OUT], r->memory[MLA_OUT], r->c.bytes[MLA_OUT], cudaMemcpyDeviceToHost), "download");
    must(cudaMemcpy(r->c.buffer[MLA_LSE], r->memory[MLA_LSE], r->c.bytes[MLA_LSE], cudaMemcpyDeviceToHost), "download");
    r->c.family->reference(r->c.dim, r->c.buffer, r->c.ref, r->c.mag);
    const double error = case_max_error(&r->c);
    if (!(error <= 1)) {
        printf("FAIL: plan %s, lengths %d: %g times the tolerance\n", r->device.plan ? r->device.plan : "", which,
               error);
        exit(1);
    }
}

static void try_plan(struct replay *r, const struct ridge_variant *variant, const char *plan)
{
    const bool once = strcmp(plan, "once") == 0;
    r->device.plan = plan;
    capture(r, variant);
    for (int i = 0; i < (int)(sizeof lengths / sizeof *lengths); i++) {
        set_lengths(r, lengths[i]);
        const int request = stale_request(r, variant);
        const bool stale = once && i > 0;
        if (stale != (request >= 0) || (stale && (request >= REQUESTS || lengths[i][request] == lengths[0][request]))) {
            printf("FAIL: plan %s, lengths %d: request %d named\n", plan, i, request);
            exit(1);
        }
        if (!stale)
            must_be_right(r, i);
    }
    cudaGraphExecDestroy(r->graph);
    variant->teardown(r->call.state);
    printf("%s: replayed with %zu sets of lengths\n", plan, sizeof lengths / sizeof *lengths);
}

static const struct ridge_entry *find(const char *label)
{
    const struct ridge_entry *entry = ridge_builtin_entries;
    while (strcmp(entry->family, "mla_decode") != 0 || strcmp(entry->label, label) != 0)
        entry++;
    return entry;
}

static void try_meeting(struct replay *r, const char *label)
{
    const struct ridge_variant *variant = find(label)->variant;
    r->device.plan = NULL;
    must(cudaMalloc(&r->call.workspace, variant->workspace_bytes(r->c.dim, &r->device)), "workspace");
    capture(r, variant);
    for (int turn = 0; turn < 3; turn++)
        for (int i = 0; i < (int)(sizeof lengths / sizeof *lengths); i++) {
            set_lengths(r, lengths[i]);
            replay(r);
            must_be_right(r, i);
        }
    cudaGraphExecDestroy(r->graph);
    variant->teardown(r->call.state);
    cudaFree(r->call.workspace);
    printf("%s: replayed with %zu sets of lengths\n", label, sizeof lengths / sizeof *lengths);
}

int main(void)
{
    static const int64_t dim[] = {REQUESTS, 2, S_K, 16, 64};
    struct device_info info;
    struct timer_quality timer;
    struct ridge_error reason;
    if (device_cuda.open(&info, &timer, &reason) != RIDGE_OK) {
        printf("skipped: %s\n", reason.text);
        return SKIPPED;
    }
    const struct ridge_entry *entry = find("30_seesaw_table");
    struct replay r = {.device = info.device};
    if (entry->variant->min_cc > info.device.cc) {
        printf("skipped: built for compute capability 9.0\n");
        return SKIPPED;
    }
    case_open(&r.c, entry->problem, dim, 0, NULL);
    for (int i = 0; i < r.c.family->buffers; i++)
        must(cudaMalloc(&r.memory[i], r.c.bytes[i]), "memory");
    must(cudaStreamCreate(&r.stream), "stream");
    r.call = (struct ridge_call){.dim = dim,
                                 .buffer = r.memory,
                                 .stream = r.stream,
                                 .device = &r.device,
                                 .error = r.error,
                                 .error_bytes = sizeof r.error};
    must(cudaMalloc(&r.call.workspace, entry->variant->workspace_bytes(dim, &r.device)), "workspace");
    try_plan(&r, entry->variant, "each-launch");
    try_plan(&r, entry->variant, "once");
    cudaFree(r.call.workspace);
    try_meeting(&r, "12_meet");
    try_meeting(&r, "13_short_ends");
    try_meeting(&r, "15_quarters_meet");
    try_meeting(&r, "16_shorter_ends");
    try_meeting(&r, "17_joint_ends");
    try_meeting(&r, "18_fetched");
    case_close(&r.c);
    device_cuda.close();
    return 0;
}

#else

int main(void)
{
    printf("skipped: built without CUDA\n");
    return SKIPPED;
}

#endif
