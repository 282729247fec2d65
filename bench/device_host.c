/* SPDX-License-Identifier: Apache-2.0 */
/* The host as a device: launches run on the calling thread (and OpenMP's), time is the monotonic clock. */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/time.h"
#include "bench/device.h"
#include "kernels/support/fill.h"

enum { TILE_SIDE = 128 };
static const int64_t DEFAULT_CACHE_BYTES = 32 << 20, MAX_FLUSH_BYTES = 256 << 20;

static const struct device_task *current;
static unsigned char *flush;
static size_t flush_bytes;
static volatile unsigned sink;

void host_processor(char *name, size_t bytes)
{
    char line[512];
    FILE *file = fopen("/proc/cpuinfo", "r");
    snprintf(name, bytes, "unknown processor");
    while (file && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (colon && strncmp(line, "model name", 10) == 0) {
            line[strcspn(line, "\n")] = 0;
            snprintf(name, bytes, "%s", colon + 2);
            break;
        }
    }
    if (file)
        fclose(file);
}

static int64_t last_cache_bytes(void)
{
    long l3 = sysconf(_SC_LEVEL3_CACHE_SIZE), l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return l3 > 0 ? l3 : l2 > 0 ? l2 : DEFAULT_CACHE_BYTES;
}

/* The host clock stands in for events: its quantum, and what two readings around nothing cost. */
static void timer_quality(struct timer_quality *timer)
{
    *timer = (struct timer_quality){NAN, NAN, NAN, 1.0};
    for (int i = 0; i < 1000; i++) {
        double first = time_now_ns(), second = time_now_ns();
        if (second > first)
            timer->event_quantum_ns = fmin(timer->event_quantum_ns, second - first);
    }
    timer->event_floor_ns = timer->event_quantum_ns;
}

static int host_open(struct device_info *info, struct timer_quality *timer, struct ridge_error *err)
{
    struct utsname system;
    struct sysinfo memory;
    if (uname(&system) || sysinfo(&memory))
        return ridge_fail(err, RIDGE_ENVIRONMENT, "the system does not say what it is (uname, sysinfo)");
    *info = (struct device_info){.profile = "host", .power_limit_w = NAN, .max_sm_hz = NAN};
    host_processor(info->name, sizeof info->name);
    snprintf(info->driver, sizeof info->driver, "%.31s", system.release);
    info->device = (struct ridge_device){
        .kind = RIDGE_HOST,
        .sms = omp_get_max_threads(),
        .l2_bytes = last_cache_bytes(),
        .memory_bytes = (int64_t)(memory.totalram * (uint64_t)memory.mem_unit),
    };
    info->flush_bytes = 2 * info->device.l2_bytes < MAX_FLUSH_BYTES ? 2 * info->device.l2_bytes : MAX_FLUSH_BYTES;
    flush_bytes = (size_t)info->flush_bytes;
    timer_quality(timer);
    return RIDGE_OK;
}

static void host_close(void)
{
    free(flush);
    flush = NULL;
}

static void *host_stream(void)
{
    return NULL;
}

static int host_memory_free(double *bytes, struct ridge_error *err)
{
    long long kilobytes = -1;
    char line[256];
    FILE *file = fopen("/proc/meminfo", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %lld", &kilobytes) == 1)
            break;
    if (file)
        fclose(file);
    if (kilobytes < 0)
        return ridge_fail(err, RIDGE_ENVIRONMENT, "/proc/meminfo does not say MemAvailable");
    *bytes = (double)kilobytes * 1024;
    return RIDGE_OK;
}

static int host_alloc(void **ptr, size_t bytes, struct ridge_error *err)
{
    *ptr = aligned_alloc(256, (bytes + 255) & ~(size_t)255);
    return *ptr || bytes == 0 ? RIDGE_OK : ridge_fail(err, RIDGE_ENVIRONMENT, "out of memory: %zu bytes", bytes);
}

static int host_copy(void *dst, const void *src, size_t bytes, struct ridge_error *err)
{
    (void)err;
    memcpy(dst, src, bytes);
    return RIDGE_OK;
}

static int host_set(void *dst, int byte, size_t bytes, struct ridge_error *err)
{
    (void)err;
    memset(dst, byte, bytes);
    return RIDGE_OK;
}

static int host_sync(struct ridge_error *err)
{
    (void)err;
    return RIDGE_OK;
}

static int host_fill(void *dst, const struct ridge_buffer *spec, int64_t count, enum fill_mode mode, uint64_t seed,
                     struct ridge_error *err)
{
    (void)err;
    int data = mode == FILL_ZEROS ? 1 : mode == FILL_ONES ? 2 : mode == FILL_OUTLIERS ? 3 : 0;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < count; i++)
        fill_element(dst, spec->dtype, spec->fill, (float)spec->scale, data, seed, i);
    return RIDGE_OK;
}

