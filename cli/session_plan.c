/* SPDX-License-Identifier: Apache-2.0 */
/* What options select: variants and shapes, and what is refused. */
#include "cli/session.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/shape.h"

double step_cost(const struct step *step)
{
    struct ridge_work work = {0};
    step->entry->problem->work(step->dim, &work);
    return work.flop_bf16 + work.flop_fp8 + work.flop_fp32 + 20 * work.exp + work.bytes_hbm_read +
           work.bytes_hbm_write + work.bytes_l2 + work.bytes_smem;
}

ridge_reference_fn session_reference(const struct session *s, const struct step *step)
{
    const double too_long = 2e8; /* of step_cost */
    return s->ops == &device_cuda && step_cost(step) > too_long ? step->entry->reference : NULL;
}

static bool reaches_memory(const struct ridge_family *family, const struct ridge_shape *shape)
{
    struct ridge_work work = {0};
    family->work(shape->dim, &work);
    return shape->kind == RIDGE_HOST && work.bytes_hbm_read + work.bytes_hbm_write > 0;
}

/* Presets of ceiling_host_* are working sets, and the caches of some machines hold all of a level's: the first one
 * beyond them then belongs to the level too, since other families need the roof of DRAM. Not to the quick one. */
static bool stands_in(const struct ridge_family *family, const struct ridge_shape *shape, enum ridge_level level)
{
    if (level == RIDGE_QUICK || !reaches_memory(family, shape))
        return false;
    for (int i = 0; i < family->shapes; i++)
        if (reaches_memory(family, &family->shape[i]) && (family->shape[i].level <= level || &family->shape[i] < shape))
            return false;
    return true;
}

/* A spelt shape is no glob. */
static bool is_named(const struct ridge_family *family, const struct ridge_shape *shape, const char *glob)
{
    char name[256];
    shape_name(family, shape->dim, name, sizeof name);
    return !strchr(glob, '=') && (fnmatch(glob, shape->name, 0) == 0 || fnmatch(glob, name, 0) == 0);
}

bool session_selects(const struct session_options *o, const struct ridge_family *family,
                     const struct ridge_shape *shape)
{
    if (o->shapes == 0)
        return shape->level <= o->level || stands_in(family, shape, o->level);
    for (int i = 0; i < o->shapes; i++)
        if (is_named(family, shape, o->shape[i]))
            return true;
    return false;
}

bool session_for_others(const struct session *s, const struct ridge_family *family, const char *shape)
{
    bool others = false;
    for (int i = 0; i < s->registry.count; i++) {
        const struct ridge_entry *entry = s->registry.entry[i];
        others |= entry->variant->kind == s->info.device.kind && shape_has_axes(entry->problem, shape) &&
                  registry_match(entry, s->options.family, s->options.variant);
    }
    return others && !shape_has_axes(family, shape);
}

static bool left_out(const struct session *s, const struct ridge_entry *entry)
{
    if (entry->variant->kind != s->info.device.kind || !registry_match(entry, s->options.family, s->options.variant))
        return false;
    for (int i = 0; i < s->options.shapes; i++)
        if (!strchr(s->options.shape[i], '=') || !session_for_others(s, entry->problem, s->options.shape[i]))
            return false;
    return s->options.shapes > 0;
}

void session_tell_left_out(const struct session *s)
{
    const char *last = "";
    for (int i = 0; i < s->registry.count; i++) {
        const struct ridge_entry *entry = s->registry.entry[i];
        if (strcmp(entry->family, last) == 0 || !left_out(s, entry))
            continue;
        last = entry->family;
        fprintf(stderr, "note: %s is left out: --shape=%s%s names axes that it has not\n", last, s->options.shape[0],
                s->options.shapes > 1 ? " and so on" : "");
    }
}

static int add_step(struct plan *plan, const struct ridge_entry *entry, const int64_t *dim, struct ridge_error *err)
{
    struct step *grown = realloc(plan->step, ((size_t)plan->count + 1) * sizeof *grown);
    if (!grown)
        return ridge_fail(err, RIDGE_ENVIRONMENT, "out of memory for the plan");
    plan->step = grown;
    plan->step[plan->count] = (struct step){.entry = entry};
    memcpy(plan->step[plan->count++].dim, dim, sizeof plan->step->dim);
    return RIDGE_OK;
}

