package main

import (
	"bufio"
	"fmt"
	"reflect"
	"sort"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// writeFields writes, for every kind and every type it reaches:
//
//	kind <group or -> <version> <kind> <type>
//	type <type>
//	field <json name or -> <number> <go type> <pointer|value> <omitempty|always> <inline|named>
//
// A Go type is a scalar (string, bool, int32, ..), bytes, list:<type>, map:<type>, or the path of a struct.
// Fields without a protobuf number have the number 0.
func writeFields(out *bufio.Writer, scheme *runtime.Scheme) {
	kinds := scheme.AllKnownTypes()
	var lines []string
	seen := map[reflect.Type]bool{}
	var types []reflect.Type
	for gvk, goType := range kinds {
		if _, isListable := kinds[gvk.GroupVersion().WithKind(gvk.Kind+"List")]; !isListable {
			continue
		}
		group := gvk.Group
		if group == "" {
			group = "-"
		}
		lines = append(lines, fmt.Sprintf("kind %s %s %s %s", group, gvk.Version, gvk.Kind, path(goType)))
		collect(goType, seen, &types)
	}
	sort.Strings(lines)
	for _, line := range lines {
		fmt.Fprintln(out, line)
	}
	sort.Slice(types, func(i, j int) bool { return path(types[i]) < path(types[j]) })
	for _, t := range types {
		fmt.Fprintln(out, "type", path(t))
		for i := 0; i < t.NumField(); i++ {
			writeField(out, t.Field(i))
		}
	}
}

func writeField(out *bufio.Writer, field reflect.StructField) {
	json, options, _ := strings.Cut(field.Tag.Get("json"), ",")
	if json == "-" {
		return
	}
	number := "0"
	// Only the number: the wire type in the tag is wrong for some fields, such as JSONSchemaProps.maximum.
	if parts := strings.Split(field.Tag.Get("protobuf"), ","); len(parts) > 2 {
		number = parts[1]
	}
	pointer, empty, inline := "value", "always", "named"
	if field.Type.Kind() == reflect.Pointer {
		pointer = "pointer"
	}
	for _, option := range strings.Split(options, ",") {
		switch option {
		case "omitempty", "omitzero":
			empty = option
		case "inline":
			inline = "inline"
		}
	}
	if json == "" {
		if inline == "named" && !field.Anonymous {
			json = field.Name
		} else {
			json, inline = "-", "inline"
		}
	}
	fmt.Fprintln(out, "field", json, number, name(field.Type), pointer, empty, inline)
}

// name returns the Go type of a field as writeFields documents it.
func name(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return name(t.Elem())
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "bytes"
		}
		if t.Name() != "" && t.PkgPath() != "" && isWrapper(t) {
			return "wrapped-list:" + name(t.Elem())
		}
		return "list:" + name(t.Elem())
	case reflect.Map:
		return "map:" + name(t.Elem())
	case reflect.Struct:
		return path(t)
	default:
		return t.Kind().String()
	}
}

// isWrapper reports whether a named slice is a message of its own, such as ExtraValue.
func isWrapper(t reflect.Type) bool {
	_, found := reflect.PointerTo(t).MethodByName("Unmarshal")
	return found
}

func path(t reflect.Type) string {
	return t.PkgPath() + "." + t.Name()
}

func collect(t reflect.Type, seen map[reflect.Type]bool, types *[]reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		collect(t.Elem(), seen, types)
	case reflect.Struct:
		if seen[t] || t.PkgPath() == "time" {
			return
		}
		seen[t] = true
		*types = append(*types, t)
		for i := 0; i < t.NumField(); i++ {
			if t.Field(i).IsExported() {
				collect(t.Field(i).Type, seen, types)
			}
		}
	}
}
