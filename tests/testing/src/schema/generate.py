#!/usr/bin/env python3
"""Writes table.txt: how the lists, maps and structs of every built-in kind merge.

    python3 generate.py <api/openapi-spec of a Kubernetes source tree> > table.txt

The input directory is part of the Go module k8s.io/kubernetes, so no clone is needed:

    go mod download k8s.io/kubernetes@v1.37.1
    python3 generate.py "$(go env GOMODCACHE)/k8s.io/kubernetes@v1.37.1/api/openapi-spec" > table.txt

swagger.json has the types. Defaults are only in the v3 documents beside it: those of list keys (protocol of a port),
and the empty object that marks a struct which is not a pointer in Go.
"""

import glob
import json
import os
import sys

HEADER = """\
# How built-in types merge. Written by generate.py beside this file; do not edit.
#
# A type is a line `name`, or `name is <apiVersion> <kind>` for a kind, followed by its fields, indented.
# `name atomic` is a type that is applied as a whole. A field that is not listed is plain: maps in it merge
# key by key, lists in it are replaced. The words after a field:
#   struct T       an object of type T               map T          a map whose values are of type T
#   list T         a list of T (`-`: of scalars)     any            free-form, merged key by key
#   atomic         applied as a whole                granular       applied field by field although T is atomic
#   keys a,b=X     applied item by item, found by a and b; b defaults to X
#   set            applied as a set of scalars
#   merge k        strategic merge joins items by k  merge          strategic merge joins scalars
#   replace        strategic merge replaces the object
#   value          part of every object of the kind in Go, so writing it does not make a manager its owner
"""

PREFIXES = {
    "io.k8s.api.": "",
    "io.k8s.apimachinery.pkg.apis.": "",
    "io.k8s.apiextensions-apiserver.pkg.apis.": "",
    "io.k8s.kube-aggregator.pkg.apis.": "",
}
FREE_FORM = ("JSON", "JSONSchemaPropsOrArray", "JSONSchemaPropsOrBool", "JSONSchemaPropsOrStringArray")


def short(name):
    for prefix, replacement in PREFIXES.items():
        if name.startswith(prefix):
            return replacement + name[len(prefix):]
    return name


def reference(schema):
    return schema.get("$ref", "").rsplit("/", 1)[-1] or None


class Spec:
    def __init__(self, directory):
        with open(os.path.join(directory, "swagger.json")) as file:
            self.types = json.load(file)["definitions"]
        self.defaults, self.values = {}, {}
        for path in glob.glob(os.path.join(directory, "v3", "*.json")):
            with open(path) as file:
                for name, schema in json.load(file).get("components", {}).get("schemas", {}).items():
                    self.defaults[name] = {
                        field: value["default"]
                        for field, value in schema.get("properties", {}).items()
                        if isinstance(value.get("default"), str) and value["default"]
                    }
                    self.values[name] = {
                        field
                        for field, value in schema.get("properties", {}).items()
                        if value.get("default") == {}
                        or (value.get("type") == "array" and field in schema.get("required", []))
                    }
        self.inline = set()
        self.follow_values(name for name, _ in self.kinds())
        self.special = {name for name, schema in self.types.items() if schema.get("x-kubernetes-map-type") == "atomic"}
        while True:
            found = {name for name in self.types if self.fields(name)}
            if found <= self.special:
                break
            self.special |= found

    def follow_values(self, names):
        """Finds the types that are part of every object of some kind."""
        for name in names:
            if name not in self.inline:
                self.inline.add(name)
                properties = self.types[name].get("properties", {})
                targets = (reference(properties[field]) for field in self.values.get(name, ()))
                self.follow_values(target for target in targets if target)

    def fields(self, name):
        lines = {}
        for field, schema in self.types[name].get("properties", {}).items():
            words = self.field(schema)
            if name in self.inline and field in self.values.get(name, ()):
                words = (words or ("list -" if schema.get("type") == "array" else "struct -")) + " value"
            if words:
                lines[field] = words
        return lines

    def field(self, schema):
        """The words for one field, or None where the defaults already say it all."""
        if schema.get("type") == "array":
            return self.list(schema)
        target = reference(schema)
        if target:
            if target.endswith(".RawExtension"):
                return "any atomic"
            if target.rsplit(".", 1)[-1] in FREE_FORM:
                return "any"
            words = [f"struct {short(target)}"] if target in self.special else ["struct -"]
            if schema.get("x-kubernetes-map-type") in ("atomic", "granular"):
                words.append(schema["x-kubernetes-map-type"])
            if schema.get("x-kubernetes-patch-strategy") == "replace":
                words.append("replace")
            return " ".join(words) if len(words) > 1 or target in self.special else None
        if schema.get("x-kubernetes-map-type") == "atomic":
            return "map - atomic"
        values = reference(schema.get("additionalProperties", {}))
        if values and "properties" in self.types[values]:
            return f"map {short(values) if values in self.special else '-'}"
        if values and values.rsplit(".", 1)[-1] in FREE_FORM:
            return "any"
        return None

    def list(self, schema):
        item = reference(schema["items"])
        words = [f"list {short(item) if item in self.special else '-'}"]
        strategy = schema.get("x-kubernetes-patch-strategy", "").split(",")
        merge_key = schema.get("x-kubernetes-patch-merge-key")
        kind = schema.get("x-kubernetes-list-type")
        keys = schema.get("x-kubernetes-list-map-keys")
        if kind is None and "merge" in strategy:
            # The API server reads the older annotations where the newer ones are missing.
            kind, keys = ("map", [merge_key]) if merge_key else ("set", None)
        if kind == "map":
            defaults = self.defaults.get(item, {})
            words.append("keys " + ",".join(key + (f"={defaults[key]}" if key in defaults else "") for key in keys))
        elif kind == "set":
            words.append("set")
        if "merge" in strategy:
            words.append(f"merge {merge_key}" if merge_key else "merge")
        return " ".join(words) if len(words) > 1 else None

    def kinds(self):
        for name, schema in self.types.items():
            metadata = reference(schema.get("properties", {}).get("metadata", {}))
            if metadata and metadata.endswith(".ObjectMeta"):
                for kind in schema.get("x-kubernetes-group-version-kind", []):
                    version = f"{kind['group']}/{kind['version']}" if kind["group"] else kind["version"]
                    yield name, f"{version} {kind['kind']}"


def main():
    spec = Spec(sys.argv[1])
    kinds = dict(spec.kinds())
    long = {short(name): name for name in spec.types}
    reached, queue = set(), list(kinds)
    while queue:
        name = queue.pop()
        if name not in reached:
            reached.add(name)
            queue += (long[words.split()[1]] for words in spec.fields(name).values() if "." in words)
    print(HEADER)
    for name in sorted(reached, key=short):
        atomic = spec.types[name].get("x-kubernetes-map-type") == "atomic"
        print(short(name) + (f" is {kinds[name]}" if name in kinds else "") + (" atomic" if atomic else ""))
        for field, words in sorted(spec.fields(name).items()):
            print(f"  {field} {words}")


main()
