/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/version.h"
#include "bench/shape.h"
#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/session.h"

static int parse(int key, char *value, struct argp_state *state)
{
    if (key != ARGP_KEY_INIT)
        return inputs_none(key, value, state);
    state->child_inputs[0] = state->input;
    return 0;
}

/* --device, where "auto" lists both kinds. */
static bool listed(const struct session_options *options, enum ridge_kind kind)
{
    return strcmp(options->device, kind == RIDGE_CUDA ? "host" : "cuda") != 0;
}

/* With --shape, families without such a shape are left out. */
static bool shapes_listed(const struct session_options *options, const struct ridge_family *family)
{
    for (int i = 0; i < family->shapes; i++)
        if (listed(options, family->shape[i].kind) && session_selects(options, family, &family->shape[i]))
            return true;
    return options->shapes == 0;
}

static void print_family(const struct ridge_entry *entry, const struct session_options *options)
{
    static const char *const levels[] = {"quick", "standard", "full"};
    const struct ridge_family *family = entry->problem;
    char name[256];
    printf("%s: %s\n", entry->family, family->problem);
    for (int i = 0; i < family->axes; i++) {
        const struct ridge_axis *axis = &family->axis[i];
        printf("  axis %-10s %s, %lld to %lld", axis->name, axis->meaning, (long long)axis->min, (long long)axis->max);
        if (axis->multiple > 1)
            printf(", a multiple of %lld", (long long)axis->multiple);
        printf("\n");
    }
    for (int i = 0; family->cases && family->cases[i]; i++)
        printf("%s%s", i ? ", " : "  hard inputs: ", family->cases[i]);
    if (family->cases && family->cases[0])
        printf("\n");
    for (int i = 0; i < family->shapes; i++) {
        if (!listed(options, family->shape[i].kind) || !session_selects(options, family, &family->shape[i]))
            continue;
        shape_name(family, family->shape[i].dim, name, sizeof name);
        printf("  shape %-28s %-16s %s, %s\n", name, family->shape[i].name,
               family->shape[i].kind == RIDGE_CUDA ? "cuda" : "host", levels[family->shape[i].level]);
    }
}

int cmd_list(int argc, char **argv, struct ridge_error *err)
{
    const struct argp_child children[] = {{&session_selection_argp, 0, NULL, 1}, {0}};
    const struct argp argp = {NULL,
                              parse,
                              NULL,
                              "Lists families, their axes, hard inputs and shapes, and variants; with --device host or "
                              "cuda those that run there, with --shape or --preset those shapes alone.",
                              children,
                              NULL,
                              NULL};
    struct session_options options;
    struct session session;
    const char *last = "";
    int shown = 0;
    bool found = false;
    session_defaults(&options);
    options.level = RIDGE_FULL;
    int status = session_parse(&argp, argc, argv, &options, &options, err);
    if (status)
        return status;
    status = session_open_registry(&session, &options, err);
    for (int i = 0; i < session.registry.count && status == RIDGE_OK; i++) {
        const struct ridge_entry *entry = session.registry.entry[i];
        if (!registry_match(entry, options.family, options.variant) || !listed(&options, entry->variant->kind))
            continue;
        found = true;
        if (!shapes_listed(&options, entry->problem))
            continue;
        if (strcmp(last, entry->family) != 0) {
            printf("%s", shown ? "\n" : "");
            print_family(entry, &options);
        }
        last = entry->family;
        printf("  %-32s %s%s\n", entry->label, entry->variant->idea,
               registry_emulated(entry) ? " [--emulate h20]" : "");
        shown++;
    }
    if (status == RIDGE_OK && shown == 0 && found)
        status = ridge_fail(err, RIDGE_INVALID, "--shape=%.80s: no preset matches%s", options.shape[0],
                            strchr(options.shape[0], '=') ? " (a shape is spelt for commands that run it)" : "");
    else if (status == RIDGE_OK && shown == 0 && listed(&options, RIDGE_CUDA) &&
             registry_left_out(options.family, options.variant))
        status = ridge_fail(err, RIDGE_ENVIRONMENT, "nothing to list: this build has no CUDA variants: %s",
                            ridge_build_note);
    else if (status == RIDGE_OK && shown == 0)
        status =
            ridge_fail(err, RIDGE_INVALID, "no variant matches --family=%s --variant=%s --device=%s",
                       options.family ? options.family : "*", options.variant ? options.variant : "*", options.device);
    registry_close(&session.registry);
    return status;
}