/* All selected variants of one family on one shape. */
static int add_shape(const struct session *s, enum ridge_kind kind, const char *family, const int64_t *dim,
                     struct plan *plan, struct ridge_error *err)
{
    int status = RIDGE_OK;
    for (int i = 0; i < s->registry.count && status == RIDGE_OK; i++) {
        const struct ridge_entry *entry = s->registry.entry[i];
        if (strcmp(entry->family, family) == 0 && entry->variant->kind == kind &&
            registry_match(entry, s->options.family, s->options.variant))
            status = add_step(plan, entry, dim, err);
    }
    return status;
}

static int add_family(const struct session *s, enum ridge_kind kind, const struct ridge_entry *first, struct plan *plan,
                      struct ridge_error *err)
{
    const struct ridge_family *family = first->problem;
    const struct ridge_shape *base = NULL;
    int status = RIDGE_OK;
    for (int i = 0; i < family->shapes && status == RIDGE_OK; i++) {
        if (family->shape[i].kind == kind && !base)
            base = &family->shape[i];
        if (family->shape[i].kind == kind && session_selects(&s->options, family, &family->shape[i]))
            status = add_shape(s, kind, first->family, family->shape[i].dim, plan, err);
    }
    for (int i = 0; i < s->options.shapes && status == RIDGE_OK; i++) {
        int64_t dim[RIDGE_MAX_AXES] = {0};
        if (!strchr(s->options.shape[i], '=') || session_for_others(s, family, s->options.shape[i]))
            continue;
        struct ridge_error reason = {""};
        if (base)
            memcpy(dim, base->dim, sizeof dim);
        status = shape_parse(family, s->options.shape[i], dim, &reason);
        if (status == RIDGE_OK)
            status = shape_validate(family, dim, &reason);
        if (status)
            ridge_fail(err, status, "%s: %s", first->family, reason.text);
        if (status == RIDGE_OK)
            status = add_shape(s, kind, first->family, dim, plan, err);
    }
    return status;
}

void session_hint(const struct session *s, const char *shape, char *text, size_t bytes)
{
    *text = '\0';
    if (!*shape || shape[strspn(shape, "0123456789x")])
        return;
    for (int i = 0; i < s->registry.count; i++) {
        const struct ridge_entry *entry = s->registry.entry[i];
        const char *part = shape;
        size_t used = 0;
        if (!registry_match(entry, s->options.family, s->options.variant))
            continue;
        for (int axis = 0; axis < entry->problem->axes && used < bytes; axis++) {
            const size_t digits = strcspn(part, "x");
            used += (size_t)snprintf(text + used, bytes - used, "%s%s=%.*s",
                                     axis ? "," : "; a shape that is none is spelt ", entry->problem->axis[axis].name,
                                     digits ? (int)digits : 1, digits ? part : "N");
            part += digits + (part[digits] == 'x');
        }
        return;
    }
}

static int no_preset(const struct session *s, const char *shape, struct ridge_error *err)
{
    char spelt[200];
    if (!shape)
        return ridge_fail(err, RIDGE_INVALID, "nothing to run: no preset of this level here (see ridge list)");
    session_hint(s, shape, spelt, sizeof spelt);
    return ridge_fail(err, RIDGE_INVALID, "--shape=%.80s: no preset matches%s (see ridge list)", shape, spelt);
}

/* RIDGE_INVALID for a --shape that names no preset, on whatever device. */
static int refuse_shapes(const struct session *s, struct ridge_error *err)
{
    for (int i = 0; i < s->options.shapes; i++) {
        bool named = strchr(s->options.shape[i], '=') != NULL;
        for (int j = 0; j < s->registry.count && !named; j++) {
            const struct ridge_family *family = s->registry.entry[j]->problem;
            if (!registry_match(s->registry.entry[j], s->options.family, s->options.variant))
                continue;
            for (int k = 0; k < family->shapes; k++)
                named |= is_named(family, &family->shape[k], s->options.shape[i]);
        }
        if (!named)
            return no_preset(s, s->options.shape[i], err);
    }
    return RIDGE_OK;
}

