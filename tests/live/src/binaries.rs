//! Finds kube-apiserver and etcd: where envtest puts them, on the path, or built before.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::go_build;
pub use crate::go_build::{BuildProgress, build, target};

/// The release of Kubernetes that is built where there are no binaries.
pub const KUBERNETES_VERSION: &str = "1.37.1";

/// The variable with which envtest's users name the folder of their binaries.
const ASSETS: &str = "KUBEBUILDER_ASSETS";

/// The programs a cluster is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binaries {
    kube_apiserver: PathBuf,
    etcd: PathBuf,
    kubectl: Option<PathBuf>,
}

impl Binaries {
    /// Those in the folder `$KUBEBUILDER_ASSETS`; else those on the path, if both exist; else those that
    /// [`build`] has left in the target folder.
    ///
    /// A `$KUBEBUILDER_ASSETS` without binaries is an error: a user who sets it wants these and no others.
    pub fn find() -> Result<Self, BinariesError> {
        if let Some(folder) = std::env::var_os(ASSETS).filter(|folder| !folder.is_empty()) {
            let folder = PathBuf::from(folder);
            return Self::in_folders(std::slice::from_ref(&folder)).ok_or(BinariesError::Assets(folder));
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
        Self::in_folders(&folders)
            .or_else(|| Self::in_folders(&[go_build::folder()]))
            .ok_or(BinariesError::None)
    }

    /// What [`find`](Self::find) finds; else built with the installed Go, which takes minutes and reports its
    /// progress.
    pub fn find_or_build(report: &mut dyn FnMut(&BuildProgress)) -> Result<Self, BinariesError> {
        match Self::find() {
            Err(BinariesError::None) => {
                build(report)?;
                Self::find()
            }
            found => found,
        }
    }

    fn in_folders(folders: &[PathBuf]) -> Option<Self> {
        let program = |name: &str| {
            folders
                .iter()
                .map(|folder| folder.join(name))
                .find(|path| is_program(path))
        };
        Some(Self {
            kube_apiserver: program("kube-apiserver")?,
            etcd: program("etcd")?,
            kubectl: program("kubectl"),
        })
    }

    /// The path of kube-apiserver.
    pub fn kube_apiserver(&self) -> &Path {
        &self.kube_apiserver
    }

    /// The path of etcd.
    pub fn etcd(&self) -> &Path {
        &self.etcd
    }

    /// The path of kubectl, if it is beside the others. No test needs it.
    pub fn kubectl(&self) -> Option<&Path> {
        self.kubectl.as_deref()
    }

    /// Returns the version that `etcd --version` prints.
    pub fn etcd_version(&self) -> Result<EtcdVersion, BinariesError> {
        let unusable = |why: String| BinariesError::Unusable {
            program: self.etcd.clone(),
            why,
        };
        let output = Command::new(&self.etcd)
            .arg("--version")
            .output()
            .map_err(|error| unusable(error.to_string()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        EtcdVersion::parse(&text).ok_or_else(|| unusable(format!("`--version` printed {text:?}")))
    }
}

pub(crate) fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// A release of etcd.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EtcdVersion {
    major: u32,
    minor: u32,
    patch: u32,
}

impl EtcdVersion {
    /// Reads the first line of `etcd --version`: `etcd Version: 3.7.0`.
    fn parse(text: &str) -> Option<Self> {
        let version = text.lines().next()?.strip_prefix("etcd Version: ")?;
        // A release candidate counts as its release.
        let number = version.trim().split(['-', '+']).next()?;
        let mut parts = number.split('.').map(str::parse);
        let mut part = || parts.next()?.ok();
        Some(Self {
            major: part()?,
            minor: part()?,
            patch: part()?,
        })
    }

    /// Whether it reports progress on request, which watch lists need: 3.6 and newer.
    pub fn reports_progress(self) -> bool {
        (self.major, self.minor) >= (3, 6)
    }
}

impl fmt::Display for EtcdVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// Why there are no programs to start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BinariesError {
    /// Neither found nor built.
    #[error(
        "neither found in $KUBEBUILDER_ASSETS or on the path, nor built before: run `cargo xtask apiserver \
         build`, which needs Go, or install the binaries of envtest (`setup-envtest use`) and set \
         KUBEBUILDER_ASSETS"
    )]
    None,
    /// The folder in the environment variable has no binaries.
    #[error("KUBEBUILDER_ASSETS names {0}, which does not hold both kube-apiserver and etcd")]
    Assets(PathBuf),
    /// There is no Go to build them with.
    #[error(
        "neither kube-apiserver and etcd nor Go are installed: install Go {needed} or newer \
         (https://go.dev/dl), or the binaries of envtest (`setup-envtest use`) and set KUBEBUILDER_ASSETS",
        needed = go_build::OLDEST_GO
    )]
    NoGo,
    /// They could not be built.
    #[error("cannot build {what}: {why}")]
    Build {
        /// Which of them.
        what: String,
        /// The end of the output of Go.
        why: String,
    },
    /// A binary exists and does not work.
    #[error("{} cannot be used: {why}", program.display())]
    Unusable {
        /// Its path.
        program: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A file could not be read or written.
    #[error("cannot handle the files of the build")]
    Io(#[from] std::io::Error),
}

#[cfg(test)]
#[path = "binaries_tests.rs"]
mod tests;
