/* SPDX-License-Identifier: Apache-2.0 */
/* Every plan of every variant that has a choice, on every small shape and hard case: `ridge check` meets the one that a
 * variant takes by itself alone, which on small shapes is the smallest tile. Against the GPU reference, which gpu_check
 * holds against the C reference. */
#include "tests/gpu_launch.h"
#include "tests/gpu_records.h"

#include "bench/registry.h"
#include "bench/runner.h"

#ifdef RIDGE_WITH_CUDA

enum { MOST_PLANS = 256 };

struct trial {
    struct device_info info;
    struct timer_quality timer; /* nothing is timed */
    struct runner runner;
    int runs, refused, failures;
};

static bool never(void)
{
    return false;
}

/* A plan may refuse hard inputs before anything is launched, as one that takes every index for valid does. */
static void try_plan(struct trial *t, struct problem *problem, const struct ridge_entry *entry, const char *plan)
{
    struct ridge_error err;
    json_t *record = NULL;
    t->info.device.plan = plan;
    const int status = runner_run(&t->runner, problem, entry, NULL, &record, &err);
    t->info.device.plan = NULL;
    if (status == RIDGE_INVALID && problem->hard) {
        t->refused++;
        return;
    }
    must(status, &err);
    t->runs++;
    if (!record_is(record, "status", "ok")) {
        t->failures++;
        printf("FAIL: %s_%s, plan %s, %s, %s: %s\n", entry->family, entry->label, plan,
               record_string(record, "shape.name"),
               problem->hard ? problem->family->cases[problem->hard - 1] : "random", record_string(record, "reason"));
    }
    json_decref(record);
}

/* The first plan is what the variant takes by itself. */
static void try_variant(struct trial *t, struct problem *problem, const struct ridge_entry *entry)
{
    static char plan[MOST_PLANS][RIDGE_PLAN_BYTES];
    json_t *skip = runner_skip(&t->runner, entry, problem->dim);
    const int plans = skip ? 0 : entry->variant->plans(problem->dim, &t->info.device, plan, MOST_PLANS);
    for (int i = 1; i < plans; i++)
        try_plan(t, problem, entry, plan[i]);
    json_decref(skip);
}

static bool has_choice(const struct ridge_entry *entry)
{
    return entry->variant->kind == RIDGE_CUDA && entry->variant->plans;
}

/* All variants of the family of entry `first`, which has a choice. */
static void try_shape(struct trial *t, int first, const int64_t *dim, int hard)
{
    const struct ridge_entry *entry = &ridge_builtin_entries[first];
    struct problem problem;
    struct ridge_error err;
    must(problem_open(&problem, &device_cuda, &t->info.device, entry->problem, dim, FILL_RANDOM, hard, 1, &err), &err);
    must(problem_reference(&problem, entry->reference, &err), &err);
    for (int i = first; i < ridge_builtin_entry_count && strcmp(ridge_builtin_entries[i].family, entry->family) == 0;
         i++)
        if (has_choice(&ridge_builtin_entries[i]))
            try_variant(t, &problem, &ridge_builtin_entries[i]);
    problem_close(&problem);
}

static void try_family(struct trial *t, int first)
{
    const struct ridge_entry *entry = &ridge_builtin_entries[first];
    const struct ridge_family *family = entry->problem;
    const int runs = t->runs, refused = t->refused, failures = t->failures;
    for (int i = 0; i < family->check_dims; i++)
        for (int hard = 0; hard == 0 || (family->cases && family->cases[hard - 1]); hard++)
            try_shape(t, first, family->check_dim[i], hard);
    printf("%s: %d runs, %d refused, %d failures\n", entry->family, t->runs - runs, t->refused - refused,
           t->failures - failures);
}

/* gpu_plans [family] */
int main(int argc, char **argv)
{
    struct trial t = {.runner = {.ops = &device_cuda,
                                 .modes = MODES_DEFAULT,
                                 .counters_reason = "not asked for",
                                 .run_id = "gpu_plans",
                                 .argc = argc,
                                 .argv = argv,
                                 .interrupted = never}};
    const char *last = "";
    t.runner.info = &t.info;
    t.runner.timer = &t.timer;
    gpu_open_hopper(&t.info);
    for (int i = 0; i < ridge_builtin_entry_count; i++) {
        const struct ridge_entry *entry = &ridge_builtin_entries[i];
        if (!has_choice(entry) || strcmp(entry->family, last) == 0 || (argc > 1 && strcmp(argv[1], entry->family) != 0))
            continue;
        last = entry->family;
        try_family(&t, i);
    }
    device_cuda.close();
    return t.failures || !t.runs;
}

#else

int main(void)
{
    printf("skipped: built without CUDA\n");
    return SKIPPED;
}

#endif
