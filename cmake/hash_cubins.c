/* SPDX-License-Identifier: Apache-2.0 */
/* Build tool: hash_cubins OUT OBJECT... writes a C table of source file -> xxh64 of the object's .nv_fatbin section,
 * the device code exactly as it is embedded. Object paths are CMake's: <target>.dir/<source>.o */
#include <elf.h>
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

/* 0 if there is no such section, as in a file without kernels. */
static XXH64_hash_t fatbin_hash(const char *object)
{
    const Elf64_Ehdr *elf = (const Elf64_Ehdr *)object;
    const Elf64_Shdr *section = (const Elf64_Shdr *)(object + elf->e_shoff);
    const char *names = object + section[elf->e_shstrndx].sh_offset;
    for (int i = 0; i < elf->e_shnum; i++)
        if (strcmp(names + section[i].sh_name, ".nv_fatbin") == 0)
            return XXH64(object + section[i].sh_offset, section[i].sh_size, 0);
    return 0;
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
