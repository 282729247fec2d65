/* SPDX-License-Identifier: Apache-2.0 */
/* One shape of one family in host memory with its reference: what a test of references and host variants needs. */
#ifndef RIDGE_FAMILY_CASE_H
#define RIDGE_FAMILY_CASE_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernel.h"
#include "kernels/support/fill.h"

enum { CASE_GUARD = 256, CASE_POISON = 0xff, CASE_GUARD_BYTE = 0xa5 };

struct family_case {
    const struct ridge_family *family;
    const int64_t *dim;
    unsigned char *memory[RIDGE_MAX_BUFFERS]; /* guard, buffer, guard */
    void *buffer[RIDGE_MAX_BUFFERS];
    void *original[RIDGE_MAX_BUFFERS]; /* INOUT: the values before a launch */
    int64_t count[RIDGE_MAX_BUFFERS];
    size_t bytes[RIDGE_MAX_BUFFERS];
    double *ref[RIDGE_MAX_BUFFERS], *mag[RIDGE_MAX_BUFFERS]; /* by output, in buffer order */
};

static inline void *case_alloc(size_t bytes)
{
    void *memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (!memory)
        abort();
    return memory;
}

/* Fills the inputs and computes the reference. offset_bytes as in ridge_variant; NULL for none. */
static inline void case_open(struct family_case *c, const struct ridge_family *family, const int64_t *dim, int hard,
                             const size_t *offset_bytes)
{
    const uint64_t seed = 20250131;
    int outputs = 0;
    memset(c, 0, sizeof *c);
    c->family = family;
    c->dim = dim;
    for (int i = 0; i < family->buffers; i++) {
        const struct ridge_buffer *spec = &family->buffer[i];
        const size_t offset = CASE_GUARD + (offset_bytes ? offset_bytes[i] : 0);
        c->count[i] = (int64_t)spec->count(dim);
        c->bytes[i] = (size_t)c->count[i] * fill_dtype_bytes(spec->dtype);
        c->memory[i] = case_alloc(offset + c->bytes[i] + CASE_GUARD);
        memset(c->memory[i], CASE_GUARD_BYTE, offset + c->bytes[i] + CASE_GUARD);
        c->buffer[i] = c->memory[i] + offset;
        for (int64_t j = 0; spec->fill != RIDGE_FILL_CUSTOM && spec->role != RIDGE_OUTPUT && j < c->count[i]; j++)
            fill_element(c->buffer[i], spec->dtype, spec->fill, (float)spec->scale, 0, seed + (uint64_t)i, j);
    }
    if (family->fill)
        family->fill(dim, hard, seed, c->buffer);
    for (int i = 0; i < family->buffers; i++) {
        if (family->buffer[i].role == RIDGE_INPUT)
            continue;
        c->ref[outputs] = case_alloc((size_t)c->count[i] * sizeof(double));
        c->mag[outputs++] = case_alloc((size_t)c->count[i] * sizeof(double));
        c->original[i] = case_alloc(c->bytes[i]);
        memcpy(c->original[i], c->buffer[i], c->bytes[i]);
    }
    family->reference(dim, c->buffer, c->ref, c->mag);
}

static inline void case_close(struct family_case *c)
{
    for (int i = 0; i < RIDGE_MAX_BUFFERS; i++) {
        free(c->memory[i]);
        free(c->original[i]);
        free(c->ref[i]);
        free(c->mag[i]);
    }
}

/* Restores INOUT buffers and poisons outputs with bits that are NaN in every float format. */
static inline void case_reset(struct family_case *c)
{
    for (int i = 0; i < c->family->buffers; i++) {
        if (c->family->buffer[i].role == RIDGE_OUTPUT)
            memset(c->buffer[i], CASE_POISON, c->bytes[i]);
        if (c->family->buffer[i].role == RIDGE_INOUT)
            memcpy(c->buffer[i], c->original[i], c->bytes[i]);
    }
}

static inline double case_value(const void *buffer, enum ridge_dtype dtype, int64_t i)
{
    switch (dtype) {
    case RIDGE_F32:
        return ((const float *)buffer)[i];
    case RIDGE_F64:
        return ((const double *)buffer)[i];
    case RIDGE_F16:
        return f16_to_f32(((const uint16_t *)buffer)[i]);
    case RIDGE_BF16:
        return bf16_to_f32(((const uint16_t *)buffer)[i]);
    case RIDGE_I32:
        return ((const int32_t *)buffer)[i];
    case RIDGE_U32:
        return ((const uint32_t *)buffer)[i];
    case RIDGE_U8:
        return ((const uint8_t *)buffer)[i];
    case RIDGE_E4M3:
        break;
    }
    return NAN;
}

/* Largest error in units of the tolerance over all outputs; infinity if an element cannot be compared. */
static inline double case_max_error(const struct family_case *c)
{
    const struct ridge_tolerance *tolerance = &c->family->tolerance;
    double worst = 0;
    for (int i = 0, output = 0; i < c->family->buffers; i++) {
        if (c->family->buffer[i].role == RIDGE_INPUT)
            continue;
        for (int64_t j = 0; j < c->count[i]; j++) {
            const double ref = c->ref[output][j], value = case_value(c->buffer[i], c->family->buffer[i].dtype, j);
            if (value == ref) /* equal infinities too */
                continue;
            const double error = fabs(value - ref);
            const double allowed = tolerance->rel * fabs(ref) + tolerance->mag_rel * c->mag[output][j];
            if (!(error <= allowed) && !(error / allowed <= 1e9))
                return INFINITY;
            if (error > 0 && error / allowed > worst)
                worst = error / allowed;
        }
        output++;
    }
    return worst;
}

/* Bytes outside the buffers that were written to. */
static inline int64_t case_guard_damage(const struct family_case *c)
{
    int64_t damage = 0;
    for (int i = 0; i < c->family->buffers; i++) {
        const unsigned char *begin = c->buffer[i], *end = begin + c->bytes[i];
        for (const unsigned char *at = c->memory[i]; at < begin; at++)
            damage += *at != CASE_GUARD_BYTE;
        for (int j = 0; j < CASE_GUARD; j++)
            damage += end[j] != CASE_GUARD_BYTE;
    }
    return damage;
}

#endif
