/* SPDX-License-Identifier: Apache-2.0 */
/* Build tool: hash_cubins OUT OBJECT... writes a C table of source file -> xxh64 of the object's machine code for GPUs:
 * code, constants, initial data and launch attributes, but no line numbers, so that comments do not alter it. Object
 * paths are CMake's: <target>.dir/<source>.o */
#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static char *read_file(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END))
        return NULL;
    long size = ftell(file);
    char *data = size > 0 ? malloc((size_t)size) : NULL;
    rewind(file);
    if (data && fread(data, 1, (size_t)size, file) != (size_t)size) {
        free(data);
        data = NULL;
    }
    fclose(file);
    *bytes = (size_t)size;
    return data;
}

/* Entries of a fat binary: a header, then the code. As fatbinary writes them; cuobjdump agrees. */
enum { FATBIN_MAGIC = 0xba55ed50, ENTRY_PTX = 1, ENTRY_ELF = 2 };
struct fatbin {
    uint32_t magic;
    uint16_t version, header_bytes;
    uint64_t bytes; /* of all entries */
};
struct fatbin_entry {
    uint16_t kind, version;
    uint32_t header_bytes;
    uint64_t bytes;
};

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static bool runs(const char *section)
{
    return starts_with(section, ".text.") || starts_with(section, ".nv.constant") ||
           starts_with(section, ".nv.global") || starts_with(section, ".nv.shared") || starts_with(section, ".nv.info");
}

static void hash_cubin(const char *cubin, XXH64_state_t *state)
{
    const Elf64_Ehdr *elf = (const Elf64_Ehdr *)cubin;
    const Elf64_Shdr *section = (const Elf64_Shdr *)(cubin + elf->e_shoff);
    const char *names = cubin + section[elf->e_shstrndx].sh_offset;
    for (int i = 0; i < elf->e_shnum; i++) {
        if (!runs(names + section[i].sh_name))
            continue;
        XXH64_update(state, &section[i].sh_size, sizeof section[i].sh_size);
        if (section[i].sh_type != SHT_NOBITS)
            XXH64_update(state, cubin + section[i].sh_offset, section[i].sh_size);
    }
}

/* Of `kind` (machine code, where it is not compressed, section by section) in the fat binaries of a section; returns
 * how many there were. */
static int hash_entries(const char *at, const char *end, int kind, XXH64_state_t *state)
{
    int hashed = 0;
    while (end - at >= (ptrdiff_t)sizeof(struct fatbin)) {
        const struct fatbin *fatbin = (const struct fatbin *)at;
        if (fatbin->magic != FATBIN_MAGIC)
            break;
        const char *entry_at = at + fatbin->header_bytes;
        at = entry_at + fatbin->bytes;
        while (entry_at < at) {
            const struct fatbin_entry *entry = (const struct fatbin_entry *)entry_at;
            const char *code = entry_at + entry->header_bytes;
            entry_at = code + entry->bytes;
            if (entry->kind != kind)
                continue;
            hashed++;
            if (kind == ENTRY_ELF && memcmp(code, ELFMAG, SELFMAG) == 0)
                hash_cubin(code, state);
            else
                XXH64_update(state, code, entry->bytes);
        }
    }
    return hashed;
}

/* Of the machine code, or of the PTX where there is nothing else; 0 in a file without kernels. */
static XXH64_hash_t fatbin_hash(const char *object)
{
    const Elf64_Ehdr *elf = (const Elf64_Ehdr *)object;
    const Elf64_Shdr *section = (const Elf64_Shdr *)(object + elf->e_shoff);
    const char *names = object + section[elf->e_shstrndx].sh_offset;
    XXH64_state_t *state = XXH64_createState();
    XXH64_hash_t hash = 0;
    XXH64_reset(state, 0);
    for (int i = 0; i < elf->e_shnum; i++) {
        if (strcmp(names + section[i].sh_name, ".nv_fatbin") != 0)
            continue;
        const char *begin = object + section[i].sh_offset, *end = begin + section[i].sh_size;
        if (hash_entries(begin, end, ENTRY_ELF, state) || hash_entries(begin, end, ENTRY_PTX, state))
            hash = XXH64_digest(state);
    }
    XXH64_freeState(state);
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
        char *object = read_file(argv[i], &bytes);
        if (!object || bytes < sizeof(Elf64_Ehdr) || memcmp(object, ELFMAG, SELFMAG)) {
            fprintf(stderr, "hash_cubins: %s: not an ELF object\n", argv[i]);
            return 1;
        }
        const char *source = strstr(argv[i], ".dir/");
        source = source ? source + 5 : argv[i];
        source += strncmp(source, "./", 2) == 0 ? 2 : 0; /* as Ninja has it */
        fprintf(out, "    {\"%.*s\", \"%016llx\"},\n", (int)strlen(source) - 2, source,
                (unsigned long long)fatbin_hash(object));
        free(object);
    }
    fprintf(out, "};\n\nconst char *ridge_cubin_hash(const char *file)\n{\n"
                 "    for (unsigned i = 0; i < sizeof table / sizeof *table; i++)\n"
                 "        if (strcmp(table[i].file, file) == 0)\n            return table[i].hash;\n"
                 "    return \"\";\n}\n");
    return fclose(out) ? 1 : 0;
}
