/* SPDX-License-Identifier: Apache-2.0 */
/* Every host variant of the registry against its family's reference: a new variant needs no edit here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <omp.h>

#include "bench/registry.h"
#include "kernels/gemm_f32/gemm_f32_blocked.h"
#include "tests/family_case.h"

static const struct ridge_device device = {.kind = RIDGE_HOST, .sms = 2, .l2_bytes = 1 << 20};

static void run(const struct ridge_entry *entry, struct family_case *c)
{
    const struct ridge_variant *variant = entry->variant;
    char message[256] = "";
    void *workspace = NULL;
    if (variant->workspace_bytes) {
        const size_t bytes = variant->workspace_bytes(c->dim, &device);
        workspace = case_alloc(bytes);
        memset(workspace, CASE_POISON, bytes);
    }
    struct ridge_call call = {.dim = c->dim,
                              .buffer = c->buffer,
                              .workspace = workspace,
                              .device = &device,
                              .error = message,
                              .error_bytes = sizeof message};
    if (variant->setup)
        assert_int_equal(variant->setup(&call, &call.state), 0);
    if (variant->describe)
        assert_non_null(variant->describe(call.state));
    case_reset(c);
    if (variant->launch(&call) != 0)
        fail_msg("%s: %s", entry->file, message);
    if (variant->teardown)
        variant->teardown(call.state);
    free(workspace);
}

/* Bits of the outputs, for two launches that must agree. */
static inline uint64_t output_hash(const struct family_case *c)
{
    uint64_t hash = 0;
    for (int i = 0; i < c->family->buffers; i++)
        for (size_t j = 0; c->family->buffer[i].role != RIDGE_INPUT && j < c->bytes[i]; j++)
            hash = fill_hash(hash, ((const unsigned char *)c->buffer[i])[j]);
    return hash;
}

static void check_case(const struct ridge_entry *entry, struct family_case *c, int hard)
{
    run(entry, c);
    const double error = case_max_error(c);
    if (!(error <= 1))
        fail_msg("%s: shape %ld x %ld x %ld..., case %d: error of %g tolerances", entry->file, (long)c->dim[0],
                 (long)c->dim[1], (long)c->dim[2], hard, error);
    assert_int_equal(case_guard_damage(c), 0);
#ifndef __SANITIZE_ADDRESS__ /* for bits that move the build without sanitizers is the faster one */
    const uint64_t first = output_hash(c);
    run(entry, c);
    if (!entry->variant->may_differ && output_hash(c) != first)
        fail_msg("%s: two launches differ and may_differ is not set", entry->file);
#endif
}

/* One case of a family, whose reference is computed once, by its host variants: entries first to last - 1. */
static void check_family(int first, int last, const int64_t *dim, int hard)
{
    struct family_case shared = {0};
    for (int e = first; e < last; e++) {
        const struct ridge_variant *variant = ridge_builtin_entries[e].variant;
        struct family_case own, *c = &shared;
        bool moved = false;
        for (int i = 0; i < RIDGE_MAX_BUFFERS; i++)
            moved |= variant->offset_bytes[i] != 0;
        if (variant->kind != RIDGE_HOST || (variant->unsupported && variant->unsupported(dim, &device)))
            continue;
        if (moved)
            case_open(c = &own, ridge_builtin_entries[e].problem, dim, hard, variant->offset_bytes);
        else if (!shared.family)
            case_open(&shared, ridge_builtin_entries[e].problem, dim, hard, NULL);
        check_case(&ridge_builtin_entries[e], c, hard);
        if (moved)
            case_close(&own);
    }
    if (shared.family)
        case_close(&shared);
}

/* Behind the last entry of the family of entry `first`. */
static int family_end(int first)
{
    int last = first;
    while (last < ridge_builtin_entry_count &&
           ridge_builtin_entries[last].problem == ridge_builtin_entries[first].problem)
        last++;
    return last;
}

/* The sanitizers, under which all of it takes a minute, see every shape and every case, but not every pair of them. */
#ifdef __SANITIZE_ADDRESS__
static const bool in_turn = true;
#else
static const bool in_turn = false;
#endif

static void every_variant_matches_its_reference(void **state)
{
    (void)state;
    int checked = 0;
    for (int first = 0, last; first < ridge_builtin_entry_count; first = last) {
        const struct ridge_family *family = ridge_builtin_entries[first].problem;
        int cases = 0;
        last = family_end(first);
        for (int e = first; e < last; e++)
            checked += ridge_builtin_entries[e].variant->kind == RIDGE_HOST;
        while (family->cases && family->cases[cases])
            cases++;
        for (int d = 0; d < family->check_dims; d++)
            for (int hard = 0; hard <= cases; hard++)
                if (!in_turn || hard == d % (cases + 1))
                    check_family(first, last, family->check_dim[d], hard);
    }
    assert_true(checked >= 15);
}

