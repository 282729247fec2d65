/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/assets.h"
#include "bench/record.h"

static json_t *fixture(const char *name)
{
    char path[1024];
    const char *source = getenv("RIDGE_SOURCE");
    snprintf(path, sizeof path, "%s/tests/fixtures/%s", source ? source : ".", name);
    json_error_t at;
    json_t *record = json_load_file(path, 0, &at);
    if (!record)
        fail_msg("%s:%d: %s", path, at.line, at.text);
    return record;
}

static void fields_are_read_by_path(void **state)
{
    (void)state;
    json_t *record = fixture("record_full.jsonl");
    assert_string_equal(record_string(record, "variant.build.arch"), "sm_90a");
    assert_true(record_number(record, "time.median_ns") == 24320);
    assert_true(record_number(record, "clock.sm_mhz.min") == 1965);
    assert_true(record_is(record, "status", "ok"));
    assert_false(record_is(record, "status", "o"));
    assert_null(record_string(record, "time.median_ns"));
    assert_true(isnan(record_number(record, "status")));
    assert_true(isnan(record_number(record, "reason")));
    assert_null(record_get(record, "time.nothing.deeper"));
    assert_null(record_get(record, "status.deeper"));
    assert_null(record_get(NULL, "status"));
    assert_false(record_is(record, "missing", "ok"));

    size_t n;
    double *sample = record_samples(record, &n);
    assert_int_equal(n, 5);
    assert_true(sample[0] == 24320 && sample[4] == 24304.25);
    free(sample);
    json_decref(record);

    record = fixture("record_minimal.jsonl");
    assert_null(record_samples(record, &n));
    assert_int_equal(n, 0);
    json_decref(record);
}

static void fields_are_set_by_path(void **state)
{
    (void)state;
    json_t *record = json_object();
    record_set_string(record, "variant.build.arch", "sm_90a");
    record_set_number(record, "variant.build.registers", 168);
    record_set_number(record, "time.median_ns", 24304.25);
    record_set_number(record, "big", 137438953472.0);
    record_set_number(record, "lost", NAN);
    record_set_number(record, "endless", INFINITY);
    record_set_string(record, "reason", NULL);
    record_set(record, "argv", json_pack("[s]", "ridge"));
    record_set(record, "empty", NULL);
    record_set_string(record, "big.now_an_object", "yes");
    char *text = json_dumps(record, JSON_COMPACT | JSON_REAL_PRECISION(15));
    assert_string_equal(text, "{\"variant\":{\"build\":{\"arch\":\"sm_90a\",\"registers\":168}},"
                              "\"time\":{\"median_ns\":24304.25},\"big\":{\"now_an_object\":\"yes\"},\"lost\":null,"
                              "\"endless\":null,\"reason\":null,\"argv\":[\"ridge\"],\"empty\":null}");
    free(text);
    json_decref(record);
}

static void keys_pair_what_measures_the_same(void **state)
{
    (void)state;
    json_t *record = fixture("record_full.jsonl");
    char *key = record_key(record);
    assert_string_equal(key, "gemm_f32_02_smem_tile k=64,m=4096,n=512 "
                             "cache=cold/dirty,launch=stream,power=burst,fill=random,emulate=none");
    record_set_string(record, "device.name", "another");
    record_set_string(record, "mode.cache.verified", "contradicted");
    record_set(record, "shape.params", json_pack("{s:i,s:i,s:i}", "k", 64, "n", 512, "m", 4096));
    char *same = record_key(record);
    assert_string_equal(same, key);
    record_set_string(record, "mode.launch.requested", "graph");
    char *other = record_key(record);
    assert_string_not_equal(other, key);
    free(key);
    free(same);
    free(other);
    json_decref(record);

    json_t *empty = json_object();
    key = record_key(empty);
    assert_string_equal(key, "?  cache=?,launch=?,power=?,fill=?,emulate=?");
    free(key);
    json_decref(empty);
}

/* Sets or (with a NULL text) deletes one field of a valid record. */
static void expect(const char *path, const char *json, const char *message)
{
    json_t *record = fixture("record_full.jsonl");
    struct ridge_error err = {""};
    if (json) {
        record_set(record, path, json_loads(json, JSON_DECODE_ANY, NULL));
    } else {
        const char *dot = strrchr(path, '.');
        char parent[128] = "";
        if (dot)
            snprintf(parent, sizeof parent, "%.*s", (int)(dot - path), path);
        json_object_del((json_t *)record_get(record, parent), dot ? dot + 1 : path);
    }
    int status = record_validate(record, &err);
    if (message ? status != RIDGE_INVALID || !strstr(err.text, message) : status != RIDGE_OK)
        fail_msg("%s = %s gave %d \"%s\", expected \"%s\"", path, json ? json : "(nothing)", status, err.text,
                 message ? message : "no error");
    json_decref(record);
}

