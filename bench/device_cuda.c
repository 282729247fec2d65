/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/device.h"

#ifndef RIDGE_WITH_CUDA

#include "base/version.h"

static int open_absent(struct device_info *info, struct timer_quality *timer, struct ridge_error *err)
{
    (void)info, (void)timer;
    return ridge_fail(err, RIDGE_ENVIRONMENT, "this build has no CUDA variants: %s", ridge_build_note);
}

const struct device_ops device_cuda = {.kind = "cuda", .open = open_absent};

#else

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/device_cuda.h"
#include "bench/driver_probe.h"
#include "profiles/telemetry.h"

struct cuda_state cuda_state;

/* Boards are told apart by processors, memory and name together: nvidia-smi calls some 141 GB boards "H800". */
static const char *profile_of(const struct cudaDeviceProp *prop)
{
    static const struct {
        const char *name;
        int cc, sms;
        double min_gb, max_gb;
        const char *profile;
    } known[] = {
        {"H200", 90, 132, 130, 160, "h200-sxm"}, {"H800", 90, 132, 70, 90, "h800-sxm"},
        {"H100", 90, 132, 70, 90, "h100-sxm"},   {"H800", 90, 114, 70, 90, "h800-pcie"},
        {"H100", 90, 114, 70, 90, "h100-pcie"},  {"H20", 90, 78, 90, 110, "h20"},
        {"A100", 80, 108, 70, 90, "a100-sxm"},
    };
    double gb = (double)prop->totalGlobalMem / 1e9;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strstr(prop->name, known[i].name) && known[i].cc == prop->major * 10 + prop->minor &&
            known[i].sms == prop->multiProcessorCount && gb > known[i].min_gb && gb < known[i].max_gb)
            return known[i].profile;
    return "";
}

static int call_driver_version(int *version)
{
    return cudaDriverGetVersion(version);
}
static int call_runtime_version(int *version)
{
    return cudaRuntimeGetVersion(version);
}
static int call_device_count(int *count)
{
    return cudaGetDeviceCount(count);
}
static const char *call_error_string(int error)
{
    return cudaGetErrorString((cudaError_t)error);
}

static int describe_device(struct device_info *info, struct ridge_error *err)
{
    struct cudaDeviceProp prop;
    CUDA_TRY(cudaGetDeviceProperties(&prop, 0), err);
    info->device = (struct ridge_device){
        .kind = RIDGE_CUDA,
        .sms = prop.multiProcessorCount,
        .cc = prop.major * 10 + prop.minor,
        .l2_bytes = prop.l2CacheSize,
        .smem_optin_bytes = (int64_t)prop.sharedMemPerBlockOptin,
        .memory_bytes = (int64_t)prop.totalGlobalMem,
    };
    snprintf(info->name, sizeof info->name, "%s", prop.name);
    snprintf(info->profile, sizeof info->profile, "%s", profile_of(&prop));
    const unsigned char *id = (const unsigned char *)prop.uuid.bytes;
    char *out = info->uuid + sprintf(info->uuid, "GPU-");
    for (int i = 0; i < 16; i++)
        out += sprintf(out, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", id[i]);
    int runtime = 0, khz = 0;
    cudaRuntimeGetVersion(&runtime);
    snprintf(info->cuda, sizeof info->cuda, "%d.%d", runtime / 1000, runtime % 1000 / 10);
    CUDA_TRY(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, 0), err);
    info->max_sm_hz = khz * 1e3;

    info->power_limit_w = NAN;
    struct telemetry telemetry;
    if (telemetry_open(info->uuid, NULL) == RIDGE_OK && telemetry_read(&telemetry)) {
        info->power_limit_w = telemetry.power_limit_w;
        snprintf(info->driver, sizeof info->driver, "%s", telemetry_driver());
    } else {
        int version = 0;
        cudaDriverGetVersion(&version);
        snprintf(info->driver, sizeof info->driver, "cuda-%d.%d", version / 1000, version % 1000 / 10);
    }
    cuda_state.l2_bytes = prop.l2CacheSize;
    return RIDGE_OK;
}

