/* SPDX-License-Identifier: Apache-2.0 */
/* Groups along k that change between launches: setup refuses a bad group, a launch adds to the groups before it only.
 */
#include "tests/gpu_records.h"

#ifdef RIDGE_WITH_CUDA
#include <cuda_runtime_api.h>

#include "kernels/gemm_grouped_k/gemm_grouped_k.h"
#include "tests/family_case.h"

extern const struct ridge_family ridge_family_gemm_grouped_k;
extern const struct ridge_variant ridge_variant_gemm_grouped_k_01_naive, ridge_variant_gemm_grouped_k_02_maps_on_device,
    ridge_variant_gemm_grouped_k_03_multicast;

enum { GROUPS = 3 };
static const int64_t dim[] = {GROUPS, 72, 136, 512};
static int failures;

static void expect(bool condition, const char *variant, const char *what)
{
    if (condition)
        return;
    printf("FAIL: %s: %s\n", variant, what);
    failures++;
}

static void must(cudaError_t status)
{
    if (status == cudaSuccess)
        return;
    printf("FAIL: %s\n", cudaGetErrorString(status));
    exit(1);
}

/* Operands and scales as filled, these groups and D from the start again. */
static void upload(const struct family_case *c, void *const *device, const int32_t *ks)
{
    for (int i = 0; i < c->family->buffers; i++)
        must(cudaMemcpy(device[i], i == GROUPED_K_KS ? ks : c->buffer[i], c->bytes[i], cudaMemcpyHostToDevice));
}

/* D after a launch with these groups is the reference's for `reference_ks`. */
static bool launches_as(struct family_case *c, const struct ridge_variant *variant, const struct ridge_call *call,
                        const int32_t *ks, const int32_t *reference_ks)
{
    upload(c, call->buffer, ks);
    memcpy(c->buffer[GROUPED_K_KS], reference_ks, GROUPS * sizeof *ks);
    c->family->reference(dim, c->buffer, c->ref, c->mag);
    if (variant->launch(call))
        return false;
    must(cudaDeviceSynchronize());
    must(cudaMemcpy(c->buffer[GROUPED_K_D], call->buffer[GROUPED_K_D], c->bytes[GROUPED_K_D], cudaMemcpyDeviceToHost));
    const double error = case_max_error(c);
    memcpy(c->buffer[GROUPED_K_D], c->original[GROUPED_K_D], c->bytes[GROUPED_K_D]);
    return error <= 1;
}

static void check(const struct ridge_variant *variant, const char *name, struct ridge_call *call, struct family_case *c)
{
    static const int32_t good[] = {128, 128, 256}, other[] = {256, 0, 256}, ragged[] = {128, 100, 256},
                         negative[] = {128, -128, 256}, long_one[] = {128, 512, 128}, first_only[] = {128, 0, 0};
    if (variant->workspace_bytes)
        must(cudaMalloc(&call->workspace, variant->workspace_bytes(dim, call->device)));
    upload(c, call->buffer, ragged);
    expect(variant->setup(call, &call->state) != 0 && strstr(call->error, "ks[1] = 100: "), name,
           "takes a ragged group");
    upload(c, call->buffer, good);
    expect(variant->setup(call, &call->state) == 0, name, call->error);
    expect(launches_as(c, variant, call, good, good), name, "wrong sums");
    expect(launches_as(c, variant, call, other, other), name, "wrong sums with groups other than at setup");
    expect(launches_as(c, variant, call, ragged, first_only), name, "adds to or behind a ragged group");
    expect(launches_as(c, variant, call, negative, first_only), name, "adds to or behind a negative group");
    expect(launches_as(c, variant, call, long_one, first_only), name, "adds to or behind a group that is too long");
    if (variant->teardown)
        variant->teardown(call->state);
    cudaFree(call->workspace);
    call->workspace = call->state = NULL;
}

int main(void)
{
    gpu_required();
    struct cudaDeviceProp properties;
    must(cudaGetDeviceProperties(&properties, 0));
    const struct ridge_device device = {.kind = RIDGE_CUDA,
                                        .sms = properties.multiProcessorCount,
                                        .cc = 10 * properties.major + properties.minor,
                                        .l2_bytes = properties.l2CacheSize,
                                        .smem_optin_bytes = (int64_t)properties.sharedMemPerBlockOptin,
                                        .memory_bytes = (int64_t)properties.totalGlobalMem};
    if (device.cc != 90) {
        printf("not a Hopper GPU\n");
        return 77;
    }
    void *buffer[RIDGE_MAX_BUFFERS] = {0};
    char error[256] = "";
    struct ridge_call call = {
        .dim = dim, .buffer = buffer, .device = &device, .error = error, .error_bytes = sizeof error};
    struct family_case c;
    case_open(&c, &ridge_family_gemm_grouped_k, dim, 0, NULL);
    for (int i = 0; i < c.family->buffers; i++)
        must(cudaMalloc(&buffer[i], c.bytes[i]));
    check(&ridge_variant_gemm_grouped_k_01_naive, "01_naive", &call, &c);
    check(&ridge_variant_gemm_grouped_k_02_maps_on_device, "02_maps_on_device", &call, &c);
    check(&ridge_variant_gemm_grouped_k_03_multicast, "03_multicast", &call, &c);
    for (int i = 0; i < c.family->buffers; i++)
        cudaFree(buffer[i]);
    case_close(&c);
    return failures ? 1 : 0;
}
#else
int main(void)
{
    printf("built without CUDA\n");
    return 77;
}
#endif
