/* SPDX-License-Identifier: Apache-2.0 */
/* GPU variants of mla_decode on lengths that the table does not cover and on pages that the cache does not have: a
 * length outside [0, s_k] counts as the nearest end, and a bad page reads as zeros, so both give the result of the data
 * that this says, bit by bit. A query of NaN has results of NaN, however its request is cut, and no other has. The
 * cache off 16 bytes is refused. */
#include "tests/family_case.h"
#include "tests/gpu_records.h"

#include "bench/registry.h"
#include "kernels/mla_decode/mla_decode.h"

#include <math.h>

#ifdef RIDGE_WITH_CUDA

#include <cuda_runtime_api.h>

enum { REQUESTS = 6, S_K = 300 };

static const int32_t outside[REQUESTS] = {-1, S_K + 1, INT32_MIN, 77, INT32_MAX, 0};
static const int32_t nearest[REQUESTS] = {0, S_K, 0, 77, S_K, 0};

struct run {
    struct family_case c;
    struct ridge_call call;
    void *device[RIDGE_MAX_BUFFERS];
    char error[256];
};

static void must(int status, const char *what)
{
    if (status == 0)
        return;
    printf("FAIL: %s: %s\n", what, cudaGetErrorString((cudaError_t)status));
    exit(1);
}

static void must_call(const struct run *r, const char *label, int status)
{
    if (status == 0)
        return;
    printf("FAIL: %s: %s\n", label, r->error);
    exit(1);
}

/* Copies the case to the device, launches, and leaves the results in out and lse. */
static void launch(struct run *r, const struct ridge_entry *entry, void *out, void *lse)
{
    const struct ridge_variant *variant = entry->variant;
    for (int i = 0; i < r->c.family->buffers; i++)
        must(cudaMemcpy(r->device[i], r->c.buffer[i], r->c.bytes[i], cudaMemcpyHostToDevice), "upload");
    r->call.state = NULL;
    if (variant->setup)
        must_call(r, entry->label, variant->setup(&r->call, &r->call.state));
    must_call(r, entry->label, variant->launch(&r->call));
    must(cudaDeviceSynchronize(), entry->label);
    must(cudaMemcpy(out, r->device[MLA_OUT], r->c.bytes[MLA_OUT], cudaMemcpyDeviceToHost), "download");
    must(cudaMemcpy(lse, r->device[MLA_LSE], r->c.bytes[MLA_LSE], cudaMemcpyDeviceToHost), "download");
    if (variant->teardown)
        variant->teardown(r->call.state);
}

/* The two inputs that should be one: `good` is called on the second. */
static void must_agree(struct run *r, const struct ridge_entry *entry, const char *what, void (*bad)(struct run *),
                       void (*good)(struct run *))
{
    const size_t out_bytes = r->c.bytes[MLA_OUT], lse_bytes = r->c.bytes[MLA_LSE];
    char *result[2];
    for (int i = 0; i < 2; i++) {
        result[i] = malloc(out_bytes + lse_bytes);
        (i ? good : bad)(r);
        launch(r, entry, result[i], result[i] + out_bytes);
    }
    if (memcmp(result[0], result[1], out_bytes + lse_bytes) != 0) {
        printf("FAIL: %s: %s\n", entry->label, what);
        exit(1);
    }
    free(result[0]);
    free(result[1]);
}

static void lengths_outside(struct run *r)
{
    memcpy(r->c.buffer[MLA_LENGTH], outside, sizeof outside);
}

static void lengths_nearest(struct run *r)
{
    memcpy(r->c.buffer[MLA_LENGTH], nearest, sizeof nearest);
}

/* Page 1 of request 3 is not there. */
static void page_outside(struct run *r)
{
    int32_t *table = r->c.buffer[MLA_BLOCK_TABLE];
    lengths_nearest(r);
    table[3 * mla_table_columns(r->c.dim) + 1] = (int32_t)mla_pages(r->c.dim) + 7;
}

