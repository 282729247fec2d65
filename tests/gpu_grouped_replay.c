/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_grouped_masked in a CUDA graph: captured once, replayed with other valid rows, which only device memory knows.
 */
#include "tests/family_case.h"
#include "tests/gpu_records.h"

#include "bench/registry.h"
#include "kernels/gemm_grouped_contiguous/gemm_grouped.h"

#ifdef RIDGE_WITH_CUDA

#include <cuda_runtime_api.h>

enum { GROUPS = 5, CAPACITY = 300 };

static const int32_t masks[][GROUPS] = {{40, 40, 40, 40, 40},      {0, 300, 1, 0, 129},  {0, 0, 0, 0, 0},
                                        {300, 300, 300, 300, 300}, {16, -3, 301, 0, 64}, {0, 0, 0, 0, 7}};

struct replay {
    struct family_case c;
    struct ridge_call call;
    void *device[RIDGE_MAX_BUFFERS];
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

static void capture(struct replay *r, const struct ridge_variant *variant)
{
    cudaGraph_t graph;
    must(cudaStreamBeginCapture(r->stream, cudaStreamCaptureModeGlobal), "begin of the capture");
    must_call(r, variant->launch(&r->call), "launch");
    must(cudaStreamEndCapture(r->stream, &graph), "end of the capture");
    must(cudaGraphInstantiate(&r->graph, graph, 0), "instantiate");
    must(cudaGraphDestroy(graph), "destroy");
}

/* Rows that are not valid hold numbers in A and NaN in scale_a, whatever the mask before was. */
static void set_mask(struct replay *r, const int32_t *mask)
{
    const int64_t pitch = (CAPACITY + 3) / 4 * 4, blocks = r->c.count[GROUPED_SCALE_A] / (GROUPS * pitch);
    float *scale_a = r->c.buffer[GROUPED_SCALE_A];
    memcpy(r->c.buffer[GROUPED_INDEX], mask, sizeof *masks);
    for (int64_t i = 0; i < r->c.count[GROUPED_SCALE_A]; i++)
        scale_a[i] = i % pitch < mask[i / (pitch * blocks)] && i % pitch < CAPACITY ? 1 + (float)(i % 7) : NAN;
    r->c.family->reference(r->c.dim, r->c.buffer, r->c.ref, r->c.mag);
}

static void replay(struct replay *r, const char *name, const int32_t *mask)
{
    for (int i = 0; i < r->c.family->buffers; i++)
        must(cudaMemcpy(r->device[i], r->c.buffer[i], r->c.bytes[i], cudaMemcpyHostToDevice), "upload");
    must(cudaGraphLaunch(r->graph, r->stream), "replay");
    must(cudaStreamSynchronize(r->stream), "replay");
    must(cudaMemcpy(r->c.buffer[GROUPED_D], r->device[GROUPED_D], r->c.bytes[GROUPED_D], cudaMemcpyDeviceToHost),
         "download");
    const double error = case_max_error(&r->c);
    if (!(error <= 1)) {
        printf("FAIL: %s, valid rows %d %d %d %d %d: %g times the tolerance\n", name, mask[0], mask[1], mask[2],
               mask[3], mask[4], error);
        exit(1);
    }
}

static void try_variant(const struct ridge_entry *entry, const struct ridge_device *device)
{
    const struct ridge_variant *variant = entry->variant;
    const int64_t dim[] = {GROUPS, 40, CAPACITY, 264, 640};
    struct replay r = {0};
    if (variant->unsupported && variant->unsupported(dim, device))
        return;
    case_open(&r.c, entry->problem, dim, 0, NULL);
    for (int i = 0; i < r.c.family->buffers; i++)
        must(cudaMalloc(&r.device[i], r.c.bytes[i]), "memory");
    must(cudaStreamCreate(&r.stream), "stream");
    r.call = (struct ridge_call){.dim = dim,
                                 .buffer = r.device,
                                 .stream = r.stream,
                                 .device = device,
                                 .error = r.error,
                                 .error_bytes = sizeof r.error};
    if (variant->setup)
        must_call(&r, variant->setup(&r.call, &r.call.state), "setup");
    capture(&r, variant);
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
        set_mask(&r, masks[i]);
        replay(&r, entry->label, masks[i]);
    }
    if (variant->teardown)
        variant->teardown(r.call.state);
    cudaGraphExecDestroy(r.graph);
    cudaStreamDestroy(r.stream);
    for (int i = 0; i < r.c.family->buffers; i++)
        cudaFree(r.device[i]);
    case_close(&r.c);
    printf("%s: %zu masks\n", entry->label, sizeof masks / sizeof *masks);
}

int main(void)
{
    struct device_info info;
    struct timer_quality timer;
    struct ridge_error reason;
    int tried = 0;
    if (device_cuda.open(&info, &timer, &reason) != RIDGE_OK) {
        printf("skipped: %s\n", reason.text);
        return SKIPPED;
    }
    for (int i = 0; i < ridge_builtin_entry_count; i++) {
        const struct ridge_entry *entry = &ridge_builtin_entries[i];
        if (strcmp(entry->family, "gemm_grouped_masked") == 0 && entry->variant->kind == RIDGE_CUDA &&
            entry->variant->min_cc <= info.device.cc) {
            try_variant(entry, &info.device);
            tried++;
        }
    }
    device_cuda.close();
    return tried > 0 ? 0 : 1;
}

#else

int main(void)
{
    printf("skipped: built without CUDA\n");
    return SKIPPED;
}

#endif
