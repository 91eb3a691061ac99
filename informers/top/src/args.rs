//! The command line.

use std::time::Duration;

use clap::Parser;

/// Shows which kinds of a Kubernetes cluster change most, with counts, sizes, staleness and errors.
///
/// It reads only metadata, and a few whole objects of each kind to estimate sizes. Kinds that may not be
/// listed are shown as forbidden.
#[derive(Clone, Debug, Parser)]
#[command(name = "informer-top", version)]
pub(crate) struct Args {
    /// Use a demo cluster inside this program instead of the kubeconfig.
    #[arg(long)]
    pub(crate) embedded: bool,
    /// Show only namespaced kinds, and only of this namespace. Repeatable.
    #[arg(long = "namespace", short = 'n', value_name = "NS")]
    pub(crate) namespaces: Vec<String>,
    /// Show only these kinds, such as `pods` or `deployments.apps`.
    #[arg(value_name = "KIND")]
    pub(crate) kinds: Vec<String>,
    /// The most kinds to watch; each takes a watch and memory for the metadata of its objects.
    #[arg(long, value_name = "NUMBER", default_value_t = 100)]
    pub(crate) most: usize,
    /// Seconds between two updates of the screen, from 0.1 to 60.
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0)]
    pub(crate) every: f64,
    /// Print the table once, when the caches are in sync or after 10 seconds, and end.
    #[arg(long)]
    pub(crate) once: bool,
}

impl Args {
    /// The time between two updates of the screen.
    pub(crate) fn interval(&self) -> Duration {
        let seconds = match self.every.is_nan() {
            true => 0.1,
            false => self.every.clamp(0.1, 60.0),
        };
        Duration::from_secs_f64(seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_bounded() {
        for (every, expected) in [("0", 100), ("NaN", 100), ("2", 2_000), ("1e9", 60_000)] {
            let args = Args::parse_from(["informer-top", "--every", every]);
            assert_eq!(args.interval(), Duration::from_millis(expected), "{every}");
        }
    }

    #[test]
    fn kinds_and_namespaces_are_lists() {
        let args = Args::parse_from([
            "informer-top",
            "-n",
            "a",
            "--namespace",
            "b",
            "pods",
            "deployments.apps",
        ]);
        assert_eq!(args.namespaces, ["a", "b"]);
        assert_eq!(args.kinds, ["pods", "deployments.apps"]);
        assert_eq!(args.most, 100);
    }
}
