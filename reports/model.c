/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/model.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "roofline/device_file.h"
#include "roofline/point.h"

const char *row_resource(const struct report_row *row, enum resource resource)
{
    return bound_name(resource, row->host);
}

const char *row_resource_label(const struct report_row *row, enum resource resource)
{
    return bound_label(resource, row->host);
}

double report_ratio(const struct report_row *base, const struct report_row *row)
{
    if (base->state != ROW_OK || row->state != ROW_OK)
        return NAN;
    double a = record_number(base->record, "time.kernel_median_ns");
    double b = record_number(row->record, "time.kernel_median_ns");
    if (!(a > 0.0 && b > 0.0)) {
        a = record_number(base->record, "time.median_ns");
        b = record_number(row->record, "time.median_ns");
    }
    return a > 0.0 && b > 0.0 ? a / b : NAN;
}

static char *mode_text(const json_t *record)
{
    static const char *const axes[] = {"cache", "launch", "power", "fill"};
    char *text = NULL, path[64];
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        return NULL;
    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "mode.%s.requested", axes[i]);
        const char *value = record_string(record, path);
        fprintf(out, "%s%s", i ? "/" : "", value ? value : "?");
    }
    const char *emulate = record_string(record, "mode.emulate.requested");
    if (record_is(record, "mode.cache.method", "clean"))
        fprintf(out, "/clean");
    if (emulate && strcmp(emulate, "none") != 0)
        fprintf(out, "/emulate=%s", emulate);
    if (fclose(out)) {
        free(text);
        return NULL;
    }
    return text;
}

static void read_time(struct report_row *row)
{
    const json_t *r = row->record;
    double median = record_number(r, "time.median_ns");
    row->time_ns = median;
    row->clock = record_string(r, "time.clock");
    const json_t *ci = record_get(r, "time.ci95_ns");
    double low = json_is_number(json_array_get(ci, 0)) ? json_number_value(json_array_get(ci, 0)) : NAN;
    double high = json_is_number(json_array_get(ci, 1)) ? json_number_value(json_array_get(ci, 1)) : NAN;
    row->spread = (high - low) / 2.0 / median;
    if (isnan(row->spread))
        row->spread = record_number(r, "time.mad_ns") / median;
    if (json_array_size(record_get(r, "time.samples_ns")) < 2)
        row->spread = NAN; /* one sample has none */
    double quantum = record_number(r, "device.timer.event_quantum_ns");
    if (!(row->time_ns > 0.0))
        row->state = ROW_UNTIMED;
    else if (row->time_ns < quantum)
        row->state = ROW_BELOW_QUANTUM;
}

static int ceiling_family(const char *family)
{
    return strncmp(family, "ceiling_", 8) == 0;
}

static enum report_kind kind_of(const struct report_row *row)
{
    const char *emulate = record_string(row->record, "mode.emulate.requested");
    if (ceiling_family(row->family))
        return KIND_LADDER;
    if (row->plan)
        return KIND_PLANS;
    return emulate && strcmp(emulate, "none") != 0 ? KIND_EMULATED : KIND_LADDER;
}

static void read_row(struct report_row *row, const json_t *record)
{
    *row = (struct report_row){.record = record, .step = -1};
    row->family = record_string(record, "variant.family");
    row->label = record_string(record, "variant.label");
    row->shape = record_string(record, "shape.name");
    row->mode = mode_text(record);
    row->plan = record_string(record, "mode.plan.requested");
    row->kind = kind_of(row);
    const char *digits = row->label ? row->label : "";
    row->host = record_is(record, "device.kind", "host");
    row->host_ladder = *digits == 'h';
    digits += row->host_ladder;
    if (isdigit((unsigned char)*digits))
        row->step = atoi(digits);
    row->vendor = row->step >= 90;
    row->ladder_break = json_is_true(record_get(record, "variant.ladder_break"));
    row->time_ns = row->spread = row->flop_s = row->byte_s = NAN;
    row->roof_share = row->useful_share = row->speedup = row->vendor_share = NAN;
    if (record_is(record, "status", "ok"))
        read_time(row);
    else
        row->state = record_is(record, "status", "skip") ? ROW_SKIP : ROW_FAIL;
}

static void derive_row(struct report_row *row, const struct ceilings *ceilings)
{
    const json_t *useful = record_get(row->record, "work.useful"), *issued = record_get(row->record, "work.issued");
    row->bound = record_bound(row->record, ceilings);
    if (row->state != ROW_OK)
        return;
    double seconds = row->time_ns * 1e-9, flops = work_flops(useful), bytes = work_hbm_bytes(useful);
    row->flop_s = flops > 0.0 ? flops / seconds : NAN;
    row->byte_s = bytes > 0.0 ? bytes / seconds : NAN;
    row->roof_share = row->bound.floor_s > 0.0 ? row->bound.floor_s / seconds : NAN;
    row->useful_share = row->roof_share;
    if (json_object_size(issued) && !json_equal(useful, issued))
        row->useful_share = bound_of(useful, ceilings).floor_s / seconds;
    row->above_roof = record_exceeds(row->record, ceilings);
}