static int cuda_open(struct device_info *info, struct timer_quality *timer, struct ridge_error *err)
{
    const struct driver_calls calls = {call_driver_version, call_runtime_version, call_device_count, call_error_string};
    int status = driver_probe(&calls, err);
    if (status)
        return status;
    CUDA_TRY(cudaSetDevice(0), err);
    status = describe_device(info, err);
    if (status)
        return status;

    struct cuda_state *s = &cuda_state;
    s->flush_bytes = (size_t)s->l2_bytes * 4;
    void *mapped = NULL;
    CUDA_TRY(cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking), err);
    CUDA_TRY(cudaEventCreate(&s->start), err);
    CUDA_TRY(cudaEventCreate(&s->stop), err);
    CUDA_TRY(cudaMalloc(&s->flush, s->flush_bytes), err);
    CUDA_TRY(cudaMalloc((void **)&s->sink, 256), err);
    CUDA_TRY(cudaHostAlloc(&mapped, 4096, cudaHostAllocMapped), err);
    memset(mapped, 0, 4096);
    s->release = mapped;
    s->stamp = (struct support_stamp *)((char *)mapped + 256);
    return cuda_timer_quality(timer, err);
}

static void cuda_close(void)
{
    struct cuda_state *s = &cuda_state;
    telemetry_close();
    cudaFree(s->flush);
    cudaFree(s->sink);
    if (s->release)
        cudaFreeHost((void *)(uintptr_t)s->release);
    if (s->start)
        cudaEventDestroy(s->start);
    if (s->stop)
        cudaEventDestroy(s->stop);
    if (s->stream)
        cudaStreamDestroy(s->stream);
    memset(s, 0, sizeof *s);
}

static int cuda_memory_free(double *bytes, struct ridge_error *err)
{
    size_t available, total;
    CUDA_TRY(cudaMemGetInfo(&available, &total), err);
    *bytes = (double)available;
    return RIDGE_OK;
}

static int cuda_alloc(void **ptr, size_t bytes, struct ridge_error *err)
{
    CUDA_TRY(cudaMalloc(ptr, bytes ? bytes : 1), err);
    return RIDGE_OK;
}

static void cuda_free(void *ptr)
{
    cudaFree(ptr);
}

static int transfer(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind, struct ridge_error *err)
{
    CUDA_TRY(cudaMemcpyAsync(dst, src, bytes, kind, cuda_state.stream), err);
    CUDA_TRY(cudaStreamSynchronize(cuda_state.stream), err);
    return RIDGE_OK;
}

static int cuda_upload(void *dst, const void *src, size_t bytes, struct ridge_error *err)
{
    return transfer(dst, src, bytes, cudaMemcpyHostToDevice, err);
}

static int cuda_download(void *dst, const void *src, size_t bytes, struct ridge_error *err)
{
    return transfer(dst, src, bytes, cudaMemcpyDeviceToHost, err);
}

static int cuda_copy(void *dst, const void *src, size_t bytes, struct ridge_error *err)
{
    return transfer(dst, src, bytes, cudaMemcpyDeviceToDevice, err);
}

static int cuda_set(void *dst, int byte, size_t bytes, struct ridge_error *err)
{
    CUDA_TRY(cudaMemsetAsync(dst, byte, bytes, cuda_state.stream), err);
    return RIDGE_OK;
}

static int cuda_sync(struct ridge_error *err)
{
    CUDA_TRY(cudaStreamSynchronize(cuda_state.stream), err);
    CUDA_TRY(cudaGetLastError(), err);
    return RIDGE_OK;
}

static int cuda_fill(void *dst, const struct ridge_buffer *spec, int64_t count, enum fill_mode mode, uint64_t seed,
                     struct ridge_error *err)
{
    int data = mode == FILL_ZEROS ? 1 : mode == FILL_ONES ? 2 : mode == FILL_OUTLIERS ? 3 : 0;
    CUDA_TRY(support_fill(dst, spec->dtype, spec->fill, spec->scale, data, count, seed, cuda_state.stream), err);
    return RIDGE_OK;
}

/* Runs one of the reductions into a zeroed 64-bit device word and fetches it. */
static int reduce(int (*enqueue)(const void *, int, size_t, unsigned long long *), const void *src, int byte,
                  size_t bytes, uint64_t *result, struct ridge_error *err)
{
    unsigned long long *word = (unsigned long long *)cuda_state.sink;
    CUDA_TRY(cudaMemsetAsync(word, 0, sizeof *word, cuda_state.stream), err);
    CUDA_TRY(enqueue(src, byte, bytes, word), err);
    return cuda_download(result, word, sizeof *word, err);
}

