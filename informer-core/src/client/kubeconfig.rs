//! Finds and reads kubeconfig files, with errors that name the files.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};

use super::ClientError;

/// The locations of kubeconfig files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Files {
    /// The files in `KUBECONFIG`. If several set a value, the first one wins.
    Named(Vec<PathBuf>),
    /// The default, `~/.kube/config`.
    Default(PathBuf),
    /// None: no home directory exists.
    Nowhere,
}

impl Files {
    pub(super) fn of_environment() -> Self {
        Self::of(std::env::var_os("KUBECONFIG"), std::env::home_dir())
    }

    pub(super) fn of(variable: Option<OsString>, home: Option<PathBuf>) -> Self {
        let named: Vec<PathBuf> = variable
            .iter()
            .flat_map(std::env::split_paths)
            .filter(|path| !path.as_os_str().is_empty())
            .collect();
        match home {
            _ if !named.is_empty() => Self::Named(named),
            Some(home) => Self::Default(home.join(".kube").join("config")),
            None => Self::Nowhere,
        }
    }

    /// Reads and merges the files, and returns the configuration of their current context.
    pub(super) async fn load(&self) -> Result<kube::Config, ClientError> {
        let paths = match self {
            Self::Named(paths) => paths.as_slice(),
            Self::Default(path) => std::slice::from_ref(path),
            Self::Nowhere => return Err(ClientError::NoConfiguration),
        };
        let of_all = |error: &KubeconfigError, context: Option<&str>| ClientError::Kubeconfig {
            paths: paths.to_vec(),
            why: describe(error, context),
        };
        let mut merged = Kubeconfig::default();
        for path in paths {
            let file = Kubeconfig::read_from(path).map_err(|error| self.of_file(&error, path))?;
            merged = merged.merge(file).map_err(|error| of_all(&error, None))?;
        }
        let context = merged.current_context.clone();
        kube::Config::from_custom_kubeconfig(merged, &KubeConfigOptions::default())
            .await
            .map_err(|error| of_all(&error, context.as_deref()))
    }

    fn of_file(&self, error: &KubeconfigError, path: &Path) -> ClientError {
        let why = match (self, error) {
            (Self::Default(_), KubeconfigError::ReadConfig(io, _)) if is_missing(io) => {
                return ClientError::NoConfiguration;
            }
            (_, KubeconfigError::ReadConfig(io, _)) if is_missing(io) => {
                "it does not exist; correct KUBECONFIG, or unset it to use ~/.kube/config".to_owned()
            }
            (_, error) => describe(error, None),
        };
        ClientError::Kubeconfig {
            paths: vec![path.to_path_buf()],
            why,
        }
    }
}

impl fmt::Display for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let paths = match self {
            Self::Named(paths) => paths.as_slice(),
            Self::Default(path) => std::slice::from_ref(path),
            Self::Nowhere => return f.write_str("no kubeconfig"),
        };
        let paths: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        write!(f, "kubeconfig {}", paths.join(", "))
    }
}

fn is_missing(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::NotFound
}

/// Describes an error without quoting the file: the text that cannot be parsed may be a token.
fn describe(error: &KubeconfigError, context: Option<&str>) -> String {
    let of_context = context.map(|name| format!("its context {name:?}"));
    let of_context = of_context.as_deref().unwrap_or("its context");
    match error {
        KubeconfigError::ReadConfig(io, _) => io.to_string(),
        KubeconfigError::Parse(_) => "it is not valid YAML, or not a kubeconfig".to_owned(),
        KubeconfigError::CurrentContextNotSet => {
            "it names no current context; run `kubectl config use-context <name>`".to_owned()
        }
        KubeconfigError::LoadContext(name) => {
            format!("its current context {name:?} is not defined; run `kubectl config use-context <name>`")
        }
        KubeconfigError::LoadClusterOfContext(name) => {
            format!("{of_context} names the cluster {name:?}, which is not defined")
        }
        KubeconfigError::MissingClusterUrl => format!("the cluster of {of_context} has no `server`"),
        other => format!("{of_context}: {other}"),
    }
}