static int host_count_not(const void *src, int byte, size_t bytes, uint64_t *differing, struct ridge_error *err)
{
    (void)err;
    *differing = 0;
    for (size_t i = 0; i < bytes; i++)
        *differing += ((const unsigned char *)src)[i] != byte;
    return RIDGE_OK;
}

static int host_checksum(const void *src, size_t bytes, uint64_t *sum, struct ridge_error *err)
{
    (void)err;
    uint64_t total = 0, last = 0;
    size_t words = bytes / sizeof total;
#pragma omp parallel for reduction(+ : total) schedule(static)
    for (size_t i = 0; i < words; i++) {
        uint64_t word; /* buffers may lie unaligned */
        memcpy(&word, (const char *)src + i * sizeof word, sizeof word);
        total += fill_hash(word, i);
    }
    memcpy(&last, (const char *)src + words * sizeof last, bytes - words * sizeof last);
    *sum = total + fill_hash(last, words);
    return RIDGE_OK;
}

static double load_double(const void *out, enum ridge_dtype dtype, int64_t i)
{
    switch (dtype) {
    case RIDGE_F64:
        return ((const double *)out)[i];
    case RIDGE_F16:
        return f16_to_f32(((const uint16_t *)out)[i]);
    case RIDGE_BF16:
        return bf16_to_f32(((const uint16_t *)out)[i]);
    case RIDGE_E4M3:
        return e4m3_to_f32(((const uint8_t *)out)[i]);
    case RIDGE_U8:
        return ((const uint8_t *)out)[i];
    default:
        return ((const float *)out)[i];
    }
}

/* Error in units of the tolerance: +inf for NaN, for a difference in an integer or where nothing is allowed. */
static double error_at(const void *out, enum ridge_dtype dtype, const float *ref, const float *mag, int64_t i,
                       const struct ridge_tolerance *tolerance, double *absolute)
{
    *absolute = INFINITY;
    if (dtype == RIDGE_I32 || dtype == RIDGE_U32) {
        if (((const uint32_t *)out)[i] != f32_bits(ref[i]))
            return INFINITY;
        *absolute = 0;
        return 0;
    }
    double value = load_double(out, dtype, i), expected = ref[i];
    if (value == expected) {
        *absolute = 0;
        return 0;
    }
    double error = fabs(value - expected) / (tolerance->rel * fabs(expected) + tolerance->mag_rel * mag[i]);
    if (!(error < INFINITY))
        return INFINITY;
    *absolute = fabs(value - expected);
    return error;
}

