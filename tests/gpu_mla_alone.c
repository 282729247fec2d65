/* SPDX-License-Identifier: Apache-2.0 */
/* GPU variants of mla_decode on one request whose length is not s_k: some ask for keys before they know the length.
 * Results are those of a cache that ends there, bit by bit. */
#include "tests/gpu_records.h"

#include "bench/registry.h"
#include "kernels/mla_decode/mla_decode.h"
#include "kernels/support/fill.h"

#ifdef RIDGE_WITH_CUDA

#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

enum { S_K = 20000, H = 128, LENGTHS = 8, TIMES = 3, OUT_BYTES = H * MLA_D_V * 2, LSE_BYTES = H * 4 };

static const int32_t lengths[LENGTHS] = {S_K, S_K - 1, S_K - 64, 9000, 4300, 65, 1, 0};

static void must(int status, const char *what)
{
    if (status == 0)
        return;
    printf("FAIL: %s: %s\n", what, cudaGetErrorString((cudaError_t)status));
    exit(1);
}

/* q, kv, block table, length, out, lse, and the results on the host. */
struct run {
    void *device[RIDGE_MAX_BUFFERS];
    unsigned char result[2][OUT_BYTES + LSE_BYTES];
};

static void upload(void **to, enum ridge_fill fill, int64_t count)
{
    uint16_t *host = malloc((size_t)count * sizeof *host);
    for (int64_t i = 0; i < count; i++)
        fill_element(host, RIDGE_BF16, fill, 1, 0, 7 + (uint64_t)count, i);
    must(cudaMalloc(to, (size_t)count * sizeof *host), "memory");
    must(cudaMemcpy(*to, host, (size_t)count * sizeof *host, cudaMemcpyHostToDevice), "upload");
    free(host);
}

/* Pages lie in order, so that a shorter cache has the same. */
static void run_open(struct run *r)
{
    enum { PAGES = (S_K + 63) / 64 };
    int32_t table[PAGES];
    for (int i = 0; i < PAGES; i++)
        table[i] = i;
    upload(&r->device[MLA_Q], RIDGE_FILL_NORMAL, H * MLA_D_K);
    upload(&r->device[MLA_KV], RIDGE_FILL_NORMAL, (int64_t)PAGES * 64 * MLA_D_K);
    must(cudaMalloc(&r->device[MLA_BLOCK_TABLE], sizeof table), "memory");
    must(cudaMemcpy(r->device[MLA_BLOCK_TABLE], table, sizeof table, cudaMemcpyHostToDevice), "upload");
    must(cudaMalloc(&r->device[MLA_LENGTH], sizeof *lengths), "memory");
    must(cudaMalloc(&r->device[MLA_OUT], OUT_BYTES), "memory");
    must(cudaMalloc(&r->device[MLA_LSE], LSE_BYTES), "memory");
}

static void launch(struct run *r, const struct ridge_entry *entry, const struct ridge_device *device, int64_t s_k,
                   int32_t length, unsigned char *result)
{
    const struct ridge_variant *variant = entry->variant;
    const int64_t dim[] = {1, 1, s_k, H, 64};
    char message[256] = "";
    struct ridge_call call = {
        .dim = dim, .buffer = r->device, .device = device, .error = message, .error_bytes = sizeof message};
    must(cudaMemcpy(r->device[MLA_LENGTH], &length, sizeof length, cudaMemcpyHostToDevice), "upload");
    must(cudaMalloc(&call.workspace, (variant->workspace_bytes ? variant->workspace_bytes(dim, device) : 0) + 1),
         "workspace");
    if (variant->setup && variant->setup(&call, &call.state)) {
        printf("FAIL: %s: %s\n", entry->label, message);
        exit(1);
    }
    for (int i = 0; i < TIMES; i++) {
        must(cudaMemset(r->device[MLA_OUT], 0xff, OUT_BYTES), "poison");
        must(cudaMemset(r->device[MLA_LSE], 0xff, LSE_BYTES), "poison");
        if (variant->launch(&call)) {
            printf("FAIL: %s: %s\n", entry->label, message);
            exit(1);
        }
        must(cudaDeviceSynchronize(), entry->label);
    }
    must(cudaMemcpy(result, r->device[MLA_OUT], OUT_BYTES, cudaMemcpyDeviceToHost), "download");
    must(cudaMemcpy(result + OUT_BYTES, r->device[MLA_LSE], LSE_BYTES, cudaMemcpyDeviceToHost), "download");
    if (variant->teardown)
        variant->teardown(call.state);
    cudaFree(call.workspace);
}

static void try_variant(struct run *r, const struct ridge_entry *entry, const struct ridge_device *device)
{
    for (int i = 0; i < LENGTHS; i++) {
        launch(r, entry, device, S_K, lengths[i], r->result[0]);
        launch(r, entry, device, lengths[i] > 0 ? lengths[i] : 1, lengths[i], r->result[1]);
        if (memcmp(r->result[0], r->result[1], sizeof *r->result) == 0)
            continue;
        printf("FAIL: %s: %d of %d keys are not as a cache of %d\n", entry->label, lengths[i], S_K, lengths[i]);
        exit(1);
    }
    printf("%s: one request of other lengths than s_k\n", entry->label);
}

int main(void)
{
    static struct run r;
    struct device_info info;
    struct timer_quality timer;
    struct ridge_error reason;
    int tried = 0;
    if (device_cuda.open(&info, &timer, &reason) != RIDGE_OK) {
        printf("skipped: %s\n", reason.text);
        return SKIPPED;
    }
    run_open(&r);
    for (int i = 0; i < ridge_builtin_entry_count; i++) {
        const struct ridge_entry *entry = &ridge_builtin_entries[i];
        const int64_t dim[] = {1, 1, S_K, H, 64};
        if (strcmp(entry->family, "mla_decode") != 0 || entry->variant->kind != RIDGE_CUDA ||
            entry->variant->min_cc < 90 || entry->variant->min_cc > info.device.cc ||
            (entry->variant->unsupported && entry->variant->unsupported(dim, &info.device)))
            continue;
        try_variant(&r, entry, &info.device);
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
