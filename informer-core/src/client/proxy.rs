//! How connections reach the cluster: directly, or through the proxy of the configuration.

use http::Uri;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};

/// The way to the cluster.
pub(super) enum Route {
    Direct,
    /// A tunnel through an HTTP proxy.
    Http(Intercept),
    /// A tunnel through an HTTP proxy that is reached by TLS.
    #[cfg(feature = "rustls-tls")]
    Https(Intercept),
    Socks5(Intercept),
    /// Left to kube: it may be compiled with a TLS library that only kube knows, and it rejects proxies that
    /// are not supported.
    Kube,
}

impl Route {
    pub(super) fn of(config: &kube::Config) -> Self {
        let is_https = config.cluster_url.scheme() == Some(&http::uri::Scheme::HTTPS);
        if is_https && cfg!(not(feature = "rustls-tls")) {
            return Self::Kube;
        }
        let Some(url) = &config.proxy_url else {
            return Self::Direct;
        };
        match (url.scheme_str(), parse(url)) {
            (Some("http"), Some(proxy)) => Self::Http(proxy),
            #[cfg(feature = "rustls-tls")]
            (Some("https"), Some(proxy)) => Self::Https(proxy),
            (Some("socks5"), Some(proxy)) => Self::Socks5(proxy),
            _ => Self::Kube,
        }
    }
}

/// Separates the address of a proxy from its credentials, which are percent-decoded.
fn parse(url: &Uri) -> Option<Intercept> {
    let matcher = Matcher::builder().all(url.to_string()).build();
    matcher.intercept(&Uri::from_static("http://cluster"))
}

/// Connects by `connector` to an HTTP proxy, and from there to the cluster (CONNECT).
pub(super) fn tunnel<C>(connector: C, proxy: &Intercept) -> Tunnel<C> {
    let tunnel = Tunnel::new(proxy.uri().clone(), connector);
    match proxy.basic_auth() {
        Some(auth) => tunnel.with_auth(auth.clone()),
        None => tunnel,
    }
}

/// Connects by `connector` to a SOCKS5 proxy, and from there to the cluster. The proxy resolves its name.
pub(super) fn socks<C>(connector: C, proxy: &Intercept) -> SocksV5<C> {
    let socks = SocksV5::new(proxy.uri().clone(), connector);
    match proxy.raw_auth() {
        Some((user, password)) => socks.with_auth(user.to_owned(), password.to_owned()),
        None => socks,
    }
}

/// Removes a proxy of the environment from the configuration if `NO_PROXY` exempts the cluster, as client-go
/// does. A proxy of the kubeconfig applies in any case.
pub(super) fn apply_exemptions(config: &mut kube::Config, variable: impl Fn(&str) -> Option<String>) {
    let first = |names: [&str; 2]| {
        names
            .into_iter()
            .filter_map(&variable)
            .find(|value| !value.is_empty())
    };
    let of_environment = first(["HTTPS_PROXY", "https_proxy"]).and_then(|url| url.parse::<Uri>().ok());
    let (Some(url), Some(exempt)) = (&config.proxy_url, first(["NO_PROXY", "no_proxy"])) else {
        return;
    };
    let matcher = Matcher::builder().all(url.to_string()).no(exempt).build();
    if of_environment.as_ref() == Some(url) && matcher.intercept(&config.cluster_url).is_none() {
        config.proxy_url = None;
    }
}

#[cfg(test)]
#[path = "proxy_tests.rs"]
mod tests;
