//! Tests of finding definitions in texts, with their lines.

use super::*;

const FOO: &str = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
spec:
  group: example.com
  names: { kind: Foo, plural: foos }
  scope: Namespaced
  versions: [{ name: v1, served: true, storage: true }]
";

/// Checks which definitions are found, and how many documents are skipped.
#[track_caller]
fn check(text: &str, found: &[&str], skipped: usize) {
    let reading = read("a.yaml", text).unwrap_or_else(|error| panic!("{error}"));
    let names = reading
        .found
        .iter()
        .map(|found| format!("{} {}", found.place, found.definition.name()));
    assert_eq!(names.collect::<Vec<_>>(), found);
    assert_eq!(reading.passed_over + reading.not_objects, skipped);
}

#[track_caller]
fn check_error(text: &str, start: &str) {
    let error = read("a.yaml", text).expect_err("the text is invalid").to_string();
    assert!(error.starts_with(start), "{error}");
}

#[test]
fn one_document_is_found_on_its_line() {
    check(FOO, &["a.yaml:1 foos.example.com"], 0);
    check(
        &format!("# words\n\n---\n{FOO}"),
        &["a.yaml:4 foos.example.com"],
        0,
    );
    check(&format!("\u{feff}{FOO}"), &["a.yaml:1 foos.example.com"], 0);
}

#[test]
fn documents_are_found_among_others() {
    let text =
        format!("kind: Pod\n---\n{FOO}---\n# nothing\n---\n--- just words\n...\n%YAML 1.2\n---\n{FOO}");
    check(
        &text,
        &["a.yaml:3 foos.example.com", "a.yaml:17 foos.example.com"],
        2,
    );
    check("", &[], 0);
    check("---\n---\n", &[], 0);
}

#[test]
fn a_document_separator_inside_a_text_block_separates_documents() {
    check("a: |\n  ---\n  b\n", &[], 1);
    check(
        &format!("a: |\n  ---\n---\n{FOO}"),
        &["a.yaml:4 foos.example.com"],
        1,
    );
}

#[test]
fn definitions_are_found_in_lists() {
    let item = FOO.replace('\n', "\n    ");
    let list = format!("apiVersion: v1\nkind: List\nitems:\n  - kind: Pod\n  - {item}\n");
    check(&list, &["a.yaml:1: items[1] foos.example.com"], 1);
    // As a server sends it: the items have no `apiVersion` and `kind`.
    let bare = item.lines().skip(2).collect::<Vec<_>>().join("\n");
    let bare = bare.trim_start();
    let list = format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinitionList\nitems:\n  - {bare}\n"
    );
    check(&list, &["a.yaml:1: items[0] foos.example.com"], 0);
}

#[test]
fn json_is_read_with_tabs_and_one_object_after_another() {
    let value: Value = serde_saphyr::from_str(FOO).expect("valid YAML");
    let text = serde_json::to_string_pretty(&value)
        .expect("valid JSON")
        .replace("  ", "\t");
    check(&text, &["a.yaml:1 foos.example.com"], 0);
    let second = format!("a.yaml:{} foos.example.com", text.lines().count() + 2);
    check(
        &format!("{text}\n\n{text}"),
        &["a.yaml:1 foos.example.com", &second],
        0,
    );
    check("{ kind: Pod }", &[], 1);
}

#[test]
fn errors_have_line_and_column() {
    check_error("a: 1\n b: 2\n", "a.yaml:2:3: invalid YAML: ");
    check_error(&format!("{FOO}---\na: {{b: 'c}}"), "a.yaml:9:8: invalid YAML: ");
    check_error("{\n  \"a\": ]\n}", "a.yaml:2:8: invalid JSON: ");
    check_error("a: 1\na: 2\n", "a.yaml:2:1: invalid YAML: ");
    check_error(&FOO.replace("Namespaced", "Everywhere"), "a.yaml:6:10: ");
    let head = r#"{ "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition","#;
    let json = format!("{head}\n\"spec\": 5 }}");
    check_error(&json, "a.yaml:2:9: ");
    let list = format!(
        "kind: List\nitems:\n  - {}\n",
        FOO.replace('\n', "\n    ").replace("scope", "scopes")
    );
    check_error(
        &list,
        "a.yaml:1: items[0]: a definition without a name is not a valid",
    );
}

#[test]
fn a_message_does_not_repeat_the_place() {
    let error = read("a.yaml", &format!("{FOO}---\na: 'b\n"))
        .expect_err("the text is invalid")
        .to_string();
    assert!(!error.contains("at line"), "{error}");
}

