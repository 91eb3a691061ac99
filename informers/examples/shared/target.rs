//! Which cluster to use, and what is wrong with a kubeconfig that names none.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};

/// Which cluster there is.
pub(crate) enum Target {
    /// A cluster that is configured, and where that is written.
    Cluster { config: Box<Config>, origin: String },
    /// Nothing is configured.
    Nothing,
}

/// The part of the environment that names a cluster.
pub(crate) struct Environment {
    pub(crate) kubeconfig: Option<OsString>,
    pub(crate) home: Option<PathBuf>,
}

impl Environment {
    pub(crate) fn of_process() -> Self {
        Self {
            kubeconfig: std::env::var_os("KUBECONFIG"),
            home: std::env::home_dir(),
        }
    }

    /// The kubeconfig files that count: those of `$KUBECONFIG`, which must be there, or `~/.kube/config` if it is.
    fn files(&self) -> Result<Vec<PathBuf>, String> {
        let named: Vec<PathBuf> = self
            .kubeconfig
            .iter()
            .flat_map(std::env::split_paths)
            .filter(|path| !path.as_os_str().is_empty())
            .collect();
        if let Some(missing) = named.iter().find(|path| !path.exists()) {
            return Err(format!(
                "KUBECONFIG names {}, which does not exist.",
                missing.display()
            ));
        }
        if !named.is_empty() {
            return Ok(named);
        }
        let usual = self.home.iter().map(|home| home.join(".kube").join("config"));
        Ok(usual.filter(|path| path.exists()).collect())
    }
}

/// Finds the configured cluster. The error is for the user: it names the file and quotes nothing of it.
pub(crate) async fn find(environment: &Environment) -> Result<Target, String> {
    let files = environment.files()?;
    if files.is_empty() {
        return Ok(match Config::incluster() {
            Ok(config) => Target::Cluster {
                config: Box::new(config),
                origin: "the service account of this pod".to_owned(),
            },
            Err(_) => Target::Nothing,
        });
    }
    let mut merged = Kubeconfig::default();
    for file in &files {
        merged = Kubeconfig::read_from(file)
            .and_then(|config| merged.merge(config))
            .map_err(|error| unusable(file, &error))?;
    }
    let origin: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    let origin = origin.join(" and ");
    let config = Config::from_custom_kubeconfig(merged, &KubeConfigOptions::default())
        .await
        .map_err(|error| unusable(Path::new(&origin), &error))?;
    Ok(Target::Cluster {
        config: Box::new(config),
        origin,
    })
}

/// The address of a cluster, without a user's name or password that its URL may have.
pub(crate) fn address(config: &Config) -> String {
    let url = &config.cluster_url;
    let scheme = url.scheme_str().unwrap_or("https");
    let host = url.host().unwrap_or("unknown");
    match url.port_u16() {
        Some(port) => format!("{scheme}://{host}:{port}"),
        None => format!("{scheme}://{host}"),
    }
}

fn unusable(file: &Path, error: &KubeconfigError) -> String {
    let why = match error {
        // The parser's own words quote what it read, and that may be a token.
        KubeconfigError::Parse(error) => {
            let place = error.location().map_or(String::new(), |place| {
                format!(" (line {}, column {})", place.line(), place.column())
            });
            format!("it is not sound YAML, or not a kubeconfig{place}")
        }
        KubeconfigError::ReadConfig(error, _) => format!("it cannot be read: {error}"),
        KubeconfigError::CurrentContextNotSet => {
            "it names no current context; run `kubectl config use-context NAME`".to_owned()
        }
        KubeconfigError::LoadContext(name) => format!("its current context {name:?} is not in it"),
        KubeconfigError::LoadClusterOfContext(name) => {
            format!("it has no cluster {name:?}, which its context names")
        }
        KubeconfigError::MissingClusterUrl => "its cluster has no `server`".to_owned(),
        other => other.to_string(),
    };
    format!("The kubeconfig {} cannot be used: {why}.", file.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: k, cluster: {server: 'http://user:secret@127.0.0.1:81'}}]\n\
                        contexts: [{name: c, context: {cluster: k, user: u}}]\nusers: [{name: u, user: {}}]\n";

    /// Finds the cluster of a home directory with this kubeconfig, and says what it is in one word or the error.
    async fn found(name: &str, kubeconfig: Option<&str>) -> Result<String, String> {
        // Cargo has a folder for integration tests only; these are also compiled by `cargo test --examples`.
        let folder = option_env!("CARGO_TARGET_TMPDIR").map_or_else(std::env::temp_dir, PathBuf::from);
        let home = folder.join(format!("examples-{name}"));
        let _absent = std::fs::remove_dir_all(&home);
        std::fs::create_dir_all(home.join(".kube")).unwrap();
        if let Some(text) = kubeconfig {
            std::fs::write(home.join(".kube/config"), text).unwrap();
        }
        let environment = Environment {
            kubeconfig: None,
            home: Some(home),
        };
        Ok(match find(&environment).await? {
            Target::Cluster { config, .. } => address(&config),
            Target::Nothing => "nothing".to_owned(),
        })
    }

    async fn check_error(name: &str, kubeconfig: &str, part: &str) {
        let error = found(name, Some(kubeconfig)).await.expect_err(kubeconfig);
        assert!(error.contains(part) && error.contains(".kube/config"), "{error}");
    }

    #[tokio::test]
    async fn without_a_file_nothing_is_configured() {
        assert_eq!(found("none", None).await.as_deref(), Ok("nothing"));
    }

    #[tokio::test]
    async fn an_address_shows_no_password() {
        assert_eq!(
            found("good", Some(GOOD)).await.as_deref(),
            Ok("http://127.0.0.1:81")
        );
    }

    #[tokio::test]
    async fn an_unusable_kubeconfig_is_named_with_what_is_wrong() {
        check_error("yaml", "clusters: [\nusers: ]", "line 2").await;
        check_error("type", "clusters: 5", "line 1").await;
        check_error(
            "context",
            &GOOD.replace("current-context: c\n", ""),
            "use-context",
        )
        .await;
        check_error(
            "other",
            &GOOD.replace("current-context: c", "current-context: x"),
            "\"x\"",
        )
        .await;
        check_error("cluster", &GOOD.replace("{cluster: k,", "{cluster: z,"), "\"z\"").await;
    }

    #[tokio::test]
    async fn a_parse_error_does_not_quote_the_file() {
        let text = GOOD.replace("{name: u, user: {}}", "{name: u, user: {token: [hunter2]}}");
        let error = found("secret", Some(&text)).await.unwrap_err();
        assert!(!error.contains("hunter2"), "{error}");
    }

    #[tokio::test]
    async fn a_file_named_by_kubeconfig_must_exist() {
        let environment = Environment {
            kubeconfig: Some("/does/not/exist".into()),
            home: None,
        };
        let Err(error) = find(&environment).await else {
            panic!("found a cluster");
        };
        assert_eq!(error, "KUBECONFIG names /does/not/exist, which does not exist.");
    }
}
