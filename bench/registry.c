/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/registry.h"

#include <dlfcn.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/problem.h"

enum { NAME_BYTES = 128, LONGEST_NAME = 63, LONGEST_AXIS = 31 };

void registry_name(const struct ridge_entry *entry, char *buf, size_t bytes)
{
    snprintf(buf, bytes, "%s_%s", entry->family, entry->label);
}

/* The first of globs separated by '|', empty where it is longer than any name; returns what follows, or NULL. */
static const char *take_glob(const char *globs, char glob[NAME_BYTES])
{
    const size_t bytes = strcspn(globs, "|");
    snprintf(glob, NAME_BYTES, "%.*s", bytes < NAME_BYTES ? (int)bytes : 0, globs);
    return globs[bytes] ? globs + bytes + 1 : NULL;
}

static bool any_matches(const char *globs, const char *name)
{
    char glob[NAME_BYTES];
    while (globs) {
        globs = take_glob(globs, glob);
        if (fnmatch(glob, name, 0) == 0)
            return true;
    }
    return false;
}

bool registry_match(const struct ridge_entry *entry, const char *family_glob, const char *variant_glob)
{
    char name[NAME_BYTES];
    registry_name(entry, name, sizeof name);
    if (family_glob && !any_matches(family_glob, entry->family))
        return false;
    return !variant_glob || any_matches(variant_glob, entry->label) || any_matches(variant_glob, name);
}

bool registry_left_out(const char *family_glob, const char *variant_glob)
{
    for (int i = 0; i < ridge_left_out_count; i++)
        if (registry_match(&ridge_left_out_entries[i], family_glob, variant_glob))
            return true;
    return false;
}

const char *registry_unmatched(const struct registry *registry, const char *globs, bool variants)
{
    char glob[NAME_BYTES];
    for (const char *next; globs; globs = next) {
        next = take_glob(globs, glob);
        const char *family = variants ? NULL : glob, *variant = variants ? glob : NULL;
        bool matched = registry_left_out(family, variant);
        for (int i = 0; i < registry->count && !matched; i++)
            matched = registry_match(registry->entry[i], family, variant);
        if (!matched)
            return globs;
    }
    return NULL;
}

static int compare_entries(const void *a, const void *b)
{
    const struct ridge_entry *x = *(const struct ridge_entry *const *)a, *y = *(const struct ridge_entry *const *)b;
    int order = strcmp(x->family, y->family);
    return order ? order : strcmp(x->label, y->label);
}

static const struct ridge_entry *find_family(const struct registry *registry, const char *family)
{
    for (int i = 0; i < registry->count; i++)
        if (strcmp(registry->entry[i]->family, family) == 0)
            return registry->entry[i];
    return NULL;
}

static const struct ridge_entry *find_variant(const struct registry *registry, const struct ridge_entry *like)
{
    for (int i = 0; i < registry->count; i++)
        if (compare_entries(&registry->entry[i], &like) == 0)
            return registry->entry[i];
    return NULL;
}

/* Variants of one family share its buffers. */
static bool same_axes_and_buffers(const struct ridge_family *a, const struct ridge_family *b)
{
    bool same = a->axes == b->axes && a->buffers == b->buffers;
    for (int i = 0; same && i < a->axes; i++)
        same = strcmp(a->axis[i].name, b->axis[i].name) == 0;
    for (int i = 0; same && i < a->buffers; i++)
        same = a->buffer[i].dtype == b->buffer[i].dtype && a->buffer[i].role == b->buffer[i].role;
    return same;
}

/* Part of a file name, a record's path and a variant's name: lower case, digits and underscores. */
static bool is_name(const char *text, size_t longest)
{
    size_t length = text ? strlen(text) : 0;
    return length > 0 && length <= longest && strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_") == length;
}

static const char *axis_fault(const struct ridge_family *family)
{
    if (family->axes < 1 || family->axes > RIDGE_MAX_AXES)
        return "has no axes or too many";
    for (int i = 0; i < family->axes; i++) {
        if (!is_name(family->axis[i].name, LONGEST_AXIS))
            return "has an axis whose name is not of lower case, digits and underscores";
        if (family->axis[i].min > family->axis[i].max)
            return "has an axis that no value fits";
        for (int j = 0; j < i; j++)
            if (strcmp(family->axis[i].name, family->axis[j].name) == 0)
                return "has two axes of one name";
    }
    return NULL;
}

static const char *buffer_fault(const struct ridge_family *family)
{
    if (family->buffers < 1 || family->buffers > RIDGE_MAX_BUFFERS)
        return "has no buffers or too many";
    for (int i = 0; i < family->buffers; i++) {
        const struct ridge_buffer *b = &family->buffer[i];
        if (!b->name || !b->count)
            return "has a buffer without name or count";
        if (b->dtype > RIDGE_U8 || b->role > RIDGE_INOUT || b->fill > RIDGE_FILL_CUSTOM)
            return "has a buffer of unknown dtype, role or fill";
        if (b->fill == RIDGE_FILL_CUSTOM && b->role != RIDGE_OUTPUT && !family->fill)
            return "has a buffer that its fill would write, but no fill";
    }
    return NULL;
}

