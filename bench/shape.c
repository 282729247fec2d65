/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/shape.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void shape_name(const struct ridge_family *family, const int64_t *dim, char *buf, size_t bytes)
{
    size_t used = 0;
    if (bytes)
        buf[0] = '\0';
    for (int i = 0; i < family->axes && used < bytes; i++)
        used += (size_t)snprintf(buf + used, bytes - used, "%s%" PRId64, i ? "x" : "", dim[i]);
}

static void axis_names(const struct ridge_family *family, char *buf, size_t bytes)
{
    size_t used = 0;
    for (int i = 0; i < family->axes && used < bytes; i++)
        used += (size_t)snprintf(buf + used, bytes - used, "%s%s", i ? " " : "", family->axis[i].name);
}

static int check_axis(const struct ridge_axis *axis, int64_t value, struct ridge_error *err)
{
    if (value < axis->min || value > axis->max)
        return ridge_fail(err, RIDGE_INVALID, "shape %s=%" PRId64 ": %s must be in %" PRId64 " to %" PRId64, axis->name,
                          value, axis->name, axis->min, axis->max);
    if (axis->multiple > 1 && value % axis->multiple)
        return ridge_fail(err, RIDGE_INVALID, "shape %s=%" PRId64 ": %s must be a multiple of %" PRId64, axis->name,
                          value, axis->name, axis->multiple);
    return RIDGE_OK;
}

/* RIDGE_MAX_AXES where there is none. */
static int find_axis(const struct ridge_family *family, const char *name, size_t bytes)
{
    for (int i = 0; i < family->axes; i++)
        if (strlen(family->axis[i].name) == bytes && memcmp(family->axis[i].name, name, bytes) == 0)
            return i;
    return RIDGE_MAX_AXES;
}

bool shape_has_axes(const struct ridge_family *family, const char *text)
{
    for (const char *part = text;; part++) {
        const size_t bytes = strcspn(part, ",");
        const char *equals = memchr(part, '=', bytes);
        if (!equals || find_axis(family, part, (size_t)(equals - part)) == RIDGE_MAX_AXES)
            return false;
        part += bytes;
        if (!*part)
            return true;
    }
}

/* One "axis=value" of `bytes` characters. */
static int parse_part(const struct ridge_family *family, const char *part, size_t bytes, int64_t *dim, unsigned *seen,
                      struct ridge_error *err)
{
    char name[32], value[64], names[128];
    const char *equals = memchr(part, '=', bytes);
    size_t name_bytes = equals ? (size_t)(equals - part) : 0;
    if (!equals || name_bytes == 0)
        return ridge_fail(err, RIDGE_INVALID, "shape: \"%.*s\" is not axis=value", (int)(bytes < 64 ? bytes : 64),
                          part);
    snprintf(name, sizeof name, "%.*s", (int)name_bytes, part);
    size_t value_bytes = bytes - name_bytes - 1;
    snprintf(value, sizeof value, "%.*s", (int)(value_bytes < sizeof value ? value_bytes : sizeof value), equals + 1);

    const int i = find_axis(family, part, name_bytes);
    if (i == RIDGE_MAX_AXES) {
        axis_names(family, names, sizeof names);
        return ridge_fail(err, RIDGE_INVALID, "shape: no axis \"%s\"; the axes are %s", name, names);
    }
    if (*seen & 1u << i)
        return ridge_fail(err, RIDGE_INVALID, "shape: axis \"%s\" is given twice", name);
    *seen |= 1u << i;

    const char *digits = value + (value[0] == '-');
    if (value_bytes >= sizeof value)
        return ridge_fail(err, RIDGE_INVALID, "shape %s=%s...: longer than any integer", name, value);
    if (!*digits || strspn(digits, "0123456789") != strlen(digits))
        return ridge_fail(err, RIDGE_INVALID, "shape %s=%s: not an integer", name, value);
    errno = 0;
    long long number = strtoll(value, NULL, 10);
    if (errno == ERANGE)
        return ridge_fail(err, RIDGE_INVALID, "shape %s=%s: does not fit 64 bits", name, value);
    int status = check_axis(&family->axis[i], number, err);
    if (!status)
        dim[i] = number;
    return status;
}

int shape_parse(const struct ridge_family *family, const char *text, int64_t *dim, struct ridge_error *err)
{
    int64_t parsed[RIDGE_MAX_AXES];
    unsigned seen = 0;
    memcpy(parsed, dim, (size_t)family->axes * sizeof *dim);
    for (const char *part = text;; part++) {
        size_t bytes = strcspn(part, ",");
        int status = parse_part(family, part, bytes, parsed, &seen, err);
        if (status)
            return status;
        part += bytes;
        if (!*part)
            break;
    }
    memcpy(dim, parsed, (size_t)family->axes * sizeof *dim);
    return RIDGE_OK;
}

int shape_validate(const struct ridge_family *family, const int64_t *dim, struct ridge_error *err)
{
    for (int i = 0; i < family->axes; i++) {
        int status = check_axis(&family->axis[i], dim[i], err);
        if (status)
            return status;
    }
    const char *rule = family->shape_error ? family->shape_error(dim) : NULL;
    return rule ? ridge_fail(err, RIDGE_INVALID, "shape: %s", rule) : RIDGE_OK;
}

double shape_bytes(const struct ridge_family *family, const int64_t *dim)
{
    double bytes = 0;
    for (int i = 0; i < family->buffers; i++)
        bytes += family->buffer[i].count(dim) * (double)dtype_bytes(family->buffer[i].dtype);
    return bytes;
}

static const struct {
    const char *name;
    size_t bytes;
} dtypes[] = {
    [RIDGE_F32] = {"f32", 4},   [RIDGE_F64] = {"f64", 8}, [RIDGE_F16] = {"f16", 2}, [RIDGE_BF16] = {"bf16", 2},
    [RIDGE_E4M3] = {"e4m3", 1}, [RIDGE_I32] = {"i32", 4}, [RIDGE_U32] = {"u32", 4}, [RIDGE_U8] = {"u8", 1},
};

size_t dtype_bytes(enum ridge_dtype dtype)
{
    return dtypes[dtype].bytes;
}

const char *dtype_name(enum ridge_dtype dtype)
{
    return dtypes[dtype].name;
}
