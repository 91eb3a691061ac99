//! The implementations that every generated kind has, as a macro: they differ in a few names only.

use k8s_openapi::serde_json::Value;
use kube::Resource;

use super::Required;

/// Implements `kube::Resource`, `Serialize`, kube's `HasSpec` and `HasStatus`, and `new` for a kind.
///
/// Code that `informer-gen crd` generates calls it. The struct has a field `metadata`; `Serialize` writes
/// `apiVersion` and `kind`, the metadata, and the listed properties that have a value. All parts after the
/// first line are optional.
///
/// ```
/// use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
///
/// #[derive(Clone, Debug, Default, serde::Deserialize)]
/// pub struct Foo {
///     #[serde(default)]
///     pub metadata: ObjectMeta,
///     pub spec: Option<String>,
/// }
///
/// informers::crd::object! {
///     impl Resource<()> for Foo: "Foo", "foos", "example.com", "v1", NamespaceResourceScope;
///     impl Serialize { "spec": spec }
///     /// Returns an object with this name and spec.
///     fn new(spec: String => Some(spec));
/// }
///
/// let foo = Foo::new("one", "text".to_owned());
/// let json = r#"{"apiVersion":"example.com/v1","kind":"Foo","metadata":{"name":"one"},"spec":"text"}"#;
/// assert_eq!(k8s_openapi::serde_json::to_string(&foo)?, json);
/// # Ok::<(), k8s_openapi::serde_json::Error>(())
/// ```
#[macro_export]
#[doc(hidden)]
macro_rules! __crd_object {
    (
        impl Resource<$dynamic:ty> for $type:ident:
            $kind:literal, $plural:literal, $group:literal, $version:literal, $scope:ident;
        $(impl Serialize { $($json:literal: $field:ident),* $(,)? $(..$rest:ident)? })?
        $(impl HasSpec: $spec:ty;)?
        $(impl HasStatus: $status:ty;)?
        $(
            $(#[$about:meta])*
            fn new($($parameter:ident: $parameter_type:ty => $value:expr)?);
        )?
    ) => {
        impl ::kube::Resource for $type {
            type DynamicType = $dynamic;
            type Scope = ::k8s_openapi::$scope;

            fn kind(_: &$dynamic) -> ::std::borrow::Cow<'_, str> {
                ::std::borrow::Cow::Borrowed($kind)
            }

            fn group(_: &$dynamic) -> ::std::borrow::Cow<'_, str> {
                ::std::borrow::Cow::Borrowed($group)
            }

            fn version(_: &$dynamic) -> ::std::borrow::Cow<'_, str> {
                ::std::borrow::Cow::Borrowed($version)
            }

            fn api_version(_: &$dynamic) -> ::std::borrow::Cow<'_, str> {
                ::std::borrow::Cow::Borrowed(::std::concat!($group, "/", $version))
            }

            fn plural(_: &$dynamic) -> ::std::borrow::Cow<'_, str> {
                ::std::borrow::Cow::Borrowed($plural)
            }

            fn meta(&self) -> &::k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                &self.metadata
            }

            fn meta_mut(&mut self) -> &mut ::k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                &mut self.metadata
            }
        }

        $(
            impl ::serde::Serialize for $type {
                fn serialize<S: ::serde::Serializer>(
                    &self,
                    serializer: S,
                ) -> ::std::result::Result<S::Ok, S::Error> {
                    use ::serde::ser::SerializeMap as _;

                    let mut object = serializer.serialize_map(::std::option::Option::None)?;
                    object.serialize_entry("apiVersion", ::std::concat!($group, "/", $version))?;
                    object.serialize_entry("kind", $kind)?;
                    object.serialize_entry("metadata", &self.metadata)?;
                    $(
                        if $crate::crd::Property::has_value(&self.$field) {
                            object.serialize_entry($json, &self.$field)?;
                        }
                    )*
                    $(
                        for (name, value) in &self.$rest {
                            object.serialize_entry(name, value)?;
                        }
                    )?
                    object.end()
                }
            }
        )?

        $(
            impl ::kube::core::object::HasSpec for $type {
                type Spec = $spec;

                fn spec(&self) -> &$spec {
                    &self.spec
                }

                fn spec_mut(&mut self) -> &mut $spec {
                    &mut self.spec
                }
            }
        )?

        $(
            impl ::kube::core::object::HasStatus for $type {
                type Status = $status;

                fn status(&self) -> ::std::option::Option<&$status> {
                    self.status.as_ref()
                }

                fn status_mut(&mut self) -> &mut ::std::option::Option<$status> {
                    &mut self.status
                }
            }
        )?

        $(
            impl $type {
                $(#[$about])*
                pub fn new(name: &str $(, $parameter: $parameter_type)?) -> Self {
                    #[allow(unused_mut, reason = "a kind may have no spec")]
                    let mut object: Self = $crate::crd::named(name);
                    $(object.$parameter = $value;)?
                    object
                }
            }
        )?
    };
}

/// A property of an object, which is written if it has a value.
pub trait Property {
    /// Whether it is written.
    fn has_value(&self) -> bool;
}

impl<T> Property for Option<T> {
    fn has_value(&self) -> bool {
        self.is_some()
    }
}

impl<T> Property for Required<T> {
    fn has_value(&self) -> bool {
        !self.is_absent()
    }
}

impl Property for Value {
    fn has_value(&self) -> bool {
        !self.is_null()
    }
}

/// Returns the default object with this name.
pub fn named<K: Default + Resource>(name: &str) -> K {
    let mut object = K::default();
    object.meta_mut().name = Some(name.to_owned());
    object
}