size_t report_group_end(const struct report_family *family, size_t begin)
{
    size_t end = begin;
    while (end < family->rows && strcmp(family->row[end].family, family->row[begin].family) == 0 &&
           strcmp(family->row[end].shape, family->row[begin].shape) == 0 &&
           strcmp(family->row[end].mode, family->row[begin].mode) == 0)
        end++;
    return end;
}

/* Ratios inside one group; rows are in label order. */
static void derive_group(struct report_row *row, size_t rows)
{
    const struct report_row *library[2] = {NULL, NULL};
    for (size_t i = 0; i < rows; i++) {
        const struct report_row **best = &library[row[i].host_ladder];
        if (row[i].vendor && row[i].state == ROW_OK && (!*best || report_ratio(*best, &row[i]) > 1.0))
            *best = &row[i];
    }
    const struct report_row *before[2] = {NULL, NULL};
    for (size_t i = 0; i < rows; i++) {
        struct report_row *r = &row[i];
        r->library = library[r->host_ladder];
        if (r->library)
            r->vendor_share = report_ratio(r->library, r);
        if (r->vendor || r->ladder_break || r->step < 0 || r->state != ROW_OK)
            continue;
        r->over = before[r->host_ladder];
        if (r->over)
            r->speedup = report_ratio(r->over, r);
        before[r->host_ladder] = r;
    }
}

const struct report_row *report_own_choice(const struct report_device *device, const struct report_row *row)
{
    for (size_t i = 0; i < device->rows; i++) {
        const struct report_row *other = &device->row[i];
        if (!other->plan && strcmp(other->family, row->family) == 0 && strcmp(other->label, row->label) == 0 &&
            strcmp(other->shape, row->shape) == 0 && strcmp(other->mode, row->mode) == 0)
            return other;
    }
    return NULL;
}

struct sort_key {
    size_t device, shape, source;
    struct report_row row;
};

static const char *plan_text(const struct sort_key *key)
{
    return key->row.plan ? key->row.plan : "";
}

static int compare_keys(const void *left, const void *right)
{
    const struct sort_key *a = left, *b = right;
    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    int order = ceiling_family(a->row.family) - ceiling_family(b->row.family);
    if (!order)
        order = strcmp(a->row.family, b->row.family);
    if (!order)
        order = (a->row.kind > b->row.kind) - (a->row.kind < b->row.kind);
    if (!order)
        order = (a->shape > b->shape) - (a->shape < b->shape);
    if (!order)
        order = strcmp(a->row.mode, b->row.mode);
    if (!order)
        order = strcmp(a->row.label, b->row.label);
    if (!order)
        order = strcmp(plan_text(a), plan_text(b));
    return order ? order : (a->source > b->source) - (a->source < b->source);
}

static bool same_key(const struct sort_key *a, const struct sort_key *b)
{
    return a->device == b->device && strcmp(a->row.family, b->row.family) == 0 && a->shape == b->shape &&
           strcmp(a->row.mode, b->row.mode) == 0 && strcmp(a->row.label, b->row.label) == 0 &&
           strcmp(plan_text(a), plan_text(b)) == 0;
}

static size_t find_device(struct report *report, const json_t *record)
{
    const char *name = record_string(record, "device.name");
    for (size_t i = 0; i < report->devices; i++)
        if (strcmp(report->device[i].name, name) == 0)
            return i;
    report->device[report->devices] = (struct report_device){
        .name = name,
        .profile = record_string(record, "device.profile"),
        .driver = record_string(record, "device.driver"),
        .cuda = record_string(record, "device.cuda"),
        .uuid = record_string(record, "device.uuid"),
        .host = record_is(record, "device.kind", "host"),
        .ceilings.name = "ceilings",
    };
    return report->devices++;
}

/* Shapes keep the order in which they were measured. */
static void rank_shapes(struct sort_key *key, size_t count)
{
    json_t *first = json_object();
    for (size_t i = 0; i < count; i++) {
        char name[256];
        snprintf(name, sizeof name, "%zu %s %s", key[i].device, key[i].row.family, key[i].row.shape);
        json_t *rank = json_object_get(first, name);
        if (!rank) {
            rank = json_integer((json_int_t)i);
            json_object_set_new(first, name, rank);
        }
        key[i].shape = (size_t)json_integer_value(rank);
    }
    json_decref(first);
}