/* What the harness relies on; NULL if it is all there. */
static const char *problem_fault(const struct ridge_family *family)
{
    if (!family->problem || !family->reference || !family->work)
        return "lacks its problem, reference or work";
    if (!(family->tolerance.rel >= 0) || !(family->tolerance.mag_rel >= 0))
        return "has a tolerance that is negative or NaN";
    if (family->shapes < 0 || (family->shapes && !family->shape) || family->check_dims < 0 ||
        (family->check_dims && !family->check_dim))
        return "lacks the shapes that it counts";
    for (int i = 0; i < family->shapes; i++)
        if (!family->shape[i].name || family->shape[i].level > RIDGE_FULL || family->shape[i].kind > RIDGE_CUDA)
            return "has a preset without name, level or kind";
    const char *fault = axis_fault(family);
    return fault ? fault : buffer_fault(family);
}

static const char *variant_fault(const struct ridge_variant *variant)
{
    if (!variant->launch || !variant->idea)
        return "lacks its launch or its idea";
    if (variant->kind > RIDGE_CUDA)
        return "is of an unknown kind";
    for (int i = 0; i < RIDGE_MAX_BUFFERS; i++)
        if (variant->offset_bytes[i] > PROBLEM_LARGEST_OFFSET)
            return "has an offset beyond the slack around buffers";
    return NULL;
}

static int check_names(const char *path, const struct ridge_entry *entry, struct ridge_error *err)
{
    if (!is_name(entry->family, LONGEST_NAME))
        return ridge_fail(err, RIDGE_INVALID,
                          "%s: family \"%.80s\" must be of lower case, digits and underscores, at most %d", path,
                          entry->family, LONGEST_NAME);
    const char *rule = entry->variant->kind == RIDGE_HOST ? "h[0-9][0-9]_?*" : "[0-9][0-9]_?*";
    if (fnmatch(rule, entry->label, 0) != 0 || !is_name(entry->label, LONGEST_NAME))
        return ridge_fail(err, RIDGE_INVALID,
                          "%s: label \"%.80s\" of family %s must look like %s, in lower case, at most %d", path,
                          entry->label, entry->family, rule, LONGEST_NAME);
    return RIDGE_OK;
}

/* What the build and the tests check for built-in variants. */
static int check_entry(const struct registry *registry, const char *path, const struct ridge_entry *entry,
                       struct ridge_error *err)
{
    if (!entry->family || !entry->label || !entry->file || !entry->variant)
        return ridge_fail(err, RIDGE_INVALID, "%s: an entry lacks its family, label, file or variant", path);
    const char *fault = variant_fault(entry->variant);
    if (fault)
        return ridge_fail(err, RIDGE_INVALID, "%s: variant %.80s_%.80s %s", path, entry->family, entry->label, fault);
    int status = check_names(path, entry, err);
    if (status)
        return status;
    fault = entry->problem ? problem_fault(entry->problem) : NULL;
    if (fault)
        return ridge_fail(err, RIDGE_INVALID, "%s: family %s %s", path, entry->family, fault);
    const struct ridge_entry *other = find_variant(registry, entry);
    if (other)
        return ridge_fail(err, RIDGE_INVALID, "%s: variant %s_%s of %s is already there, from %s", path, entry->family,
                          entry->label, entry->file, other->file);
    other = find_family(registry, entry->family);
    if (!other && !entry->problem)
        return ridge_fail(err, RIDGE_INVALID, "%s: variant %s_%s brings no problem, and there is no family %s", path,
                          entry->family, entry->label, entry->family);
    if (other && entry->problem && !same_axes_and_buffers(other->problem, entry->problem))
        return ridge_fail(err, RIDGE_INVALID, "%s: family %s of %s has other axes or buffers than that of %s", path,
                          entry->family, entry->file, other->file);
    return RIDGE_OK;
}

int registry_open(struct registry *registry, struct ridge_error *err)
{
    *registry = (struct registry){.count = 0};
    registry->entry = malloc(((size_t)ridge_builtin_entry_count + 1) * sizeof *registry->entry);
    if (!registry->entry)
        return ridge_fail(err, RIDGE_ENVIRONMENT, "no memory for the registry");
    for (int i = 0; i < ridge_builtin_entry_count; i++)
        registry->entry[registry->count++] = &ridge_builtin_entries[i];
    return RIDGE_OK;
}