#[test]
fn names_that_the_api_server_rejects_are_errors() {
    let check = |from: &str, to: &str, what: &str| {
        check_error(&FOO.replace(from, to), &format!("a.yaml:1: invalid {what} `"));
    };
    check("group: example.com", "group: ../etc", "group");
    check("group: example.com", "group: ''", "group");
    check("group: example.com", "group: Example.com", "group");
    check("group: example.com", "group: a..b", "group");
    check("plural: foos", "plural: foos/x", "plural");
    check("plural: foos", "plural: 1foos", "plural");
    check("kind: Foo,", "kind: 'Foo;',", "kind");
    check("name: v1", "name: V1", "version");
}

#[test]
fn arrays_and_plain_text_are_no_objects() {
    let check = |text: &str, expected: (usize, usize)| {
        let reading = read("a.yaml", text).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((reading.passed_over, reading.not_objects), expected, "{text}");
    };
    check("kind: Pod\n", (1, 0));
    check("[{\"kind\": \"Pod\"}]", (0, 1));
    check("just words\n---\n5\n---\n# nothing\n", (0, 2));
}

#[test]
fn a_definition_is_called_after_its_plural_and_group() {
    let named = |name: &str| FOO.replace("spec:", &format!("metadata: {{ name: {name} }}\nspec:"));
    check(&named("foos.example.com"), &["a.yaml:1 foos.example.com"], 0);
    check_error(
        &named("foo.example.com"),
        "a.yaml:1: the definition is called `foo.example.com`, but its group and plural give \
         `foos.example.com`, ",
    );
}

#[test]
fn a_helm_template_is_named_as_the_cause() {
    let check = |text: &str| {
        let error = read("a.yaml", text).expect_err("a template").to_string();
        assert!(error.contains("helm template CHART"), "{error}");
    };
    check(&format!("{{{{- if .Values.crds }}}}\n{FOO}{{{{- end }}}}\n"));
    check(&FOO.replace("Namespaced", "{{ .Values.scope }}"));
    check(&FOO.replace("Namespaced", "'{{ .Values.scope }}'"));
    let error = read("a.yaml", "a: 'b\n").expect_err("invalid").to_string();
    assert!(!error.contains("helm"), "{error}");
}

#[test]
fn the_number_of_documents_is_limited() {
    let text = "a: 1\n---\n".repeat(MAX_DOCUMENTS + 2);
    let error = read("a.yaml", &text).expect_err("the text has too many documents");
    assert!(matches!(error, ReadError::TooManyDocuments { .. }), "{error}");
}

#[test]
fn deep_nesting_is_an_error_instead_of_a_stack_overflow() {
    check_error(&"[".repeat(100_000), "a.yaml:1:");
    let deep: String = (0..400)
        .map(|depth| format!("{}a:\n", " ".repeat(depth)))
        .collect();
    check_error(&deep, "a.yaml:");
    let message = |text: &str| read("a.yaml", text).expect_err("too deep").to_string();
    let yaml = message(&deep);
    assert!(
        yaml.contains(": invalid YAML: more than 64 levels of nesting"),
        "{yaml}"
    );
    let json = message(&"{\"a\":".repeat(100_000));
    assert!(json.starts_with("a.yaml:1:"), "{json}");
    assert!(
        json.contains(": invalid JSON: more than 128 levels of nesting"),
        "{json}"
    );
}

#[test]
fn nesting_just_within_the_limits_is_read() {
    let schema = |levels: usize| {
        let (open, close) = (
            "{type: object, properties: {a: ".repeat(levels),
            "}}".repeat(levels),
        );
        format!("schema: {{openAPIV3Schema: {open}{{type: string}}{close}}}")
    };
    let deep = FOO.replace("storage: true", &format!("storage: true, {}", schema(27)));
    check(&deep, &["a.yaml:1 foos.example.com"], 0);
    // JSON has a different limit, and an item of a list is decoded differently.
    let value: Value = serde_saphyr::from_str(&deep).expect("valid YAML");
    let mut list = serde_json::json!({ "kind": "List", "items": [value] });
    let mut leaf = "/items/0/spec/versions/0/schema/openAPIV3Schema".to_owned() + &"/properties/a".repeat(27);
    while leaf.matches('/').count() < 122 {
        *list.pointer_mut(&leaf).expect("the schema has this leaf") =
            serde_json::json!({ "properties": { "a": {} } });
        leaf += "/properties/a";
    }
    check(&list.to_string(), &["a.yaml:1: items[0] foos.example.com"], 0);
}
