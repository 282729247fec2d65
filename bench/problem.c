/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/shape.h"
#include "kernels/support/numeric.h"

enum { GUARD_BYTES = PROBLEM_LARGEST_OFFSET, GUARD_BYTE = 0xa5, POISON_BYTE = 0xff };

static bool is_output(const struct problem *p, int i)
{
    return p->family->buffer[i].role != RIDGE_INPUT;
}

static uint64_t buffer_seed(const struct problem *p, int i)
{
    return p->seed * 1000003u + (uint64_t)i;
}

/* Everything a check needs: buffers, reference and magnitude of outputs, originals of in-place buffers. */
static double memory_needed(const struct ridge_family *family, const int64_t *dim)
{
    double total = shape_bytes(family, dim);
    for (int i = 0; i < family->buffers; i++) {
        double count = family->buffer[i].count(dim);
        if (family->buffer[i].role != RIDGE_INPUT)
            total += count * 2 * sizeof(float);
        if (family->buffer[i].role == RIDGE_INOUT)
            total += count * (double)dtype_bytes(family->buffer[i].dtype);
    }
    return total;
}

static int ask_memory(const struct problem *p, struct ridge_error *err)
{
    double available, needed = memory_needed(p->family, p->dim);
    char name[256];
    int status = p->ops->memory_free(&available, err);
    if (status)
        return status;
    shape_name(p->family, p->dim, name, sizeof name);
    if (!(needed <= 0.95 * available))
        return ridge_fail(err, RIDGE_INVALID,
                          "shape %s is too large: it needs %.0f bytes (%.1f GB) with its reference, %.0f are free", name,
                          needed, needed / 1e9, available);
    return RIDGE_OK;
}

static bool is_custom(const struct problem *p, int i)
{
    return p->family->buffer[i].fill == RIDGE_FILL_CUSTOM && p->family->buffer[i].role != RIDGE_OUTPUT;
}

/* Host copies, filled: of all buffers, or of those alone that only the family can fill. */
static int fill_host(const struct problem *p, bool all, void **host, struct ridge_error *err)
{
    for (int i = 0; i < p->family->buffers; i++) {
        const struct ridge_buffer *spec = &p->family->buffer[i];
        if (!all && !is_custom(p, i))
            continue;
        int status = device_host.alloc(&host[i], p->bytes[i] ? p->bytes[i] : 1, err);
        if (status)
            return status;
        if (spec->role != RIDGE_OUTPUT && !is_custom(p, i))
            device_host.fill(host[i], spec, p->count[i], p->fill, buffer_seed(p, i), err);
    }
    if (p->family->fill)
        p->family->fill(p->dim, p->hard, p->seed, host);
    return RIDGE_OK;
}

static void free_host(const struct problem *p, void **host)
{
    for (int i = 0; i < p->family->buffers; i++)
        free(host[i]);
}

static int fill_inputs(struct problem *p, struct ridge_error *err)
{
    const struct ridge_family *family = p->family;
    void *host[RIDGE_MAX_BUFFERS] = {0};
    int status = RIDGE_OK;
    bool all = p->hard > 0, any = all; /* a hard case may rewrite any input */
    for (int i = 0; i < family->buffers; i++)
        any = any || is_custom(p, i);
    if (any)
        status = fill_host(p, all, host, err);
    for (int i = 0; i < family->buffers && status == RIDGE_OK; i++) {
        if (family->buffer[i].role == RIDGE_OUTPUT)
            continue;
        status = host[i] ? p->ops->upload(p->buffer[i], host[i], p->bytes[i], err)
                         : p->ops->fill(p->buffer[i], &family->buffer[i], p->count[i], p->fill, buffer_seed(p, i), err);
        if (status == RIDGE_OK && p->original[i])
            status = p->ops->copy(p->original[i], p->buffer[i], p->bytes[i], err);
    }
    if (status == RIDGE_OK)
        status = p->ops->sync(err);
    if (status == RIDGE_OK)
        status = problem_checksum(p, false, &p->input_sum, err);
    p->spoiled = false;
    free_host(p, host);
    return status;
}

/* Sets all guards and slack around a buffer. */
static int paint_guards(struct problem *p, int i, struct ridge_error *err)
{
    char *block = p->block[i], *buffer = p->buffer[i], *end = block + p->block_bytes[i];
    int status = p->ops->set(block, GUARD_BYTE, (size_t)(buffer - block), err);
    return status ? status : p->ops->set(buffer + p->bytes[i], GUARD_BYTE, (size_t)(end - buffer) - p->bytes[i], err);
}

