/* SPDX-License-Identifier: Apache-2.0 */
#include "roofline/point.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *level_name(enum level level)
{
    static const char *const name[LEVEL_COUNT] = {"hbm", "l2", "smem"};
    return name[level];
}

const char *level_label(enum level level, bool host)
{
    static const char *const label[2][LEVEL_COUNT] = {{"HBM", "L2", "shared memory"},
                                                      {"DRAM", "cache (L2 and up)", "L1 cache"}};
    return label[host][level];
}

const char *bound_name(enum resource resource, bool host)
{
    if (host && resource == RES_HBM)
        return "dram";
    if (host && resource == RES_L2)
        return "cache";
    if (host && resource == RES_SMEM)
        return "l1";
    /* The host multiplies BF16 on its FP32 units. */
    return resource_name(host && resource == RES_TENSOR_BF16 ? RES_FP32 : resource);
}

const char *bound_label(enum resource resource, bool host)
{
    switch (host ? resource : RES_COUNT) {
    case RES_HBM:
        return level_label(LEVEL_HBM, true);
    case RES_L2:
        return level_label(LEVEL_L2, true);
    case RES_SMEM:
        return level_label(LEVEL_SMEM, true);
    case RES_TENSOR_BF16:
        return "BF16 arithmetic";
    case RES_EXP:
        return "exponentials";
    default:
        return resource_label(resource);
    }
}