/* The plugin's table, or NULL with the message. */
static const struct ridge_plugin *plugin_table(void *handle, const char *path, struct ridge_error *err)
{
    const struct ridge_plugin *plugin = dlsym(handle, "ridge_plugin");
    if (!plugin)
        ridge_fail(err, RIDGE_INVALID, "%s: not a plugin, it has no symbol ridge_plugin", path);
    else if (plugin->abi_version != RIDGE_ABI_VERSION)
        ridge_fail(err, RIDGE_INVALID, "%s: plugin ABI version %d, but this program has version %d", path,
                   plugin->abi_version, RIDGE_ABI_VERSION);
    else if (plugin->entries < 1 || !plugin->entry)
        ridge_fail(err, RIDGE_INVALID, "%s: a plugin without variants", path);
    else
        return plugin;
    return NULL;
}

/* `grown` is the registry with arrays that have room for the plugin; its old arrays stay whole. */
static int add_plugin(struct registry *grown, const char *path, const struct ridge_plugin *plugin, void *handle,
                      struct ridge_error *err)
{
    struct ridge_entry *copy = grown->adopted[grown->plugins];
    for (int i = 0; i < plugin->entries; i++) {
        int status = check_entry(grown, path, &plugin->entry[i], err);
        if (status)
            return status;
        copy[i] = plugin->entry[i];
        if (!copy[i].problem) {
            const struct ridge_entry *family = find_family(grown, copy[i].family);
            copy[i].problem = family->problem;
            copy[i].reference = family->reference;
        }
        grown->entry[grown->count++] = &copy[i];
        qsort(grown->entry, (size_t)grown->count, sizeof *grown->entry, compare_entries);
    }
    grown->plugin[grown->plugins++] = handle;
    return RIDGE_OK;
}

static void *copy_array(const void *array, size_t bytes, size_t more_bytes)
{
    void *copy = malloc(bytes + more_bytes);
    if (copy && bytes)
        memcpy(copy, array, bytes);
    return copy;
}

static void free_arrays(struct registry *registry)
{
    free(registry->plugin);
    free(registry->adopted);
    free(registry->entry);
}

int registry_load(struct registry *registry, const char *path, struct ridge_error *err)
{
    char file[4096];
    snprintf(file, sizeof file, "%s%s", strchr(path, '/') ? "" : "./", path); /* not from the system's folders */
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return ridge_fail(err, RIDGE_INVALID, "cannot load plugin: %s", dlerror());
    const struct ridge_plugin *plugin = plugin_table(handle, path, err);
    if (!plugin) {
        dlclose(handle);
        return RIDGE_INVALID;
    }
    size_t plugins = (size_t)registry->plugins, added = (size_t)plugin->entries;
    struct registry grown = *registry;
    struct ridge_entry *copy = malloc(added * sizeof *copy);
    grown.entry =
        copy_array(registry->entry, (size_t)registry->count * sizeof *grown.entry, added * sizeof *grown.entry);
    grown.plugin = copy_array(registry->plugin, plugins * sizeof *grown.plugin, sizeof *grown.plugin);
    grown.adopted = copy_array(registry->adopted, plugins * sizeof *grown.adopted, sizeof *grown.adopted);
    int status = RIDGE_OK;
    if (!copy || !grown.entry || !grown.plugin || !grown.adopted) {
        status = ridge_fail(err, RIDGE_ENVIRONMENT, "no memory to load %s", path);
    } else {
        grown.adopted[plugins] = copy;
        status = add_plugin(&grown, path, plugin, handle, err);
    }
    if (status) {
        free_arrays(&grown);
        free(copy);
        dlclose(handle);
    } else {
        free_arrays(registry);
        *registry = grown;
    }
    return status;
}

bool registry_emulates(const struct ridge_entry *entry)
{
    return entry >= ridge_emulated_entries && entry < ridge_emulated_entries + ridge_emulated_entry_count;
}

/* What --emulate runs in the place of a variant, or NULL. */
static const struct ridge_entry *emulated_of(const struct ridge_entry *entry)
{
    for (int i = 0; i < ridge_emulated_entry_count; i++) {
        const struct ridge_entry *emulated = &ridge_emulated_entries[i];
        if (compare_entries(&entry, &emulated) == 0)
            return emulated;
    }
    return NULL;
}

bool registry_emulated(const struct ridge_entry *entry)
{
    return emulated_of(entry) != NULL;
}

void registry_emulate(struct registry *registry)
{
    for (int i = 0; i < registry->count; i++) {
        const struct ridge_entry *emulated = emulated_of(registry->entry[i]);
        if (emulated)
            registry->entry[i] = emulated;
    }
}

void registry_close(struct registry *registry)
{
    for (int i = 0; i < registry->plugins; i++) {
        free(registry->adopted[i]);
        dlclose(registry->plugin[i]);
    }
    free_arrays(registry);
    *registry = (struct registry){.count = 0};
}
