#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Committed records against the schema, with an implementation of JSON Schema that is not ours.
if ! /usr/bin/python3 -c 'import jsonschema' 2>/dev/null; then
  echo 'skipped: /usr/bin/python3 has no jsonschema module (python3-jsonschema)'
  exit 77
fi
cd "${RIDGE_SOURCE:-.}" || exit 1
exec /usr/bin/python3 - <<'END'
import glob
import json
import sys

import jsonschema

with open("bench/record.schema.json") as file:
    schema = json.load(file)
validator = getattr(jsonschema, "Draft202012Validator", jsonschema.Draft7Validator)
validator.check_schema(schema)
check = validator(schema)
faults = records = 0
files = sorted(glob.glob("reports/baselines/**/*.jsonl", recursive=True) + glob.glob("tests/fixtures/**/*.jsonl", recursive=True))
for path in files:
    if "invalid" in path.rsplit("/", 1)[-1]:  # fixtures that are wrong on purpose
        continue
    with open(path) as file:
        for number, line in enumerate(file, 1):
            if path.startswith("tests/") and not line.endswith("\n"):
                continue  # a partial last line, as a stopped run leaves it
            records += 1
            try:
                errors = list(check.iter_errors(json.loads(line)))
            except ValueError as error:
                errors = [error]
            for error in errors[:3]:
                key = ".".join(str(part) for part in getattr(error, "absolute_path", []))
                print(f"{path}:{number}: {key}: {getattr(error, 'message', error)}")
                faults += 1

# And the schema refuses what the reader refuses.
with open("tests/fixtures/record_full.jsonl") as file:
    record = json.loads(file.readline())
record["time"].pop("median_ns")
if check.is_valid(record):
    print("a record without time.median_ns is valid")
    faults += 1
print(f"{records} records in {len(files)} files")
sys.exit(1 if faults or not records else 0)
END