static void records_are_checked_against_the_schema_file(void **state)
{
    (void)state;
    json_t *minimal = fixture("record_minimal.jsonl");
    assert_int_equal(record_validate(minimal, NULL), RIDGE_OK);
    json_decref(minimal);

    expect("note", "\"unknown keys are kept\"", NULL);
    expect("time", "null", NULL);
    expect("device.cc", "90.0", NULL);
    expect("counters.group", NULL, NULL);
    expect("schema", "\"ridgeline.record/2\"",
           "schema \"ridgeline.record/2\", but this program reads \"ridgeline.record/1\"");
    expect("schema", NULL, "missing key \"schema\"");
    expect("schema", "1", "key \"schema\" is 1");
    expect("time.median_ns", NULL, "missing key \"time.median_ns\"");
    expect("variant.build.cubin_xxh64", NULL, "missing key \"variant.build.cubin_xxh64\"");
    expect("mode.emulate", NULL, "missing key \"mode.emulate\"");
    expect("mode.emulate.requested", NULL, "missing key \"mode.emulate.requested\"");
    expect("run", "[]", "key \"run\" is []");
    expect("device.kind", "\"tpu\"", "key \"device.kind\" is \"tpu\", expected one of [\"cuda\",\"host\"]");
    expect("device.sms", "\"132\"", "key \"device.sms\" is \"132\", expected type \"integer\"");
    expect("device.cc", "90.5", "key \"device.cc\"");
    expect("run.dirty", "null", "key \"run.dirty\" is null, expected type \"boolean\"");
    expect("shape.params", "{\"m\":\"4096\"}", "key \"shape.params.m\"");
    expect("work.issued", "{\"exp\":-1}", "key \"work.issued.exp\" is -1, expected at least 0");
    expect("time.ci95_ns", "[1]", "key \"time.ci95_ns\" is [1], expected a length of at least 2");
    expect("time.ci95_ns", "[1,2,3]", "expected a length of at most 2");
    expect("time.ci95_ns", "null", NULL);
    expect("time.ci95_ns", "[24330,24310]", "key \"time.ci95_ns\" is [24330,24310], expected the lower end first");
    expect("time.median_ns", "0", "key \"time.median_ns\" is 0, expected more than 0");
    expect("time.median_ns", "-5.5", "key \"time.median_ns\" is -5.5, expected more than 0");
    expect("time.samples_ns", "[1,-2]", "key \"time.samples_ns[1]\" is -2, expected at least 0");
    expect("time.discarded", "-1", "key \"time.discarded\" is -1");
    expect("time.rounds", "0", "key \"time.rounds\" is 0, expected at least 1");
    expect("device.sms", "-1", "key \"device.sms\" is -1, expected at least 0");
    expect("check.status", "\"fail\"", "key \"status\" is \"ok\", but \"check.status\" is \"fail\"");
    expect("time.samples_ns", "[1,2,null]", "key \"time.samples_ns[2]\" is null");
    expect("counters.values", "{\"sm__cycles_elapsed.avg\":\"?\"}", "key \"counters.values.sm__cycles_elapsed.avg\"");
    expect("mode.cache.verified", "\"perhaps\"", "key \"mode.cache.verified\"");

    json_t *array = json_array();
    struct ridge_error err;
    assert_int_equal(record_validate(array, &err), RIDGE_INVALID);
    json_decref(array);
}

/* A keyword that the checker does not know would be a rule that nobody enforces. */
static void known_keywords_only(const json_t *schema)
{
    static const char known[] = " $schema $id title description type const enum minimum required properties "
                                "exclusiveMinimum additionalProperties items minItems maxItems $ref $defs ";
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)schema, key, value)
    {
        char word[64];
        snprintf(word, sizeof word, " %s ", key);
        if (!strstr(known, word))
            fail_msg("bench/record_schema.c does not check \"%s\"", key);
        if (strcmp(key, "properties") == 0 || strcmp(key, "$defs") == 0) {
            const char *name;
            json_t *child;
            json_object_foreach(value, name, child) known_keywords_only(child);
        } else if (strcmp(key, "items") == 0 || strcmp(key, "additionalProperties") == 0) {
            assert_true(json_is_object(value));
            known_keywords_only(value);
        } else if (strcmp(key, "$ref") == 0) {
            assert_int_equal(strncmp(json_string_value(value), "#/$defs/", 8), 0);
            assert_int_equal(json_object_size(schema), 1); /* rules beside a $ref are not looked at */
        }
    }
}

static void the_checker_knows_every_keyword_of_the_schema(void **state)
{
    (void)state;
    const struct asset *asset = asset_find("bench/record.schema.json");
    assert_non_null(asset);
    json_t *schema = json_loadb(asset->text, asset->bytes, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(schema);
    known_keywords_only(schema);
    json_decref(schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_read_by_path),
        cmocka_unit_test(fields_are_set_by_path),
        cmocka_unit_test(keys_pair_what_measures_the_same),
        cmocka_unit_test(records_are_checked_against_the_schema_file),
        cmocka_unit_test(the_checker_knows_every_keyword_of_the_schema),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
