//! Golden tests of the options of types, which write modules of `tests/custom`.

use std::path::Path;

use informer_gen::crd::{self, Docs, Extra, MapType, Style, TreeError, TreeOptions};

use super::{check_golden, yaml};

/// Generates one file from the definition `gadget`.
fn gadget(docs: Docs, style: Style) -> Result<String, TreeError> {
    let reading = crd::read("gadget.yaml", &yaml("gadget")).unwrap();
    let options = TreeOptions {
        docs,
        style,
        ..TreeOptions::default()
    };
    crd::tree(&reading.found, &options).map(|tree| crd::single_file(&tree))
}

/// The tests of `tests/custom/crd/options` compile and use these files.
#[test]
fn the_options_of_types_give_the_modules_in_tests_custom() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/custom/crd/options");
    let index = |text: &str| text.parse().unwrap();
    let styled = Style {
        derives: ["@enum=PartialOrd", "@enum=Ord", "GadgetSpecPart=Eq", "Clone"]
            .map(derived)
            .to_vec(),
        map: MapType::HashMap,
        extras: [Extra::Builders, Extra::Definition, Extra::JsonSchema].into(),
        skip: vec!["spec.template".parse().unwrap()],
        only: Vec::new(),
        indexes: vec![
            index("owner=spec.owner"),
            index("mode=spec.mode"),
            index("replicas=spec.replicas"),
            index("gadgets.example.com:tag=spec.parts[].tags"),
        ],
    };
    check_golden(
        &folder.join("styled/mod.rs"),
        &gadget(Docs::Short, styled).unwrap(),
    );
    let slim = Style {
        only: ["spec.replicas", "spec.parts.name", "status.conditions"]
            .map(|path| path.parse().unwrap())
            .to_vec(),
        indexes: vec![index("part=spec.parts.name")],
        ..Style::default()
    };
    let text = gadget(Docs::None, slim).unwrap();
    assert!(
        !text.contains("Serialize"),
        "a projection can be written:\n{text}"
    );
    check_golden(&folder.join("slim/mod.rs"), &text);
}

fn derived(text: &str) -> crd::Derive {
    text.parse().unwrap()
}

#[test]
fn options_that_name_no_field_are_errors() {
    let skip = Style {
        skip: vec!["spec.templates".parse().unwrap()],
        ..Style::default()
    };
    let error = gadget(Docs::None, skip).unwrap_err().to_string();
    assert!(
        error.starts_with("--skip spec.templates: no selected definition has this field"),
        "{error}"
    );
    let index = Style {
        indexes: vec!["template=spec.template".parse().unwrap()],
        ..Style::default()
    };
    let error = gadget(Docs::None, index).unwrap_err().to_string();
    assert!(
        error.contains("by strings, enums, integers or booleans"),
        "{error}"
    );
}