static int enqueue_count_not(const void *src, int byte, size_t bytes, unsigned long long *word)
{
    return support_count_not(src, byte, bytes, word, cuda_state.stream);
}

static int enqueue_checksum(const void *src, int byte, size_t bytes, unsigned long long *word)
{
    (void)byte;
    return support_checksum(src, bytes, word, cuda_state.stream);
}

static int cuda_count_not(const void *src, int byte, size_t bytes, uint64_t *differing, struct ridge_error *err)
{
    return reduce(enqueue_count_not, src, byte, bytes, differing, err);
}

static int cuda_checksum(const void *src, size_t bytes, uint64_t *sum, struct ridge_error *err)
{
    return reduce(enqueue_checksum, src, 0, bytes, sum, err);
}

static int compare_rms(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static void summarise(const struct support_tile *tile, int64_t tiles, float *rms, struct compare_result *result)
{
    *result = (struct compare_result){.at = -1, .tiles = tiles};
    for (int64_t i = 0; i < tiles; i++) {
        rms[i] = sqrtf(tile[i].sum_squares / (float)(tile[i].elements ? tile[i].elements : 1));
        if (tile[i].max > result->max_error || result->at < 0) {
            result->max_error = tile[i].max;
            result->at = tile[i].at;
        }
        result->max_abs = fmax(result->max_abs, tile[i].max_abs);
        result->error_squares += tile[i].error_squares;
        result->ref_squares += tile[i].ref_squares;
    }
    qsort(rms, (size_t)tiles, sizeof *rms, compare_rms);
    result->worst_tile_rms = rms[tiles - 1];
    result->median_tile_rms = rms[tiles / 2];
}

static int cuda_compare(const void *out, enum ridge_dtype dtype, const float *ref, const float *mag, int64_t count,
                        int64_t columns, const struct ridge_tolerance *tolerance, struct compare_result *result,
                        struct ridge_error *err)
{
    int64_t tiles = support_tiles(count, columns);
    size_t bytes = (size_t)tiles * sizeof(struct support_tile);
    struct support_tile *host = malloc(bytes);
    float *rms = malloc((size_t)tiles * sizeof *rms);
    void *device = NULL;
    int status = host && rms ? cuda_alloc(&device, bytes, err) : ridge_fail(err, RIDGE_ENVIRONMENT, "out of memory");
    if (status)
        goto out;
    int launched = support_compare(out, dtype, ref, mag, count, columns, tolerance->rel, tolerance->mag_rel, device,
                                   cuda_state.stream);
    status = launched ? ridge_fail(err, RIDGE_ENVIRONMENT, "compare: %s", cudaGetErrorString((cudaError_t)launched))
                      : cuda_download(host, device, bytes, err);
    if (status == RIDGE_OK)
        summarise(host, tiles, rms, result);
out:
    cudaFree(device);
    free(host);
    free(rms);
    return status;
}

static int cuda_attributes(const struct ridge_variant *variant, int *registers, int *spill_bytes, int *smem_bytes)
{
    struct cudaFuncAttributes attributes = {0};
    if (variant->kernel && cudaFuncGetAttributes(&attributes, variant->kernel) != cudaSuccess)
        cudaGetLastError();
    *registers = attributes.numRegs;
    *spill_bytes = (int)attributes.localSizeBytes;
    *smem_bytes = (int)attributes.sharedSizeBytes + (attributes.maxDynamicSharedSizeBytes > 48 * 1024
                                                         ? attributes.maxDynamicSharedSizeBytes
                                                         : 0);
    return RIDGE_OK;
}

static void *cuda_stream(void)
{
    return cuda_state.stream;
}

const struct device_ops device_cuda = {
    .kind = "cuda",
    .open = cuda_open,
    .close = cuda_close,
    .stream = cuda_stream,
    .memory_free = cuda_memory_free,
    .alloc = cuda_alloc,
    .free = cuda_free,
    .upload = cuda_upload,
    .download = cuda_download,
    .copy = cuda_copy,
    .set = cuda_set,
    .sync = cuda_sync,
    .fill = cuda_fill,
    .count_not = cuda_count_not,
    .checksum = cuda_checksum,
    .compare = cuda_compare,
    .begin = cuda_begin,
    .draw = cuda_draw,
    .end = cuda_end,
    .prepare = cuda_prepare,
    .launch = cuda_launch,
    .attributes = cuda_attributes,
};

#endif
