//! Generates source text from CustomResourceDefinitions.
//!
//! [`read`] finds the definitions in YAML or JSON, [`tree`] turns them into the files of a module tree or a
//! crate: types for every served version ([`types`]), informers, listers and accessors. This module does no
//! I/O; the program `informer-gen` in its own package does.
//!
//! ```
//! use informer_gen::crd::{self, TreeOptions};
//!
//! let text = "
//! apiVersion: apiextensions.k8s.io/v1
//! kind: CustomResourceDefinition
//! metadata: { name: foos.example.com }
//! spec:
//!   group: example.com
//!   names: { kind: Foo, plural: foos }
//!   scope: Namespaced
//!   versions:
//!     - name: v1
//!       served: true
//!       storage: true
//!       schema: { openAPIV3Schema: { type: object } }
//! ";
//! let reading = crd::read("foo.yaml", text)?;
//! let tree = crd::tree(&reading.found, &TreeOptions::default())?;
//! assert!(tree.files["example_com/v1.rs"].contains("pub fn foos(&self) -> FooInformer"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod definition;
mod documents;
mod drift;
mod read;
mod record;
pub mod shape;
mod tree;
pub mod types;

pub use self::drift::Drift;
pub use self::read::{Found, MAX_DOCUMENTS, Place, ReadError, Reading, read, read_value};
pub use self::record::{Record, RecordError, RecordedDefinition, RecordedVersion};
pub use self::tree::{
    Derive, DeriveOn, Docs, Extra, FieldPath, GeneratedKind, IndexBy, Informers, MARKER, MapType,
    OptionError, RECORD, Reuse, Root, SharedTypes, Style, Tree, TreeError, TreeOptions, Types,
    check_crate_name, informers_version, is_marked, record_of, single_file, tree,
};