/* Likewise for one of the globs of --family or --variant. */
static int refuse_globs(const struct session *s, struct ridge_error *err)
{
    for (int variants = 0; variants < 2; variants++) {
        const char *unmatched =
            registry_unmatched(&s->registry, variants ? s->options.variant : s->options.family, variants);
        if (unmatched)
            return ridge_fail(err, RIDGE_INVALID, "--%s=%.*s: nothing matches (see ridge list)",
                              variants ? "variant" : "family", (int)strcspn(unmatched, "|"), unmatched);
    }
    return RIDGE_OK;
}

static int nothing_to_run(const struct session *s, enum ridge_kind kind, bool matched, bool elsewhere,
                          struct ridge_error *err)
{
    if (!matched && elsewhere && kind == RIDGE_HOST && s->device_note[0])
        return ridge_fail(err, RIDGE_ENVIRONMENT, "nothing to run: what is selected needs a GPU (%s)", s->device_note);
    const char *family = s->options.family ? s->options.family : "*";
    const char *variant = s->options.variant ? s->options.variant : "*";
    if (matched)
        return no_preset(s, s->options.shapes ? s->options.shape[0] : NULL, err);
    if (!elsewhere)
        return ridge_fail(err, RIDGE_INVALID, "nothing to run: no variant matches '%s' in family '%s' (see ridge list)",
                          variant, family);
    return ridge_fail(err, RIDGE_INVALID, "nothing to run: '%s' in family '%s' matches only %s", variant, family,
                      kind == RIDGE_HOST ? "GPU variants" : "host variants (--device host runs them)");
}

int session_refuse(const struct session *s, struct ridge_error *err)
{
    const enum ridge_kind kind = s->info.device.kind;
    bool any = false, plans = false, emulated = false;
    for (int i = 0; i < s->registry.count; i++) {
        const struct ridge_entry *entry = s->registry.entry[i];
        const bool selected =
            entry->variant->kind == kind && registry_match(entry, s->options.family, s->options.variant);
        any |= selected;
        plans |= selected && entry->variant->plans;
        emulated |= selected && registry_emulates(entry);
    }
    if (any && kind == RIDGE_HOST && s->options.modes.launch == LAUNCH_GRAPH)
        return ridge_fail(err, RIDGE_INVALID,
                          "--launch=graph: only CUDA launches can be captured, and this runs on the host");
    if (any && s->options.modes.emulate && !emulated)
        return ridge_fail(err, RIDGE_INVALID, "--emulate=h20: no selected variant is compiled for it (see ridge list)");
    if (any && s->options.plan && !plans)
        return ridge_fail(err, RIDGE_INVALID, "--plan=%s: no selected variant has plans to choose from",
                          s->options.plan);
    return refuse_globs(s, err);
}

int session_plan(const struct session *s, enum ridge_kind kind, struct plan *plan, struct ridge_error *err)
{
    const char *last = "";
    int status = RIDGE_OK;
    bool matched = false, elsewhere = kind == RIDGE_HOST && registry_left_out(s->options.family, s->options.variant);
    *plan = (struct plan){0};
    for (int i = 0; i < s->registry.count && status == RIDGE_OK; i++) {
        const struct ridge_entry *entry = s->registry.entry[i];
        if (!registry_match(entry, s->options.family, s->options.variant))
            continue;
        elsewhere |= entry->variant->kind != kind;
        if (entry->variant->kind != kind)
            continue;
        matched = true;
        if (strcmp(entry->family, last) != 0) {
            last = entry->family;
            status = add_family(s, kind, entry, plan, err);
        }
    }
    if (status == RIDGE_OK && plan->count == 0)
        status = nothing_to_run(s, kind, matched, elsewhere, err);
    if (status == RIDGE_OK)
        status = session_refuse(s, err);
    if (status == RIDGE_OK)
        status = refuse_shapes(s, err);
    if (status == RIDGE_OK)
        session_tell_left_out(s);
    if (status) {
        free(plan->step);
        *plan = (struct plan){0};
    }
    return status;
}
