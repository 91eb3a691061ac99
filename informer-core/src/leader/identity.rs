//! The default identity of a process: the pod or host, and a random suffix.

use rand::RngExt as _;

/// Returns the name of the pod or host with a random suffix, so that it is unique for each process.
///
/// The suffix has 64 random bits: a container that restarts keeps the name of its pod and its host.
pub(super) fn unique() -> String {
    let suffix: u64 = rand::rng().random();
    format!("{}_{suffix:016x}", host())
}

fn host() -> String {
    let of_environment = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let of_kernel = || {
        let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
        Some(name.trim().to_owned()).filter(|name| !name.is_empty())
    };
    of_environment("POD_NAME")
        .or_else(|| of_environment("HOSTNAME"))
        .or_else(of_kernel)
        .unwrap_or_else(|| "unknown-host".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_identities_of_one_host_differ() {
        let (one, other) = (unique(), unique());
        assert_ne!(one, other);
        let (host, suffix) = one.rsplit_once('_').expect("it has a suffix");
        assert!(!host.is_empty());
        assert_eq!(suffix.len(), 16);
    }
}
