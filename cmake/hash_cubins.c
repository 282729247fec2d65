/* SPDX-License-Identifier: Apache-2.0 */
/* Build tool: hash_cubins OUT OBJECT... writes a C table of source file -> xxh64 of the object's machine code for GPUs:
 * code, constants, initial data and launch attributes, but no line numbers, so that comments do not alter it. Object
 * paths are CMake's: <target>.dir/<source>.o */
#include "cmake/fatbin.h"

#include <stdbool.h>
#include <xxhash.h>

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static bool runs(const char *section)
{
    return starts_with(section, ".text.") || starts_with(section, ".nv.constant") ||
           starts_with(section, ".nv.global") || starts_with(section, ".nv.shared") || starts_with(section, ".nv.info");
}

static void hash_section(void *state, const char *name, const Elf64_Shdr *header, char *bytes)
{
    if (!runs(name))
        return;
    XXH64_update(state, &header->sh_size, sizeof header->sh_size);
    if (header->sh_type != SHT_NOBITS)
        XXH64_update(state, bytes, header->sh_size);
}

/* Machine code section by section, where it is not compressed. */
static void hash_entry(void *state, char *code, size_t bytes)
{
    if (bytes >= sizeof(Elf64_Ehdr) && memcmp(code, ELFMAG, SELFMAG) == 0)
        elf_sections(code, hash_section, state);
    else
        XXH64_update(state, code, bytes);
}

struct hashing {
    XXH64_state_t *state;
    bool any;
};

static void hash_fatbin(void *context, const char *name, const Elf64_Shdr *header, char *bytes)
{
    struct hashing *hashing = context;
    if (strcmp(name, ".nv_fatbin") == 0)
        hashing->any = fatbin_entries(bytes, header->sh_size, FATBIN_ELF, hash_entry, hashing->state) ||
                       fatbin_entries(bytes, header->sh_size, FATBIN_PTX, hash_entry, hashing->state) || hashing->any;
}

/* Of the machine code, or of the PTX where there is nothing else; 0 in a file without kernels. */
static XXH64_hash_t object_hash(char *object)
{
    struct hashing hashing = {XXH64_createState(), false};
    XXH64_reset(hashing.state, 0);
    elf_sections(object, hash_fatbin, &hashing);
    const XXH64_hash_t hash = hashing.any ? XXH64_digest(hashing.state) : 0;
    XXH64_freeState(hashing.state);
    return hash;
}

int main(int argc, char **argv)
{
    FILE *out = argc > 1 ? fopen(argv[1], "w") : NULL;
    if (!out) {
        fprintf(stderr, "usage: hash_cubins OUT OBJECT...\n");
        return 2;
    }
    fprintf(out, "/* Generated from the embedded device code. */\n#include \"base/version.h\"\n#include <string.h>\n\n"
                 "static const struct { const char *file, *hash; } table[] = {\n");
    for (int i = 2; i < argc; i++) {
        size_t bytes;
        char *object = elf_read(argv[i], &bytes);
        if (!object) {
            fprintf(stderr, "hash_cubins: %s: not an ELF object\n", argv[i]);
            return 1;
        }
        const char *source = strstr(argv[i], ".dir/");
        source = source ? source + 5 : argv[i];
        source += strncmp(source, "./", 2) == 0 ? 2 : 0; /* as Ninja has it */
        fprintf(out, "    {\"%.*s\", \"%016llx\"},\n", (int)strlen(source) - 2, source,
                (unsigned long long)object_hash(object));
        free(object);
    }
    fprintf(out, "};\n\nconst char *ridge_cubin_hash(const char *file)\n{\n"
                 "    for (unsigned i = 0; i < sizeof table / sizeof *table; i++)\n"
                 "        if (strcmp(table[i].file, file) == 0)\n            return table[i].hash;\n"
                 "    return \"\";\n}\n");
    return fclose(out) ? 1 : 0;
}
