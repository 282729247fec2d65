/* SPDX-License-Identifier: Apache-2.0 */
/* Metric groups: JSON files { "name", "meaning", "metrics": [{ "name", "unit", "meaning" }] }. */
#include "profiles/counters.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assets.h"

#define FOLDER "profiles/groups/"

/* Every key of `object` must be among `allowed`, and each of those a string that is not empty, `array` excepted. */
static int check_keys(const json_t *object, const char *const *allowed, const char *array, const char *where,
                      struct ridge_error *err)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value)
    {
        const char *const *known = allowed;
        while (*known && strcmp(*known, key) != 0)
            known++;
        if (!*known)
            return ridge_fail(err, RIDGE_INVALID, "%s: unknown key \"%s\"", where, key);
    }
    for (; *allowed; allowed++) {
        value = json_object_get(object, *allowed);
        if (!value)
            return ridge_fail(err, RIDGE_INVALID, "%s: no \"%s\"", where, *allowed);
        if (array && strcmp(*allowed, array) == 0) {
            if (json_array_size(value) == 0)
                return ridge_fail(err, RIDGE_INVALID, "%s: \"%s\" must be an array with at least one entry", where,
                                  array);
        } else if (json_string_length(value) == 0) {
            return ridge_fail(err, RIDGE_INVALID, "%s: \"%s\" must be a string that is not empty", where, *allowed);
        }
    }
    return RIDGE_OK;
}

static char *copy_string(const json_t *object, const char *key)
{
    return strdup(json_string_value(json_object_get(object, key)));
}

static int read_metric(const json_t *object, size_t index, struct metric_group *group, const char *file,
                       struct ridge_error *err)
{
    static const char *const keys[] = {"name", "unit", "meaning", NULL};
    char where[256];
    snprintf(where, sizeof where, "%s: metrics[%zu]", file, index);
    if (!json_is_object(object))
        return ridge_fail(err, RIDGE_INVALID, "%s: not an object", where);
    int status = check_keys(object, keys, NULL, where, err);
    if (status != RIDGE_OK)
        return status;
    const char *name = json_string_value(json_object_get(object, "name"));
    for (size_t i = 0; i < index; i++)
        if (strcmp(group->metric[i].name, name) == 0)
            return ridge_fail(err, RIDGE_INVALID, "%s: metric %s is there twice", where, name);
    group->metric[index] = (struct metric){.name = copy_string(object, "name"),
                                           .unit = copy_string(object, "unit"),
                                           .meaning = copy_string(object, "meaning")};
    group->count = index + 1;
    return RIDGE_OK;
}

static int parse(const char *text, size_t bytes, const char *file, struct metric_group *group, struct ridge_error *err)
{
    static const char *const keys[] = {"name", "meaning", "metrics", NULL};
    json_error_t where;
    int status = RIDGE_OK;
    json_t *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &where);
    if (!json_is_object(root)) {
        status = root ? ridge_fail(err, RIDGE_INVALID, "%s: not a JSON object", file)
                      : ridge_fail(err, RIDGE_INVALID, "%s:%d: %s", file, where.line, where.text);
        goto out;
    }
    status = check_keys(root, keys, "metrics", file, err);
    if (status != RIDGE_OK)
        goto out;
    const json_t *metrics = json_object_get(root, "metrics");
    group->name = copy_string(root, "name");
    group->meaning = copy_string(root, "meaning");
    group->metric = calloc(json_array_size(metrics), sizeof *group->metric);
    if (!group->name || !group->meaning || !group->metric)
        status = ridge_fail(err, RIDGE_ENVIRONMENT, "out of memory reading %s", file);
    for (size_t i = 0; i < json_array_size(metrics) && status == RIDGE_OK; i++)
        status = read_metric(json_array_get(metrics, i), i, group, file, err);
out:
    json_decref(root);
    if (status != RIDGE_OK)
        metric_group_free(group);
    return status;
}

static int load_file(const char *path, struct metric_group *group, struct ridge_error *err)
{
    char *text = NULL;
    size_t bytes = 0, capacity = 0, got;
    int status;
    FILE *file = fopen(path, "rb");
    if (!file)
        return ridge_fail(err, RIDGE_INVALID, "%s: cannot be read: %m", path);
    do {
        capacity += 65536;
        char *grown = realloc(text, capacity);
        if (!grown) {
            status = ridge_fail(err, RIDGE_ENVIRONMENT, "out of memory reading %s", path);
            goto out;
        }
        text = grown;
        got = fread(text + bytes, 1, capacity - bytes, file);
        bytes += got;
    } while (bytes == capacity);
    if (ferror(file))
        status = ridge_fail(err, RIDGE_INVALID, "%s: cannot be read", path);
    else
        status = parse(text, bytes, path, group, err);
out:
    fclose(file);
    free(text);
    return status;
}

static int unknown_group(const char *name, struct ridge_error *err)
{
    char list[256] = "";
    size_t used = 0;
    for (size_t i = 0; i < ridge_asset_count; i++) {
        const char *path = ridge_assets[i].path;
        if (strncmp(path, FOLDER, strlen(FOLDER)) != 0)
            continue;
        int length = (int)(strlen(path) - strlen(FOLDER) - strlen(".json"));
        int wrote =
            snprintf(list + used, sizeof list - used, "%s%.*s", used ? ", " : "", length, path + strlen(FOLDER));
        if (wrote > 0 && used + (size_t)wrote < sizeof list)
            used += (size_t)wrote;
    }
    return ridge_fail(err, RIDGE_INVALID, "unknown metric group \"%s\"; there are %s, or the path of a .json file",
                      name, list);
}

int metric_group_load(const char *name_or_path, struct metric_group *group, struct ridge_error *err)
{
    *group = (struct metric_group){0};
    size_t length = strlen(name_or_path);
    if (strchr(name_or_path, '/') || (length > 5 && strcmp(name_or_path + length - 5, ".json") == 0))
        return load_file(name_or_path, group, err);
    char path[128];
    const struct asset *asset = NULL;
    if (snprintf(path, sizeof path, FOLDER "%s.json", name_or_path) < (int)sizeof path)
        asset = asset_find(path);
    return asset ? parse(asset->text, asset->bytes, path, group, err) : unknown_group(name_or_path, err);
}

void metric_group_free(struct metric_group *group)
{
    for (size_t i = 0; i < group->count; i++) {
        free(group->metric[i].name);
        free(group->metric[i].unit);
        free(group->metric[i].meaning);
    }
    free(group->metric);
    free(group->name);
    free(group->meaning);
    *group = (struct metric_group){0};
}