static int compare_double(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int host_compare(const void *out, enum ridge_dtype dtype, const float *ref, const float *mag, int64_t count,
                        int64_t columns, const struct ridge_tolerance *tolerance, struct compare_result *result,
                        struct ridge_error *err)
{
    int64_t width = columns ? columns : TILE_SIDE, across = (width + TILE_SIDE - 1) / TILE_SIDE;
    int64_t rows = (count + width - 1) / width, tiles = (rows + TILE_SIDE - 1) / TILE_SIDE * across;
    double *squares = calloc((size_t)tiles, 2 * sizeof *squares);
    if (!squares)
        return ridge_fail(err, RIDGE_ENVIRONMENT, "out of memory for %lld tiles", (long long)tiles);
    double *elements = squares + tiles;
    *result = (struct compare_result){.at = -1, .tiles = tiles};
    for (int64_t i = 0; i < count; i++) {
        int64_t tile = i / width / TILE_SIDE * across + i % width / TILE_SIDE;
        double absolute, error = error_at(out, dtype, ref, mag, i, tolerance, &absolute);
        squares[tile] += error * error;
        elements[tile]++;
        result->max_abs = fmax(result->max_abs, absolute);
        result->error_squares += absolute * absolute;
        if (dtype != RIDGE_I32 && dtype != RIDGE_U32 && isfinite(ref[i]))
            result->ref_squares += (double)ref[i] * ref[i];
        if (error > result->max_error || result->at < 0) {
            result->max_error = error;
            result->at = i;
        }
    }
    for (int64_t i = 0; i < tiles; i++)
        squares[i] = sqrt(squares[i] / fmax(elements[i], 1));
    qsort(squares, (size_t)tiles, sizeof *squares, compare_double);
    result->worst_tile_rms = squares[tiles - 1];
    result->median_tile_rms = squares[tiles / 2];
    free(squares);
    return RIDGE_OK;
}

static int host_launch(const struct device_task *task, struct ridge_error *err)
{
    if (task->entry->variant->launch(task->call))
        return ridge_fail(err, RIDGE_REGRESSION, "launch failed: %s", task->call->error);
    return RIDGE_OK;
}

static void touch(const unsigned char *bytes, size_t count)
{
    unsigned total = 0;
    for (size_t i = 0; i < count; i += 64)
        total += bytes[i];
    sink = sink + total;
}

/* Only cold runs need the buffer, whose pages take a quarter of a second. */
static int open_flush(const struct device_task *task, struct ridge_error *err)
{
    if (flush || task->modes->cache == CACHE_HOT)
        return RIDGE_OK;
    flush = malloc(flush_bytes);
    if (!flush)
        return ridge_fail(err, RIDGE_ENVIRONMENT, "no memory for a flush buffer of %zu bytes", flush_bytes);
    memset(flush, 1, flush_bytes);
    return RIDGE_OK;
}

static int host_prepare(const struct device_task *task, struct ridge_error *err)
{
    int status = open_flush(task, err);
    if (status || task->modes->cache == CACHE_HOT)
        return status;
    if (task->modes->cold_method == COLD_DIRTY)
        memset(flush, (int)(sink & 255), flush_bytes);
    else
        touch(flush, flush_bytes);
    for (int i = 0; i < task->entry->problem->buffers; i++)
        if (task->modes->hot_mask >> i & 1)
            touch(task->call->buffer[i], task->buffer_bytes[i]);
    return RIDGE_OK;
}

static int host_begin(const struct device_task *task, struct ridge_error *err)
{
    int status = open_flush(task, err);
    current = task;
    return status ? status : host_launch(task, err); /* page tables, thread pools */
}

static int host_draw(struct sample *out, struct ridge_error *err)
{
    double began = time_now_ns();
    int status = host_prepare(current, err);
    double start = time_now_ns();
    if (status == RIDGE_OK)
        status = host_launch(current, err);
    double stop = time_now_ns();
    *out = (struct sample){.event_ns = stop - start, .kernel_ns = NAN, .sm_hz = NAN, .wall_ns = stop - began};
    return status;
}

static int host_end(struct sample *sample, size_t count, struct ridge_error *err)
{
    (void)sample, (void)count, (void)err;
    current = NULL;
    return RIDGE_OK;
}

static int host_attributes(const struct ridge_variant *variant, int *registers, int *spill_bytes, int *smem_bytes)
{
    (void)variant;
    *registers = *spill_bytes = *smem_bytes = 0;
    return RIDGE_OK;
}

const struct device_ops device_host = {
    .kind = "host",
    .open = host_open,
    .close = host_close,
    .stream = host_stream,
    .memory_free = host_memory_free,
    .alloc = host_alloc,
    .free = free,
    .upload = host_copy,
    .download = host_copy,
    .copy = host_copy,
    .set = host_set,
    .sync = host_sync,
    .fill = host_fill,
    .count_not = host_count_not,
    .checksum = host_checksum,
    .compare = host_compare,
    .begin = host_begin,
    .draw = host_draw,
    .end = host_end,
    .prepare = host_prepare,
    .launch = host_launch,
    .attributes = host_attributes,
};
