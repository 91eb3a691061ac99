//! CustomResourceDefinitions from YAML files, served from the start.

use std::path::Path;

use serde_json::Value;

use crate::builder::Builder;
use crate::error::ApiError;

impl Builder {
    /// Serves the CustomResourceDefinitions of a YAML text, which may contain several documents.
    ///
    /// ```
    /// use informer_testing::ApiServer;
    ///
    /// let server = ApiServer::builder()
    ///     .crd_yaml("
    /// apiVersion: apiextensions.k8s.io/v1
    /// kind: CustomResourceDefinition
    /// metadata: { name: websites.example.com }
    /// spec:
    ///   group: example.com
    ///   scope: Namespaced
    ///   names: { kind: Website, plural: websites }
    ///   versions: [{ name: v1, served: true, storage: true }]
    /// ")?
    ///     .start();
    /// server.create(&serde_json::json!({
    ///     "apiVersion": "example.com/v1", "kind": "Website", "metadata": { "name": "blog" },
    /// }))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the text is not YAML, or a document is not a CustomResourceDefinition that the server accepts.
    pub fn crd_yaml(self, yaml: &str) -> Result<Self, CrdYamlError> {
        self.add_crds("the YAML text", yaml)
    }

    /// Serves the CustomResourceDefinitions of a YAML file; see [`crd_yaml`](Self::crd_yaml).
    ///
    /// # Errors
    /// If the file cannot be read, and as `crd_yaml`.
    pub fn crd_file(self, path: impl AsRef<Path>) -> Result<Self, CrdYamlError> {
        let path = path.as_ref();
        let origin = path.display().to_string();
        match std::fs::read_to_string(path) {
            Ok(yaml) => self.add_crds(&origin, &yaml),
            Err(error) => Err(CrdYamlError::Unreadable {
                origin,
                why: error.to_string(),
            }),
        }
    }

    fn add_crds(mut self, origin: &str, yaml: &str) -> Result<Self, CrdYamlError> {
        let documents: Vec<Value> =
            serde_saphyr::from_multiple(yaml).map_err(|error| CrdYamlError::Unreadable {
                origin: origin.to_owned(),
                why: error.to_string(),
            })?;
        // A server that is started here finds what the real one would refuse, where it can be reported.
        let trial = self.clone().start();
        for (index, crd) in documents.into_iter().enumerate() {
            if crd.is_null() {
                continue;
            }
            let number = index + 1;
            if crd["kind"] != "CustomResourceDefinition" {
                return Err(CrdYamlError::OtherKind {
                    origin: origin.to_owned(),
                    number,
                    kind: crd["kind"].as_str().unwrap_or_default().to_owned(),
                });
            }
            trial.create(&crd).map_err(|error| CrdYamlError::Refused {
                origin: origin.to_owned(),
                number,
                error: Box::new(error),
            })?;
            self.crds.push(crd);
        }
        Ok(self)
    }
}

/// Why CustomResourceDefinitions could not be read from YAML.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CrdYamlError {
    /// The file cannot be read, or its text is not YAML.
    #[error("cannot read {origin}: {why}")]
    Unreadable {
        /// The path of the file, or `the YAML text`.
        origin: String,
        /// What is wrong.
        why: String,
    },
    /// A document is not a CustomResourceDefinition.
    #[error("document {number} of {origin} has kind {kind:?}; only CustomResourceDefinition is accepted")]
    OtherKind {
        /// The path of the file, or `the YAML text`.
        origin: String,
        /// The number of the document, from 1, without empty ones.
        number: usize,
        /// Its kind.
        kind: String,
    },
    /// The server refuses a definition, for example because it exists.
    #[error("the server refuses document {number} of {origin}: {error}")]
    Refused {
        /// The path of the file, or `the YAML text`.
        origin: String,
        /// The number of the document, from 1, without empty ones.
        number: usize,
        /// The error of the server.
        #[source]
        error: Box<ApiError>,
    },
}
