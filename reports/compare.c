/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/compare.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { FEWEST_SAMPLES = 6 };           /* the fewest whose range covers the median with 95 % */
static const double error_rate = 0.05; /* of all intervals together */

const char *verdict_name(enum verdict verdict)
{
    static const char *const names[VERDICT_COUNT] = {[VERDICT_BROKEN] = "BROKEN",
                                                     [VERDICT_SLOWER] = "SLOWER",
                                                     [VERDICT_NOT_COMPARABLE] = "not comparable",
                                                     [VERDICT_INCONCLUSIVE] = "inconclusive",
                                                     [VERDICT_FASTER] = "faster",
                                                     [VERDICT_SAME] = "same",
                                                     [VERDICT_REFERENCE] = "reference"};
    return names[verdict];
}

static void add_line(struct comparison *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A line of notes, once. */
static void add_line(struct comparison *c, const char *format, ...)
{
    char line[600];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    size_t used = strlen(c->notes);
    if (!strstr(c->notes, line))
        snprintf(c->notes + used, sizeof c->notes - used, "%s\n", line);
}

static bool same(const json_t *a, const json_t *b, const char *path)
{
    const json_t *x = record_get(a, path), *y = record_get(b, path);
    return x && y && json_equal(x, y);
}

static bool same_branch(const char *a, const char *b)
{
    size_t major = strcspn(a, ".");
    return major == strcspn(b, ".") && strncmp(a, b, major) == 0;
}

/* Why a pair cannot be compared at all; false if it can. */
static bool incomparable(struct pair *p)
{
    static const char *const paths[] = {"device.name", "device.profile", "device.sms", "device.cc", "time.clock"};
    const json_t *a = p->base, *b = p->now;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        if (!same(a, b, paths[i])) {
            char *old = json_dumps(record_get(a, paths[i]), JSON_ENCODE_ANY);
            char *new = json_dumps(record_get(b, paths[i]), JSON_ENCODE_ANY);
            snprintf(p->note, sizeof p->note, "%s %s against %s", paths[i], old ? old : "?", new ? new : "?");
            free(old);
            free(new);
            return true;
        }
    const char *old = record_string(a, "device.driver"), *new = record_string(b, "device.driver");
    if (record_is(a, "device.kind", "cuda") && !same_branch(old, new)) {
        snprintf(p->note, sizeof p->note, "driver branch %.*s against %.*s", (int)strcspn(old, "."), old,
                 (int)strcspn(new, "."), new);
        return true;
    }
    return false;
}

/* Quantile of the standard normal beyond which `tail` lies on both sides together. */
static double normal_quantile(double tail)
{
    double low = 0.0, high = 40.0;
    for (int i = 0; i < 80; i++) {
        double middle = 0.5 * (low + high);
        if (erfc(middle / sqrt(2.0)) > tail)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Scales an interval of a ratio on the logarithmic axis. Resampling cannot resolve the far tails that the correction
 * for many pairs asks for, the normal distribution extends them. */
static struct stats_interval widen(struct stats_interval r, double factor)
{
    double middle = log(r.value);
    return (struct stats_interval){r.value, exp(middle - factor * (middle - log(r.low))),
                                   exp(middle + factor * (log(r.high) - middle))};
}

/* A median of quantised times is not known better than to half a quantum. */
static struct stats_interval add_quantum(struct stats_interval r, const struct pair *p)
{
    double quantum = record_number(p->now, "device.timer.event_quantum_ns");
    double part = 0.5 * quantum / record_number(p->base, "time.median_ns") +
                  0.5 * quantum / record_number(p->now, "time.median_ns");
    if (record_is(p->now, "time.clock", "kernel") || !(part < 1.0))
        return r;
    return (struct stats_interval){r.value, fmin(r.low, r.value * (1.0 - part)), fmax(r.high, r.value * (1.0 + part))};
}

static bool below_quantum(const json_t *record)
{
    return record_number(record, "time.median_ns") < record_number(record, "device.timer.event_quantum_ns");
}

static void measure(struct pair *p, double factor)
{
    size_t na, nb;
    double *a = record_samples(p->base, &na), *b = record_samples(p->now, &nb);
    p->raw = (struct stats_interval){NAN, NAN, NAN};
    p->verdict = VERDICT_INCONCLUSIVE;
    if (na >= 1 && nb >= 1)
        p->raw = add_quantum(widen(stats_median_ratio(a, na, b, nb, 1.0 - error_rate, 1), factor), p);
    if (na < FEWEST_SAMPLES || nb < FEWEST_SAMPLES) {
        snprintf(p->note, sizeof p->note, "too few samples (%zu and %zu, at least %d are needed)", na, nb,
                 FEWEST_SAMPLES);
        p->raw.low = p->raw.high = NAN;
    }
    if (below_quantum(p->base) || below_quantum(p->now)) {
        snprintf(p->note, sizeof p->note, "shorter than the quantum of the timer");
        p->raw = (struct stats_interval){NAN, NAN, NAN};
    }
    p->ratio = p->raw;
    free(a);
    free(b);
}

static enum verdict judge(struct stats_interval r, double threshold)
{
    if (r.low > 1.0 + threshold)
        return VERDICT_SLOWER;
    if (r.high < 1.0 - threshold)
        return VERDICT_FASTER;
    return r.low >= 1.0 - threshold && r.high <= 1.0 + threshold ? VERDICT_SAME : VERDICT_INCONCLUSIVE;
}

static bool other_unit(const struct pair *p)
{
    return record_is(p->now, "device.kind", "cuda") &&
           !(same(p->base, p->now, "device.uuid") && same(p->base, p->now, "device.driver"));
}

static const struct pair *vendor_of(const struct comparison *c, const struct pair *p)
{
    for (size_t i = 0; i < c->pairs; i++) {
        const struct pair *v = &c->pair[i];
        if (v->verdict != VERDICT_BROKEN && v->verdict != VERDICT_NOT_COMPARABLE && v->raw.low > 0.0 && v->vendor &&
            strcmp(v->family, p->family) == 0 && strcmp(v->shape, p->shape) == 0 && strcmp(v->mode, p->mode) == 0 &&
            same(v->now, p->now, "device.name"))
            return v;
    }
    return NULL;
}

/* On another unit of the same model, or under a driver patch, only ratios to the vendor variant carry over. */
static void make_relative(struct comparison *c, struct pair *p)
{
    if (!other_unit(p))
        return;
    const struct pair *vendor = vendor_of(c, p);
    const char *what = same(p->base, p->now, "device.uuid") ? "another driver patch" : "another unit";
    if (!vendor) {
        add_line(c, "%s of %s: ratios of %s are raw, no vendor variant was measured on both sides", what,
                 record_string(p->now, "device.name"), p->family);
        return;
    }
    add_line(c, "%s of %s: ratios of %s are relative to its vendor variant %s", what,
             record_string(p->now, "device.name"), p->family, vendor->variant);
    p->relative = true;
    if (vendor == p)
        return;
    double down = hypot(log(p->raw.value / p->raw.low), log(vendor->raw.high / vendor->raw.value));
    double up = hypot(log(p->raw.high / p->raw.value), log(vendor->raw.value / vendor->raw.low));
    double value = p->raw.value / vendor->raw.value;
    p->ratio = (struct stats_interval){value, value * exp(-down), value * exp(up)};
}

static void judge_all(struct comparison *c)
{
    size_t timed = 0;
    for (size_t i = 0; i < c->pairs; i++)
        timed += c->pair[i].verdict == VERDICT_INCONCLUSIVE;
    double alpha = error_rate / (double)(timed ? timed : 1);
    c->level = 1.0 - alpha;
    double factor = normal_quantile(alpha) / normal_quantile(error_rate);
    for (size_t i = 0; i < c->pairs; i++)
        if (c->pair[i].verdict == VERDICT_INCONCLUSIVE)
            measure(&c->pair[i], factor);
    for (size_t i = 0; i < c->pairs; i++)
        if (c->pair[i].verdict == VERDICT_INCONCLUSIVE)
            make_relative(c, &c->pair[i]);
    for (size_t i = 0; i < c->pairs; i++) {
        struct pair *p = &c->pair[i];
        if (p->verdict == VERDICT_INCONCLUSIVE && p->relative && vendor_of(c, p) == p)
            p->verdict = VERDICT_REFERENCE;
        else if (p->verdict == VERDICT_INCONCLUSIVE)
            p->verdict = judge(p->ratio, c->threshold);
    }
    for (size_t i = 0; i < c->pairs; i++) {
        struct pair *p = &c->pair[i];
        if (p->verdict != VERDICT_BROKEN && p->verdict != VERDICT_NOT_COMPARABLE)
            compare_signals(p, c->threshold);
        c->count[p->verdict]++;
        c->slower_environment += p->verdict == VERDICT_SLOWER && p->environment;
    }
}

/* {"<device>\n<key>": index of the last such record}, in order of first appearance. */
static json_t *index_records(const struct record_list *list, const char *device_path)
{
    json_t *index = json_object();
    for (size_t i = 0; i < list->count; i++) {
        char *key = record_key(list->record[i]), name[1024];
        snprintf(name, sizeof name, "%s\n%s", record_string(list->record[i], device_path), key ? key : "");
        json_object_set_new(index, name, json_integer((json_int_t)i));
        free(key);
    }
    return index;
}

static void list_only(json_t *names, const json_t *record, const json_t *other)
{
    const char *reason = other ? record_string(other, "reason") : NULL;
    char *key = record_key(record);
    if (key)
        json_array_append_new(names, !other
                                         ? json_string(key)
                                         : json_sprintf("%s (other side: %s, %s)", key, record_string(other, "status"),
                                                        reason ? reason : "no reason"));
    free(key);
}

static void set_mode(struct pair *p)
{
    static const char *const axes[] = {"cache", "launch", "power", "fill", "emulate", "plan"};
    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++) {
        const json_t *mode = json_object_get(record_get(p->now, "mode"), axes[i]);
        const char *value = record_string(mode, "requested"), *method = record_string(mode, "method");
        size_t used = strlen(p->mode);
        if (!value || (strcmp(axes[i], "emulate") == 0 && strcmp(value, "none") == 0))
            continue;
        snprintf(p->mode + used, sizeof p->mode - used, "%s%s%s%s", i ? "/" : "", value, method ? "-" : "",
                 method ? method : "");
    }
}

static void add_pair(struct comparison *c, const json_t *base, const json_t *now)
{
    bool base_ok = record_is(base, "status", "ok"), now_ok = record_is(now, "status", "ok");
    bool now_failed = record_is(now, "status", "fail");
    if ((!base_ok && !now_ok) || (base_ok && now_ok && below_quantum(base) && below_quantum(now))) {
        c->skipped++;
    } else if (!now_ok && !now_failed) {
        list_only(c->only_base, base, now);
    } else if (!base_ok) {
        list_only(c->only_now, now, base);
    } else {
        struct pair *p = &c->pair[c->pairs++];
        *p = (struct pair){.base = base, .now = now, .code = "-", .clock_ratio = NAN};
        p->raw = p->ratio = (struct stats_interval){NAN, NAN, NAN};
        p->family = record_string(now, "variant.family");
        p->variant = record_string(now, "variant.name");
        p->shape = record_string(now, "shape.name");
        const char *label = record_string(now, "variant.label");
        label += *label == 'h';
        p->vendor = label[0] == '9' && isdigit((unsigned char)label[1]);
        set_mode(p);
        p->verdict = VERDICT_INCONCLUSIVE;
        if (now_failed) {
            const char *reason = record_string(now, "reason");
            p->verdict = VERDICT_BROKEN;
            snprintf(p->note, sizeof p->note, "%s", reason ? reason : "no reason was recorded");
        } else if (incomparable(p)) {
            p->verdict = VERDICT_NOT_COMPARABLE;
        }
    }
}

static void match(struct comparison *c, const struct record_list *base, const struct record_list *now)
{
    json_t *by_name = index_records(base, "device.name"), *by_kind = index_records(base, "device.kind");
    json_t *new_by_name = index_records(now, "device.name"), *used = json_object();
    const char *key;
    json_t *position;
    json_object_foreach(new_by_name, key, position)
    {
        const json_t *record = now->record[json_integer_value(position)];
        json_t *found = json_object_get(by_name, key);
        char kind_key[1024];
        snprintf(kind_key, sizeof kind_key, "%s%s", record_string(record, "device.kind"), strchr(key, '\n'));
        if (!found)
            found = json_object_get(by_kind, kind_key);
        if (!found) {
            list_only(c->only_now, record, NULL);
            continue;
        }
        char slot[32];
        snprintf(slot, sizeof slot, "%lld", (long long)json_integer_value(found));
        json_object_set_new(used, slot, json_true());
        add_pair(c, base->record[json_integer_value(found)], record);
    }
    json_object_foreach(by_name, key, position)
    {
        char slot[32];
        snprintf(slot, sizeof slot, "%lld", (long long)json_integer_value(position));
        if (!json_object_get(used, slot))
            list_only(c->only_base, base->record[json_integer_value(position)], NULL);
    }
    json_decref(by_name);
    json_decref(by_kind);
    json_decref(new_by_name);
    json_decref(used);
}

static int by_verdict(const void *left, const void *right)
{
    const struct pair *a = left, *b = right;
    int order = (int)a->verdict - (int)b->verdict;
    if (!order)
        order = strcmp(a->variant, b->variant);
    if (!order)
        order = strcmp(a->shape, b->shape);
    return order ? order : strcmp(a->mode, b->mode);
}

int compare_build(struct comparison *c, const struct record_list *base, const struct record_list *now, double threshold,
                  struct ridge_error *err)
{
    *c = (struct comparison){.threshold = threshold};
    c->pair = calloc(now->count ? now->count : 1, sizeof *c->pair);
    c->only_base = json_array();
    c->only_now = json_array();
    if (!c->pair || !c->only_base || !c->only_now) {
        compare_free(c);
        return ridge_fail(err, RIDGE_ENVIRONMENT, "out of memory for %zu records", now->count);
    }
    if (base->notes[0])
        add_line(c, "BASE: %s", base->notes);
    if (now->notes[0])
        add_line(c, "NEW: %s", now->notes);
    match(c, base, now);
    judge_all(c);
    qsort(c->pair, c->pairs, sizeof *c->pair, by_verdict);
    return RIDGE_OK;
}

void compare_free(struct comparison *c)
{
    free(c->pair);
    json_decref(c->only_base);
    json_decref(c->only_now);
    *c = (struct comparison){0};
}