int problem_place(struct problem *p, const struct ridge_variant *variant, struct ridge_error *err)
{
    bool moved = p->spoiled;
    for (int i = 0; i < p->family->buffers; i++) {
        char *place = (char *)p->block[i] + GUARD_BYTES + (variant ? variant->offset_bytes[i] : 0);
        moved = moved || place != p->buffer[i];
        p->buffer[i] = place;
        int status = paint_guards(p, i, err);
        if (status)
            return status;
    }
    return moved ? fill_inputs(p, err) : RIDGE_OK;
}

static int count_elements(struct problem *p, struct ridge_error *err)
{
    for (int i = 0; i < p->family->buffers; i++) {
        double count = p->family->buffer[i].count(p->dim);
        if (!(count >= 1)) /* NaN too */
            return ridge_fail(err, RIDGE_INVALID, "buffer %s would have %g elements", p->family->buffer[i].name, count);
    }
    return RIDGE_OK;
}

int problem_open(struct problem *p, const struct device_ops *ops, const struct ridge_device *device,
                 const struct ridge_family *family, const int64_t *dim, enum fill_mode fill, int hard, uint64_t seed,
                 struct ridge_error *err)
{
    *p = (struct problem){.ops = ops, .device = device, .family = family, .fill = fill, .hard = hard, .seed = seed};
    memcpy(p->dim, dim, (size_t)family->axes * sizeof *dim);
    int status = shape_validate(family, dim, err);
    if (status == RIDGE_OK)
        status = count_elements(p, err);
    if (status == RIDGE_OK)
        status = ask_memory(p, err);
    for (int i = 0; i < family->buffers && status == RIDGE_OK; i++) {
        p->count[i] = (int64_t)family->buffer[i].count(dim);
        p->bytes[i] = (size_t)p->count[i] * dtype_bytes(family->buffer[i].dtype);
        p->block_bytes[i] = (p->bytes[i] + 3 * GUARD_BYTES + 255) & ~(size_t)255;
        status = ops->alloc(&p->block[i], p->block_bytes[i], err);
        if (status == RIDGE_OK && family->buffer[i].role == RIDGE_INOUT)
            status = ops->alloc(&p->original[i], p->bytes[i], err);
        p->outputs += is_output(p, i);
    }
    if (status == RIDGE_OK)
        status = problem_place(p, NULL, err);
    if (status)
        problem_close(p);
    return status;
}

void problem_close(struct problem *p)
{
    for (int i = 0; i < RIDGE_MAX_BUFFERS; i++) {
        void *owned[] = {p->block[i], p->original[i], p->ref[i], p->mag[i]};
        for (size_t j = 0; j < sizeof owned / sizeof *owned; j++)
            if (owned[j])
                p->ops->free(owned[j]);
        p->block[i] = p->original[i] = NULL;
        p->ref[i] = p->mag[i] = NULL;
    }
}

int problem_reset(struct problem *p, struct ridge_error *err)
{
    for (int i = 0; i < p->family->buffers; i++) {
        int status = RIDGE_OK;
        if (p->family->buffer[i].role == RIDGE_OUTPUT)
            status = p->ops->set(p->buffer[i], POISON_BYTE, p->bytes[i], err);
        else if (p->family->buffer[i].role == RIDGE_INOUT)
            status = p->ops->copy(p->buffer[i], p->original[i], p->bytes[i], err);
        if (status)
            return status;
    }
    return RIDGE_OK;
}

static bool compared_as_bits(enum ridge_dtype dtype)
{
    return dtype == RIDGE_I32 || dtype == RIDGE_U32;
}

/* The C reference as the floats (or integer bits) that comparisons use; host arrays by output, owned by the caller. */
static int reference_on_host(const struct problem *p, float **ref, float **mag, struct ridge_error *err)
{
    void *host[RIDGE_MAX_BUFFERS] = {0};
    double *ref64[RIDGE_MAX_BUFFERS] = {0}, *mag64[RIDGE_MAX_BUFFERS] = {0};
    int64_t count[RIDGE_MAX_BUFFERS];
    bool bits[RIDGE_MAX_BUFFERS], memory = true;
    int outputs = 0;
    for (int i = 0; i < p->family->buffers; i++) {
        if (!is_output(p, i))
            continue;
        count[outputs] = p->count[i];
        bits[outputs] = compared_as_bits(p->family->buffer[i].dtype);
        size_t n = (size_t)p->count[i];
        ref64[outputs] = malloc(n * sizeof(double));
        mag64[outputs] = calloc(n, sizeof(double));
        ref[outputs] = malloc(n * sizeof(float));
        mag[outputs] = malloc(n * sizeof(float));
        memory = memory && ref64[outputs] && mag64[outputs] && ref[outputs] && mag[outputs];
        outputs++;
    }
    int status = memory ? fill_host(p, true, host, err) : ridge_fail(err, RIDGE_ENVIRONMENT, "out of memory for the reference");
    if (status == RIDGE_OK)
        p->family->reference(p->dim, host, ref64, mag64);
    for (int i = 0; i < outputs && status == RIDGE_OK; i++)
        for (int64_t j = 0; j < count[i]; j++) {
            ref[i][j] = bits[i] ? f32_from_bits((uint32_t)(int64_t)ref64[i][j]) : (float)ref64[i][j];
            mag[i][j] = (float)mag64[i][j];
        }
    for (int i = 0; i < outputs; i++) {
        free(ref64[i]);
        free(mag64[i]);
    }
    free_host(p, host);
    return status;
}