static void thread_counts_that_do_not_divide_the_work(void **state)
{
    (void)state;
    const int threads = omp_get_max_threads();
    for (int first = 0, last; first < ridge_builtin_entry_count; first = last) {
        const struct ridge_family *family = ridge_builtin_entries[first].problem;
        last = family_end(first);
        for (int n = 1; n <= 7; n += 3) {
            omp_set_num_threads(n);
            check_family(first, last, family->check_dim[family->check_dims - 1], 0);
        }
    }
    omp_set_num_threads(threads);
}

/* The comparison itself: an element that was not written, a NaN and a wrong value fail. */
static void wrong_outputs_fail(void **state)
{
    (void)state;
    extern const struct ridge_family ridge_family_gemm_f32;
    const int64_t dim[] = {3, 5, 7};
    struct family_case c;
    case_open(&c, &ridge_family_gemm_f32, dim, 0, NULL);
    float *d = c.buffer[2];
    case_reset(&c);
    assert_true(isnan(d[0]));
    assert_true(isinf(case_max_error(&c)));
    for (int i = 0; i < 15; i++)
        d[i] = (float)c.ref[0][i];
    assert_true(case_max_error(&c) < 0.01);
    d[7] = NAN;
    assert_false(case_max_error(&c) <= 1);
    d[7] = (float)(c.ref[0][7] + 2 * ridge_family_gemm_f32.tolerance.mag_rel * c.mag[0][7]);
    const double error = case_max_error(&c);
    assert_true(error > 1.9 && error < 2.1);
    d[7] = INFINITY;
    assert_false(case_max_error(&c) <= 1);
    ((unsigned char *)(d + 15))[3] = 0;
    assert_int_equal(case_guard_damage(&c), 1);
    case_close(&c);
}

/* A NaN in an input reaches the output and is not hidden by the reference or by a variant. */
static void nan_inputs_are_seen(void **state)
{
    (void)state;
    for (int e = 0; e < ridge_builtin_entry_count; e++) {
        const struct ridge_entry *entry = &ridge_builtin_entries[e];
        if (entry->variant->kind != RIDGE_HOST || strncmp(entry->family, "gemm_", 5) != 0 ||
            (entry->variant->unsupported && entry->variant->unsupported(entry->problem->check_dim[2], &device)))
            continue;
        struct family_case c;
        case_open(&c, entry->problem, entry->problem->check_dim[2], 0, NULL);
        memset(c.buffer[0], 0xff, fill_dtype_bytes(entry->problem->buffer[0].dtype));
        run(entry, &c);
        for (int64_t j = 0; j < c.dim[1]; j++)
            assert_true(isnan(case_value(c.buffer[2], entry->problem->buffer[2].dtype, j)));
        assert_false(case_max_error(&c) <= 1);
        case_close(&c);
    }
}

/* h03_blocked picks one instruction set; the others must be right too. */
static void every_instruction_set_of_the_blocked_gemm(void **state)
{
    (void)state;
    extern const struct ridge_family ridge_family_gemm_f32;
    const struct ridge_family *family = &ridge_family_gemm_f32;
    int supported = 0;
    for (int isa = 0; isa < blocked_isa_count; isa++) {
        if (!blocked_isas[isa].supported())
            continue;
        supported++;
        for (int s = 0; s < family->check_dims; s++) {
            struct family_case c;
            case_open(&c, family, family->check_dim[s], 0, NULL);
            void *workspace = case_alloc(blocked_workspace_bytes(&blocked_isas[isa], c.dim));
            case_reset(&c);
            blocked_gemm(&blocked_isas[isa], c.dim, c.buffer[0], c.buffer[1], c.buffer[2], workspace);
            if (!(case_max_error(&c) <= 1))
                fail_msg("%s: error of %g tolerances", blocked_isas[isa].name, case_max_error(&c));
            assert_int_equal(case_guard_damage(&c), 0);
            free(workspace);
            case_close(&c);
        }
    }
    assert_true(supported >= 1);
    assert_true(blocked_isas[blocked_isa_count - 1].supported());
}

static bool sane(const struct ridge_work *work)
{
    bool good = true;
#define SANE(key) good = good && work->key >= 0 && isfinite(work->key);
    RIDGE_WORK_KEYS(SANE)
#undef SANE
    return good;
}

static void work_is_finite_and_not_negative(void **state)
{
    (void)state;
    for (int e = 0; e < ridge_builtin_entry_count; e++) {
        const struct ridge_entry *entry = &ridge_builtin_entries[e];
        for (int s = 0; entry->variant->kind == RIDGE_HOST && s < entry->problem->shapes; s++) {
            if (entry->problem->shape[s].kind != RIDGE_HOST)
                continue;
            struct ridge_work work = {0};
            entry->problem->work(entry->problem->shape[s].dim, &work);
            assert_true(sane(&work));
            if (entry->variant->issued)
                entry->variant->issued(entry->problem->shape[s].dim, &device, &work);
            assert_true(sane(&work));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_variant_matches_its_reference),
        cmocka_unit_test(thread_counts_that_do_not_divide_the_work),
        cmocka_unit_test(wrong_outputs_fail),
        cmocka_unit_test(nan_inputs_are_seen),
        cmocka_unit_test(every_instruction_set_of_the_blocked_gemm),
        cmocka_unit_test(work_is_finite_and_not_negative),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
