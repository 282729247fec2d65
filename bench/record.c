/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/record.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Copies the part of a dotted path up to the next dot and moves *path behind it. */
static void next_key(const char **path, char *key, size_t bytes)
{
    size_t length = strcspn(*path, ".");
    snprintf(key, bytes, "%.*s", (int)length, *path);
    *path += length;
    if (**path == '.')
        (*path)++;
}

const json_t *record_get(const json_t *record, const char *path)
{
    char key[128];
    while (record && *path) {
        next_key(&path, key, sizeof key);
        record = json_object_get(record, key);
    }
    return record;
}

const char *record_string(const json_t *record, const char *path)
{
    return json_string_value(record_get(record, path));
}

double record_number(const json_t *record, const char *path)
{
    const json_t *value = record_get(record, path);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

bool record_is(const json_t *record, const char *path, const char *value)
{
    const char *text = record_string(record, path);
    return text && strcmp(text, value) == 0;
}

void record_set(json_t *record, const char *path, json_t *value)
{
    char key[128];
    next_key(&path, key, sizeof key);
    while (*path) {
        json_t *child = json_object_get(record, key);
        if (!json_is_object(child)) {
            child = json_object();
            json_object_set_new(record, key, child);
        }
        record = child;
        next_key(&path, key, sizeof key);
    }
    json_object_set_new(record, key, value ? value : json_null());
}

void record_set_number(json_t *record, const char *path, double value)
{
    const double exact = 9007199254740992.0; /* 2^53: whole numbers are written without a fraction */
    json_t *number;
    if (!isfinite(value))
        number = json_null();
    else if (fabs(value) <= exact && value == floor(value))
        number = json_integer((json_int_t)value);
    else
        number = json_real(value);
    record_set(record, path, number);
}

json_t *record_text(const char *text)
{
    json_t *value = json_string(text);
    char *copy = value ? NULL : strdup(text);
    for (char *c = copy; c && *c; c++)
        if ((unsigned char)*c >= 0x80)
            *c = '?';
    if (copy)
        value = json_string(copy);
    free(copy);
    return value;
}

void record_set_string(json_t *record, const char *path, const char *value)
{
    record_set(record, path, value ? record_text(value) : json_null());
}

double *record_samples(const json_t *record, size_t *n)
{
    const json_t *array = record_get(record, "time.samples_ns");
    *n = json_array_size(array);
    double *sample = *n ? malloc(*n * sizeof *sample) : NULL;
    if (!sample)
        *n = 0;
    for (size_t i = 0; i < *n; i++) {
        const json_t *value = json_array_get(array, i);
        sample[i] = json_is_number(value) ? json_number_value(value) : NAN;
    }
    return sample;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* "k=64,m=4096,n=512": by name, so that the order in the file does not matter. */
static void print_params(FILE *out, const json_t *params)
{
    size_t count = json_object_size(params), i = 0;
    const char **name = count ? malloc(count * sizeof *name) : NULL;
    if (!name)
        return;
    for (void *it = json_object_iter((json_t *)params); it; it = json_object_iter_next((json_t *)params, it))
        name[i++] = json_object_iter_key(it);
    qsort(name, count, sizeof *name, compare_names);
    for (i = 0; i < count; i++)
        fprintf(out, "%s%s=%.17g", i ? "," : "", name[i], record_number(params, name[i]));
    free(name);
}

char *record_key(const json_t *record)
{
    static const char *const mode[] = {"cache", "launch", "power", "fill", "emulate", "plan"};
    char *key = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&key, &bytes);
    if (!out)
        return NULL;
    const char *name = record_string(record, "variant.name");
    fprintf(out, "%s ", name ? name : "?");
    print_params(out, record_get(record, "shape.params"));
    for (size_t i = 0; i < sizeof mode / sizeof *mode; i++) {
        const json_t *value = record_get(record_get(record, "mode"), mode[i]);
        if (!value && strcmp(mode[i], "plan") == 0)
            continue; /* the variant's own choice */
        const char *requested = record_string(value, "requested");
        const char *method = record_string(value, "method");
        fprintf(out, "%c%s=%s", i ? ',' : ' ', mode[i], requested ? requested : "?");
        if (method)
            fprintf(out, "/%s", method);
    }
    if (fclose(out)) {
        free(key);
        return NULL;
    }
    return key;
}