/* Metric names contain dots, so they are looked up as they are and not by path. */
static double counter(const json_t *record, const char *metric)
{
    const json_t *value = json_object_get(record_get(record, "counters.values"), metric);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static double either(double counted, double declared, bool *is_counted)
{
    *is_counted = counted > 0;
    return *is_counted ? counted : declared;
}

static void fill_levels(struct point *point)
{
    enum { BYTES_PER_WAVEFRONT = 128 };
    const json_t *record = point->record;
    const json_t *useful = record_get(record, "work.useful"), *issued = record_get(record, "work.issued");
    if (json_object_size(issued) == 0)
        issued = useful;
    point->useful_flop = work_flops(useful);

    double tensor = 0, declared_tensor = work_number(issued, "flop_bf16") + work_number(issued, "flop_fp8");
    static const char *const tensor_metric[] = {
        "sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32_sparsity_off.sum",
        "sm__ops_path_tensor_op_hgmma_src_fp16_sparsity_off.sum",
        "sm__ops_path_tensor_src_fp8_sparsity_off.sum",
    };
    for (size_t i = 0; i < sizeof tensor_metric / sizeof *tensor_metric; i++)
        tensor += fmax(counter(record, tensor_metric[i]), 0);
    point->issued_flop = work_flops(issued) + (tensor > 0 && declared_tensor > 0 ? tensor - declared_tensor : 0);

    double hbm = counter(record, "dram__bytes_read.sum") + counter(record, "dram__bytes_write.sum");
    double l2 = counter(record, "lts__t_bytes.sum");
    double smem = BYTES_PER_WAVEFRONT * counter(record, "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum");
    point->level[LEVEL_HBM].useful_bytes = work_hbm_bytes(useful);
    point->level[LEVEL_HBM].issued_bytes = either(hbm, work_hbm_bytes(issued), &point->level[LEVEL_HBM].counted);
    point->level[LEVEL_L2].useful_bytes = work_number(useful, "bytes_l2");
    point->level[LEVEL_L2].issued_bytes = either(l2, work_number(issued, "bytes_l2"), &point->level[LEVEL_L2].counted);
    point->level[LEVEL_SMEM].useful_bytes = work_number(useful, "bytes_smem");
    point->level[LEVEL_SMEM].issued_bytes =
        either(smem, work_number(issued, "bytes_smem"), &point->level[LEVEL_SMEM].counted);
    /* Families seldom declare what a level below HBM must deliver; the variant's issued bytes then stand for both. */
    for (int i = LEVEL_L2; i < LEVEL_COUNT; i++)
        if (!(point->level[i].useful_bytes > 0))
            point->level[i].useful_bytes = point->level[i].issued_bytes;
}

static bool of_device(const json_t *record, const char *device)
{
    const char *family = record_string(record, "variant.family");
    return record_is(record, "device.name", device) && family && strncmp(family, "ceiling_", 8) != 0;
}

static bool plottable(const json_t *record)
{
    return record_is(record, "status", "ok") && record_is(record, "check.status", "ok") && record_time_s(record) > 0;
}

struct keyed {
    char *key;
    size_t index;
};

static int by_key(const void *a, const void *b)
{
    const struct keyed *x = a, *y = b;
    int order = strcmp(x->key, y->key);
    return order ? order : (x->index > y->index) - (x->index < y->index);
}

/* Keeps the last record of each key: keep[i] tells for record i. */
static int last_of_each(const struct record_list *list, const char *device, bool *keep, struct point_list *out)
{
    int status = 0;
    size_t count = 0;
    struct keyed *keyed = calloc(list->count + 1, sizeof *keyed);
    if (!keyed)
        return -1;
    for (size_t i = 0; i < list->count; i++) {
        if (!of_device(list->record[i], device))
            continue;
        keyed[count] = (struct keyed){record_key(list->record[i]), i};
        if (!keyed[count++].key) {
            status = -1;
            goto out;
        }
    }
    qsort(keyed, count, sizeof *keyed, by_key);
    for (size_t i = 0; i < count; i++) {
        if (i + 1 < count && strcmp(keyed[i].key, keyed[i + 1].key) == 0)
            out->replaced++;
        else if (plottable(list->record[keyed[i].index]))
            keep[keyed[i].index] = true;
        else
            out->left_out++;
    }
out:
    for (size_t i = 0; i < count; i++)
        free(keyed[i].key);
    free(keyed);
    return status;
}

static int by_family_and_label(const void *a, const void *b)
{
    const struct point *x = a, *y = b;
    int order = strcmp(x->family, y->family);
    if (!order)
        order = strcmp(x->label, y->label);
    if (!order)
        order = (x->useful_flop > y->useful_flop) - (x->useful_flop < y->useful_flop);
    return order;
}

static void describe_mode(const json_t *record, char *text, size_t bytes)
{
    static const char *const axis[][2] = {{"cache", "cold"},  {"launch", "stream"}, {"power", "burst"},
                                          {"fill", "random"}, {"emulate", "none"},  {"plan", ""}};
    text[0] = '\0';
    for (size_t i = 0; i < sizeof axis / sizeof *axis; i++) {
        char path[32];
        snprintf(path, sizeof path, "mode.%s.requested", axis[i][0]);
        const char *requested = record_string(record, path);
        size_t used = strlen(text);
        if (requested && strcmp(requested, axis[i][1]) != 0)
            snprintf(text + used, bytes - used, " %s", requested);
    }
}

static bool same_label(const struct point *p, const struct point *q)
{
    return strcmp(p->family, q->family) == 0 && strcmp(p->label, q->label) == 0;
}

/* A label is enough for a reader unless two points of the family share it; those are adjacent. */
static void name_label(struct point *begin, const struct point *end)
{
    json_t *shapes = json_object(); /* {shape: points of it} */
    for (struct point *p = begin; p < end; p++) {
        const char *shape = record_string(p->record, "shape.name");
        json_int_t before = json_integer_value(json_object_get(shapes, shape));
        json_object_set_new(shapes, shape, json_integer(before + 1));
    }
    for (struct point *p = begin; p < end; p++) {
        const char *shape = record_string(p->record, "shape.name");
        char modes[96] = "";
        if (json_integer_value(json_object_get(shapes, shape)) > 1)
            describe_mode(p->record, modes, sizeof modes);
        bool several = json_object_size(shapes) > 1;
        snprintf(p->name, sizeof p->name, "%s%s%s%s", p->label, several ? " " : "", several ? shape : "", modes);
    }
    json_decref(shapes);
}

static void name_points(struct point_list *list)
{
    struct point *all = list->point;
    for (size_t begin = 0, end; begin < list->count; begin = end) {
        for (end = begin + 1; end < list->count && same_label(&all[begin], &all[end]); end++)
            ;
        name_label(&all[begin], &all[end]);
    }
    for (size_t i = 0; i < list->count; i++) {
        all[i].family_index = i == 0 ? 0 : all[i - 1].family_index + (strcmp(all[i].family, all[i - 1].family) != 0);
        list->families = all[i].family_index + 1;
    }
}

int points_of_device(const struct record_list *list, const char *device, struct point_list *out,
                     struct ridge_error *err)
{
    *out = (struct point_list){0};
    bool *keep = calloc(list->count + 1, sizeof *keep);
    out->point = calloc(list->count + 1, sizeof *out->point);
    if (!keep || !out->point || last_of_each(list, device, keep, out)) {
        free(keep);
        point_list_free(out);
        return ridge_fail(err, RIDGE_ENVIRONMENT, "out of memory for %zu records", list->count);
    }
    for (size_t i = 0; i < list->count; i++) {
        if (!keep[i])
            continue;
        struct point *p = &out->point[out->count++];
        p->record = list->record[i];
        p->family = record_string(p->record, "variant.family");
        p->label = record_string(p->record, "variant.label");
        if (!p->label)
            p->label = "?";
        p->emulated = !record_is(p->record, "mode.emulate.requested", "none");
        p->time_s = record_time_s(p->record);
        fill_levels(p);
    }
    free(keep);
    qsort(out->point, out->count, sizeof *out->point, by_family_and_label);
    name_points(out);
    return RIDGE_OK;
}

void point_list_free(struct point_list *points)
{
    free(points->point);
    *points = (struct point_list){0};
}

bool point_differs(const struct point *point, enum level level)
{
    const double visible = 0.02;
    double flop = point->issued_flop / point->useful_flop;
    double bytes = point->level[level].issued_bytes / point->level[level].useful_bytes;
    return fabs(flop - 1) > visible || fabs(bytes - 1) > visible;
}
