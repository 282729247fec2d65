/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comparison of two sets of records. Records with one record_key on one device make a pair; the samples of a pair give
 * an interval of the ratio of medians (new / base), corrected for the number of pairs, and from it a verdict.
 */
#ifndef RIDGE_COMPARE_H
#define RIDGE_COMPARE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "base/stats.h"
#include "bench/record.h"

enum verdict {                 /* in the order in which they are listed */
               VERDICT_BROKEN, /* measured in base, failed in new */
               VERDICT_SLOWER,
               VERDICT_NOT_COMPARABLE,
               VERDICT_INCONCLUSIVE,
               VERDICT_FASTER,
               VERDICT_SAME,
               VERDICT_REFERENCE, /* the vendor variant to which the others are taken relative */
               VERDICT_COUNT
};
const char *verdict_name(enum verdict verdict);

struct pair {
    const json_t *base, *now;             /* borrowed */
    const char *family, *variant, *shape; /* variant: "gemm_f32_02_smem_tile" */
    char mode[160];
    bool vendor; /* label 90 to 99 */
    enum verdict verdict;
    struct stats_interval raw;   /* new / base, corrected interval; NaN without samples */
    struct stats_interval ratio; /* what the verdict is about: raw, or relative to the vendor variant */
    bool relative;
    double clock_ratio; /* raw value times the ratio of SM clocks: the ratio at equal clock; NaN without clocks */
    const char *code;   /* device code: "same", "other", "-" where there is none to compare */
    bool environment;   /* slower or faster, but the code that ran is the same: not a regression */
    char note[400];     /* why not comparable or inconclusive, and exact signals that moved */
};

struct comparison {
    struct pair *pair; /* by verdict, then in the order of the new records */
    size_t pairs;
    size_t count[VERDICT_COUNT];
    size_t slower_environment;
    json_t *only_base, *only_now; /* names, with the reason where a skip explains it */
    size_t skipped;               /* skipped, failed or below the timer's quantum on both sides */
    double threshold;             /* 0.02 */
    double level;                 /* of one interval after correction */
    char notes[1200];             /* lines, each ended by \n */
};

/* The lists must outlive the comparison. Nothing about verdicts is an error. */
int compare_build(struct comparison *comparison, const struct record_list *base, const struct record_list *now,
                  double threshold, struct ridge_error *err);
void compare_free(struct comparison *comparison);

/* Exit code: RIDGE_ENVIRONMENT, RIDGE_REGRESSION, RIDGE_INCONCLUSIVE, RIDGE_OK, the first that applies, with the
 * reason in *err. Inconclusive only when more than 5 % of the pairs are. */
int compare_status(const struct comparison *comparison, struct ridge_error *err);

/* One sentence: how many pairs came out how. Malloced. */
char *compare_summary(const struct comparison *comparison);

int compare_print(const struct comparison *comparison, FILE *out, struct ridge_error *err);
int compare_markdown(const struct comparison *comparison, FILE *out, struct ridge_error *err);
void compare_junit(const struct comparison *comparison, FILE *out);

/* Fills code, environment, clock_ratio and the signals in note; needs the verdict. */
void compare_signals(struct pair *pair, double threshold);

#endif