static void free_pairs(float **ref, float **mag)
{
    for (int i = 0; i < RIDGE_MAX_BUFFERS; i++) {
        free(ref[i]);
        free(mag[i]);
    }
}

static int reference_on_device(struct problem *p, ridge_reference_fn gpu, struct ridge_error *err)
{
    char message[256] = "";
    struct ridge_call call = {
        .dim = p->dim,
        .buffer = p->buffer,
        .buffer_bytes = p->bytes,
        .stream = p->ops->stream(),
        .device = p->device,
        .error = message,
        .error_bytes = sizeof message,
    };
    int status = problem_reset(p, err);
    if (status)
        return status;
    if (gpu(&call, p->ref, p->mag))
        return ridge_fail(err, RIDGE_ENVIRONMENT, "GPU reference: %s", message);
    return p->ops->sync(err);
}

static int64_t output_count(const struct problem *p, int output)
{
    for (int i = 0; i < p->family->buffers; i++)
        if (is_output(p, i) && output-- == 0)
            return p->count[i];
    return 0;
}

int problem_reference(struct problem *p, ridge_reference_fn gpu, struct ridge_error *err)
{
    if (p->against)
        return RIDGE_OK;
    float *ref[RIDGE_MAX_BUFFERS] = {0}, *mag[RIDGE_MAX_BUFFERS] = {0};
    int status = gpu ? RIDGE_OK : reference_on_host(p, ref, mag, err);
    for (int i = 0; i < p->outputs && status == RIDGE_OK; i++) {
        size_t bytes = (size_t)output_count(p, i) * sizeof(float);
        if (!p->ref[i])
            status = p->ops->alloc((void **)&p->ref[i], bytes, err);
        if (status == RIDGE_OK && !p->mag[i])
            status = p->ops->alloc((void **)&p->mag[i], bytes, err);
        if (status == RIDGE_OK && !gpu)
            status = p->ops->upload(p->ref[i], ref[i], bytes, err);
        if (status == RIDGE_OK && !gpu)
            status = p->ops->upload(p->mag[i], mag[i], bytes, err);
    }
    if (status == RIDGE_OK && gpu)
        status = reference_on_device(p, gpu, err);
    if (status == RIDGE_OK)
        p->against = gpu ? "gpu-reference" : "c-reference";
    free_pairs(ref, mag);
    return status;
}

int problem_compare_references(struct problem *p, ridge_reference_fn gpu, double *worst, struct ridge_error *err)
{
    float *ref[RIDGE_MAX_BUFFERS] = {0}, *mag[RIDGE_MAX_BUFFERS] = {0};
    *worst = 0;
    int status = problem_reference(p, gpu, err);
    if (status == RIDGE_OK)
        status = reference_on_host(p, ref, mag, err);
    for (int i = 0, output = 0; i < p->family->buffers && status == RIDGE_OK; i++) {
        if (!is_output(p, i))
            continue;
        size_t bytes = (size_t)p->count[i] * sizeof(float);
        float *copy = malloc(bytes);
        struct compare_result result = {.max_error = INFINITY};
        enum ridge_dtype dtype = compared_as_bits(p->family->buffer[i].dtype) ? RIDGE_U32 : RIDGE_F32;
        status = copy ? p->ops->download(copy, p->ref[output], bytes, err) : ridge_fail(err, RIDGE_ENVIRONMENT, "out of memory");
        if (status == RIDGE_OK)
            device_host.compare(copy, dtype, ref[output], mag[output], p->count[i], 0, &p->family->tolerance, &result, err);
        *worst = fmax(*worst, result.max_error);
        free(copy);
        output++;
    }
    free_pairs(ref, mag);
    return status;
}
