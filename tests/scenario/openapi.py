"""openapi.py - checks values against the schemas of an OpenAPI 3.1 document, as far as ours uses them."""
import re

import yaml

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
KNOWN = {"$ref", "type", "const", "enum", "pattern", "minimum", "properties", "required", "additionalProperties", "items",
         "oneOf", "description"}


def load(path):
    with open(path, encoding="utf-8") as f:
        return yaml.safe_load(f)


def is_a(value, name):
    if name in ("number", "integer"):
        return isinstance(value, int if name == "integer" else (int, float)) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def faults(document, schema, value, at="$"):
    """Every place where the value is not what the schema says."""
    assert set(schema) <= KNOWN, f"{at}: this checker does not know {set(schema) - KNOWN}"
    if "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
        return faults(document, schema, value, at)
    if "oneOf" in schema:
        fit = [s for s in schema["oneOf"] if not faults(document, s, value, at)]
        return [] if len(fit) == 1 else [f"{at}: fits {len(fit)} of oneOf"]
    types = schema.get("type", [])
    types = types if isinstance(types, list) else [types]
    if types and not any(is_a(value, t) for t in types):
        return [f"{at}: {value!r:.60} is not {types}"]
    out = []
    if "const" in schema and value != schema["const"]:
        out.append(f"{at}: {value!r:.60} is not {schema['const']!r}")
    if "enum" in schema and value not in schema["enum"]:
        out.append(f"{at}: {value!r:.60} is not one of {schema['enum']}")
    if "pattern" in schema and isinstance(value, str) and not re.search(schema["pattern"], value):
        out.append(f"{at}: {value!r:.60} does not match {schema['pattern']}")
    if "minimum" in schema and is_a(value, "number") and value < schema["minimum"]:
        out.append(f"{at}: {value} is below {schema['minimum']}")
    if isinstance(value, dict):
        known = schema.get("properties", {})
        out += [f"{at}.{k} is missing" for k in schema.get("required", []) if k not in value]
        if schema.get("additionalProperties") is False:
            out += [f"{at}.{k} is not in the document" for k in value if k not in known]
        for k in value.keys() & known.keys():
            out += faults(document, known[k], value[k], f"{at}.{k}")
    if isinstance(value, list) and "items" in schema:
        for i, item in enumerate(value):
            out += faults(document, schema["items"], item, f"{at}[{i}]")
    return out
