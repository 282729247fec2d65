/* SPDX-License-Identifier: Apache-2.0 */
/* All variants: the generated table plus those of loaded plugins. */
#ifndef RIDGE_REGISTRY_H
#define RIDGE_REGISTRY_H

#include "base/error.h"
#include "kernels/kernel.h"

/* Generated from the file names, sorted by family, then label. */
extern const struct ridge_entry ridge_builtin_entries[];
extern const int ridge_builtin_entry_count;

/* Generated: variants compiled a second time for --emulate h20, in the same order. */
extern const struct ridge_entry ridge_emulated_entries[];
extern const int ridge_emulated_entry_count;

/* Generated: variants compiled once more for `ridge trace`, in the same order. */
struct ridge_traced_entry {
    struct ridge_entry entry;
    const struct ridge_trace *trace;
};
extern const struct ridge_traced_entry ridge_traced_entries[];
extern const int ridge_traced_entry_count;

/* CUDA variants of a build without CUDA: family and label only. */
extern const struct ridge_entry ridge_left_out_entries[];
extern const int ridge_left_out_count;

struct registry {
    const struct ridge_entry **entry; /* sorted by family, then label */
    int count;
    void **plugin; /* dlopen handles */
    struct ridge_entry **adopted; /* per plugin, copies of its entries */
    int plugins;
};

int registry_open(struct registry *registry, struct ridge_error *err);

/* Adds the variants of a shared object. An entry without a problem is a variant of the family of that name which is
 * already there, built in or loaded before. RIDGE_INVALID: not loadable, no `ridge_plugin` symbol, another ABI version,
 * a name outside the naming rule, a family/label that is already there, a known family with other axes or buffers, or a
 * table that lacks what the harness calls; the registry is unchanged then. */
int registry_load(struct registry *registry, const char *path, struct ridge_error *err);

/* Variants compiled for --emulate take the places of the ordinary ones. */
void registry_emulate(struct registry *registry);
bool registry_emulates(const struct ridge_entry *entry);
/* Whether there is one for this variant. */
bool registry_emulated(const struct ridge_entry *entry);

void registry_close(struct registry *registry);

/* "gemm_f32_04_async_copy" into buf. */
void registry_name(const struct ridge_entry *entry, char *buf, size_t bytes);

/* fnmatch globs on the family and on "family_label" or the label, several separated by '|'; NULL matches all. */
bool registry_match(const struct ridge_entry *entry, const char *family_glob, const char *variant_glob);

/* Whether the globs match a variant that this build leaves out. */
bool registry_left_out(const char *family_glob, const char *variant_glob);

/* Of globs on families, or on variants, separated by '|', where the first begins that matches nothing, not even what
 * this build leaves out; NULL where each matches, and for NULL. */
const char *registry_unmatched(const struct registry *registry, const char *globs, bool variants);

#endif