static int find_ceilings(struct report *report, struct report_device *device, const char *device_id,
                         struct ridge_error *err)
{
    device->specified = ceilings_unknown();
    int status = ceilings_from_records(report->list->record, report->list->count, device->name, &device->measured, err);
    if (status)
        return status;
    if (!device->host) {
        const char *id = device_id ? device_id : device->profile;
        struct device_spec spec;
        struct ridge_error why = {""};
        if (!id || !*id)
            snprintf(device->spec_note, sizeof device->spec_note, "no device file matches this device");
        else if (device_spec_load(id, &spec, &why) == RIDGE_OK) {
            device->specified = spec.specified;
            snprintf(device->spec_name, sizeof device->spec_name, "%s", spec.name);
        } else if (device_id) {
            return ridge_fail(err, RIDGE_INVALID, "--device %s: %s", device_id, why.text);
        } else {
            snprintf(device->spec_note, sizeof device->spec_note, "%s", why.text);
        }
    }
    device->merged = ceilings_merge(&device->measured, &device->specified);
    return RIDGE_OK;
}

static struct report_family *add_family(struct report *report, struct report_device *device,
                                        const struct report_row *row)
{
    struct report_family *last = device->families ? &device->family[device->families - 1] : NULL;
    if (last && strcmp(last->name, row->family) == 0 && last->kind == row->kind)
        return last;
    last = &report->family[report->families++];
    if (!device->families)
        device->family = last;
    device->families++;
    *last = (struct report_family){.name = row->family, .kind = row->kind};
    return last;
}

static void group_families(struct report *report, const struct sort_key *key)
{
    for (size_t i = 0; i < report->rows; i++) {
        struct report_device *device = &report->device[key[i].device];
        struct report_family *family = &device->ceilings;
        if (!ceiling_family(key[i].row.family))
            family = add_family(report, device, &key[i].row);
        report->row[i] = key[i].row;
        if (!device->rows++)
            device->row = &report->row[i];
        if (!family->rows)
            family->row = &report->row[i];
        family->rows++;
    }
}

/* A throttled kernel belongs on the roofs of the device that it emulates. One above them is no error of accounting: that
 * is how near the throttle comes, which ridge emulation tells. */
static void derive_family(const struct report_family *family, const struct ceilings *ceilings)
{
    for (size_t i = 0; i < family->rows; i++) {
        struct device_spec spec;
        const char *emulated = record_string(family->row[i].record, "mode.emulate.requested");
        const bool throttled = emulated && strcmp(emulated, "none") != 0;
        if (throttled && device_spec_builtin(emulated, &spec, NULL) == RIDGE_OK) {
            derive_row(&family->row[i], &spec.specified);
            family->row[i].above_roof = false;
        } else {
            derive_row(&family->row[i], ceilings);
        }
    }
    for (size_t begin = 0, end; begin < family->rows && family->kind != KIND_PLANS; begin = end) {
        end = report_group_end(family, begin);
        derive_group(&family->row[begin], end - begin);
    }
}

/* Fills and sorts the keys; of several records of one key the last counts. */
static void sort_rows(struct report *report, struct sort_key *key)
{
    size_t count = report->list->count;
    for (size_t i = 0; i < count; i++) {
        key[i].source = i;
        key[i].device = find_device(report, report->list->record[i]);
        read_row(&key[i].row, report->list->record[i]);
    }
    rank_shapes(key, count);
    qsort(key, count, sizeof *key, compare_keys);
    for (size_t i = 0; i < count; i++) {
        if (i + 1 < count && same_key(&key[i], &key[i + 1])) {
            free(key[i].row.mode);
            report->superseded++;
        } else {
            key[report->rows++] = key[i];
        }
    }
}

int report_build(struct report *report, struct record_list *list, const char *device_id, struct ridge_error *err)
{
    int status = RIDGE_OK;
    *report = (struct report){.list = list};
    size_t room = list->count ? list->count : 1;
    struct sort_key *key = calloc(room, sizeof *key);
    report->row = calloc(room, sizeof *report->row);
    report->family = calloc(room, sizeof *report->family);
    report->device = calloc(room, sizeof *report->device);
    if (!key || !report->row || !report->family || !report->device) {
        status = ridge_fail(err, RIDGE_ENVIRONMENT, "out of memory for a report of %zu records", list->count);
        goto out;
    }
    sort_rows(report, key);
    group_families(report, key);
    for (size_t d = 0; d < report->devices && !status; d++) {
        status = find_ceilings(report, &report->device[d], device_id, err);
        for (size_t f = 0; f < report->device[d].families && !status; f++)
            derive_family(&report->device[d].family[f], &report->device[d].merged);
        if (!status)
            derive_family(&report->device[d].ceilings, &report->device[d].merged);
    }
out:
    free(key);
    if (status)
        report_free(report);
    return status;
}

void report_free(struct report *report)
{
    for (size_t i = 0; i < report->rows; i++)
        free(report->row[i].mode);
    free(report->row);
    free(report->family);
    free(report->device);
    *report = (struct report){0};
}