static void page_below(struct run *r)
{
    int32_t *table = r->c.buffer[MLA_BLOCK_TABLE];
    table[3 * mla_table_columns(r->c.dim) + 1] = INT32_MIN;
}

/* Row `row` of request 1 is NaN, in out and in lse, and nothing else is. */
static void nan_stays_in_its_row(struct run *r, const struct ridge_entry *entry, int64_t row)
{
    const int64_t rows = mla_rows(r->c.dim);
    uint16_t *q = (uint16_t *)r->c.buffer[MLA_Q] + (rows + row) * MLA_D_K, before[MLA_D_K];
    uint16_t *out = malloc(r->c.bytes[MLA_OUT]);
    float *lse = malloc(r->c.bytes[MLA_LSE]);
    memcpy(before, q, sizeof before);
    memset(q, 0xff, sizeof before);
    lengths_nearest(r);
    launch(r, entry, out, lse);
    memcpy(q, before, sizeof before);
    for (int64_t at = 0; at < REQUESTS * rows; at++) {
        const int64_t request = at / rows;
        const bool expected = at == rows + row;
        bool right = (isnan(lse[mla_lse_offset(r->c.dim, request, at % rows)]) != 0) == expected;
        for (int column = 0; column < MLA_D_V; column++)
            right = right && (isnan(bf16_to_f32(out[at * MLA_D_V + column])) != 0) == expected;
        if (right)
            continue;
        printf("FAIL: %s: row %lld of request 1 is NaN, row %lld of request %lld is %s\n", entry->label, (long long)row,
               (long long)(at % rows), (long long)request, expected ? "not" : "too");
        exit(1);
    }
    free(out);
    free(lse);
}

static void refuse_misaligned(struct run *r, const struct ridge_entry *entry)
{
    void *whole = r->device[MLA_KV], *state = NULL;
    r->device[MLA_KV] = (char *)whole + 8;
    const int status = entry->variant->setup(&r->call, &state);
    r->device[MLA_KV] = whole;
    if (status && !state && strstr(r->error, "kv: address") && strstr(r->error, "multiple of 16"))
        return;
    printf("FAIL: %s with a cache off 16 bytes: setup returns %d, \"%s\"\n", entry->label, status, r->error);
    exit(1);
}

static void try_variant(const struct ridge_entry *entry, const struct ridge_device *device)
{
    const int64_t dim[] = {REQUESTS, 2, S_K, 16, 64};
    struct run r = {0};
    if (entry->variant->unsupported && entry->variant->unsupported(dim, device))
        return;
    case_open(&r.c, entry->problem, dim, 0, NULL);
    for (int i = 0; i < r.c.family->buffers; i++)
        must(cudaMalloc(&r.device[i], r.c.bytes[i] + 16), "memory");
    r.call = (struct ridge_call){
        .dim = dim, .buffer = r.device, .device = device, .error = r.error, .error_bytes = sizeof r.error};
    const size_t bytes = entry->variant->workspace_bytes ? entry->variant->workspace_bytes(dim, device) : 0;
    must(cudaMalloc(&r.call.workspace, bytes + 1), "workspace");
    must_agree(&r, entry, "lengths outside the table are not those of its nearest end", lengths_outside,
               lengths_nearest);
    must_agree(&r, entry, "pages beyond and below the cache differ", page_outside, page_below);
    nan_stays_in_its_row(&r, entry, mla_rows(dim) - 3);
    if (entry->variant->min_cc >= 90 && entry->variant->setup)
        refuse_misaligned(&r, entry);
    cudaFree(r.call.workspace);
    for (int i = 0; i < r.c.family->buffers; i++)
        cudaFree(r.device[i]);
    case_close(&r.c);
    printf("%s: lengths and pages outside\n", entry->label);
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
        if (strcmp(entry->family, "mla_decode") != 0 || entry->variant->kind != RIDGE_CUDA ||
            entry->variant->min_cc > info.device.cc)
            continue;
        try_variant(entry, &info.device);
        tried++;
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
