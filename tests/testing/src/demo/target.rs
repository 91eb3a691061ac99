//! Where the cluster to use is configured.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The part of the environment that names a cluster.
pub(super) struct Environment {
    pub(super) kubeconfig: Option<OsString>,
    pub(super) home: Option<PathBuf>,
    pub(super) service_host: Option<OsString>,
}

impl Environment {
    pub(super) fn of_process() -> Self {
        Self {
            kubeconfig: std::env::var_os("KUBECONFIG"),
            home: std::env::home_dir(),
            service_host: std::env::var_os("KUBERNETES_SERVICE_HOST"),
        }
    }

    /// Where the configuration of a cluster is, for messages; `None` if none exists.
    pub(super) fn configuration(&self) -> Option<String> {
        if let Some(paths) = self.kubeconfig.as_ref().filter(|paths| !paths.is_empty()) {
            return Some(format!("KUBECONFIG={}", Path::new(paths).display()));
        }
        let usual = self.home.as_ref().map(|home| home.join(".kube").join("config"));
        if let Some(path) = usual.filter(|path| path.exists()) {
            return Some(path.display().to_string());
        }
        let in_pod = self.service_host.as_ref().filter(|host| !host.is_empty());
        in_pod.map(|_| "the service account of this pod".to_owned())
    }
}

/// The address of the configured cluster, without the user name and password that its URL may hold; `None` if
/// the configuration cannot be read.
pub(super) async fn address() -> Option<String> {
    let config = kube::Config::infer().await.ok()?;
    let url = &config.cluster_url;
    let (scheme, host) = (url.scheme_str().unwrap_or("https"), url.host()?);
    Some(match url.port_u16() {
        Some(port) => format!("{scheme}://{host}:{port}"),
        None => format!("{scheme}://{host}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(kubeconfig: Option<&str>, service_host: Option<&str>, expected: Option<&str>) {
        let environment = Environment {
            kubeconfig: kubeconfig.map(OsString::from),
            home: Some(PathBuf::from("/does/not/exist")),
            service_host: service_host.map(OsString::from),
        };
        assert_eq!(environment.configuration().as_deref(), expected);
    }

    #[test]
    fn a_kubeconfig_comes_before_the_service_account() {
        check(None, None, None);
        check(Some(""), Some(""), None);
        check(Some("/a:/b"), Some("10.0.0.1"), Some("KUBECONFIG=/a:/b"));
        check(None, Some("10.0.0.1"), Some("the service account of this pod"));
    }
}
