//! Tests of the expansion of projections. `tests/custom` tests their errors and their behaviour.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{DeriveInput, Path, Type};

use super::fields::{self, Field, Json};
use super::{Projection, names, types};

/// Reads one field and passes it to `look` with its projection.
fn with_field<T>(field: TokenStream, look: impl FnOnce(&Projection<'_>, &Field<'_>) -> T) -> T {
    let input: DeriveInput = syn::parse_quote!(struct Part { #field });
    let (whole, library): (Path, Path) = (syn::parse_quote!(Whole), syn::parse_quote!(::informers));
    let fields = fields::read(&input).expect("the field is sound");
    let projection = Projection {
        ident: &input.ident,
        whole: &whole,
        library: &library,
        fields,
    };
    look(&projection, &projection.fields[0])
}

fn check_name(field: TokenStream, expected: TokenStream) {
    let name = with_field(field, names::expression);
    assert_eq!(name.to_string(), expected.to_string());
}

#[test]
fn a_usual_name_is_a_plain_string() {
    check_name(quote!(node_name: Option<String>), quote!("nodeName"));
    check_name(quote!(r#type: String), quote!("type"));
    check_name(quote!(type_: String), quote!("type"));
}

#[test]
fn a_given_name_is_rejected_if_another_name_is_known() {
    let name = with_field(
        quote!(#[projection(rename = "x-y")] pod_ip: String),
        names::expression,
    )
    .to_string();
    assert!(name.contains("assert"), "{name}");
    assert!(name.ends_with("\"x-y\" }"), "{name}");
}

#[test]
fn an_unusual_name_depends_on_where_the_whole_type_is_from() {
    check_name(
        quote!(pod_ip: Option<String>),
        quote!(
            if ::informers::__private::projection::Origin::<Whole>::IS_BUILT_IN {
                "podIP"
            } else {
                "podIp"
            }
        ),
    );
}

#[test]
fn a_name_with_an_exception_depends_on_the_whole_type() {
    let name = with_field(quote!(port: i32), names::expression).to_string();
    let exception: Path =
        syn::parse_quote!(::informers::__private::k8s_openapi::api::core::v1::DaemonEndpoint);
    assert!(name.contains(&exception.to_token_stream().to_string()), "{name}");
    assert!(name.ends_with(r#"{ "Port" } else { "port" }"#), "{name}");
}

/// The comparison of the type of a field: the containers on the way, and the innermost type.
fn check_type(ty: Type, expected: TokenStream) {
    let check = with_field(quote!(field: #ty), types::check).to_string();
    let at = quote!(::informers::__private::projection::Whole::of(&whole.field));
    assert_eq!(check, quote!(#at #expected;).to_string());
}

#[test]
fn options_and_boxes_are_transparent() {
    check_type(syn::parse_quote!(Spec), quote!(.is_projected_to::<Spec, _>()));
    check_type(
        syn::parse_quote!(std::option::Option<Box<Spec>>),
        quote!(.is_projected_to::<Spec, _>()),
    );
    check_type(syn::parse_quote!(Box<str>), quote!(.is_projected_to::<str, _>()));
}

#[test]
fn lists_and_maps_are_part_of_the_path() {
    check_type(
        syn::parse_quote!(Option<Vec<Box<Part>>>),
        quote!(.elements().is_projected_to::<Part, _>()),
    );
    check_type(
        syn::parse_quote!(Box<[Part]>),
        quote!(.elements().is_projected_to::<Part, _>()),
    );
    check_type(
        syn::parse_quote!(BTreeMap<String, Vec<Part>>),
        quote!(.values::<String, _>().elements().is_projected_to::<Part, _>()),
    );
}

#[test]
fn a_type_that_only_looks_like_a_container_is_not_one() {
    check_type(
        syn::parse_quote!(IntOrString),
        quote!(.is_projected_to::<IntOrString, _>()),
    );
    check_type(
        syn::parse_quote!(Arc<Part>),
        quote!(.is_projected_to::<Arc<Part>, _>()),
    );
}

#[test]
fn any_type_leaves_the_name_checked() {
    let check = with_field(quote!(#[projection(any)] phase: Phase), types::check);
    assert_eq!(check.to_string(), quote!(let _ = &whole.phase;).to_string());
}

#[test]
fn a_renamed_field_is_known_by_its_new_name_only() {
    with_field(
        quote!(#[projection(rename = "podIP")] pod_ip: String),
        |_, field| {
            assert!(matches!(&field.json, Json::Renamed(name) if name.value() == "podIP"));
        },
    );
}
