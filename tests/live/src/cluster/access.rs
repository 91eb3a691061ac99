//! Who may talk to a cluster and how it proves itself: certificates, service-account keys, tokens,
//! kubeconfigs.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD as BASE64, URL_SAFE_NO_PAD as BASE64_URL};
use rand::RngExt as _;
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use serde_json::json;

use super::{ADMIN, ClusterError, ServiceAccount};

/// The group whose members may do anything, by a rule that no RBAC object can take away.
const ALL_RIGHTS: &str = "system:masters";

/// Who issues, and who accepts, the tokens of service accounts.
const ISSUER: &str = "https://kubernetes.default.svc";

/// Everything secret of one cluster. Made afresh for each, and kept in files that only this user can read.
pub(super) struct Access {
    folder: PathBuf,
    /// The certificate that signed the server's.
    authority: Certificate,
    /// By user.
    tokens: BTreeMap<String, String>,
    /// Signs the tokens of service accounts.
    service_accounts: KeyPair,
}

impl Access {
    /// Makes certificates, keys and tokens, and writes them where the flags of [`flags`](Self::flags) point.
    pub(super) fn new(folder: &Path, users: &[String]) -> Result<Self, ClusterError> {
        let (authority, certificate, key) = certificates()?;
        let names = users.iter().map(String::as_str).chain([ADMIN]);
        let access = Self {
            folder: folder.to_owned(),
            authority,
            tokens: names.map(|user| (user.to_owned(), new_token())).collect(),
            service_accounts: KeyPair::generate()?,
        };
        access.write("server.crt", &certificate)?;
        access.write("server.key", &key)?;
        let service_accounts = &access.service_accounts;
        access.write("service-accounts.key", &service_accounts.serialize_pem())?;
        access.write("service-accounts.pub", &service_accounts.public_key_pem())?;
        access.write("tokens.csv", &access.token_file())?;
        Ok(access)
    }

    /// Returns the flags of kube-apiserver for these files.
    pub(super) fn flags(&self) -> Vec<String> {
        let file = |flag: &str, name: &str| format!("--{flag}={}", self.folder.join(name).display());
        vec![
            file("cert-dir", "certificates"),
            file("tls-cert-file", "server.crt"),
            file("tls-private-key-file", "server.key"),
            file("service-account-key-file", "service-accounts.pub"),
            file("service-account-signing-key-file", "service-accounts.key"),
            format!("--service-account-issuer={ISSUER}"),
            file("token-auth-file", "tokens.csv"),
            "--authorization-mode=RBAC".to_owned(),
        ]
    }

    /// What a client of a user is made from.
    pub(super) fn config(&self, user: &str, url: &http::Uri) -> Result<kube::Config, ClusterError> {
        let mut config = kube::Config::new(url.clone());
        config.root_cert = Some(vec![self.authority.der().to_vec()]);
        config.auth_info.token = Some(self.token(user)?.to_owned().into());
        Ok(config)
    }

    /// Writes a kubeconfig of a user to a file, for other programs.
    pub(super) fn kubeconfig(&self, user: &str, url: &http::Uri) -> Result<PathBuf, ClusterError> {
        // kubectl joins path and server by itself, and would do so with two slashes.
        let server = url.to_string();
        let server = server.trim_end_matches('/');
        let authority = BASE64.encode(self.authority.pem());
        let config = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "live",
            "clusters": [{"name": "live", "cluster": {"server": server,
            "certificate-authority-data": authority}}],
            "users": [{"name": user, "user": {"token": self.token(user)?}}],
            "contexts": [{"name": "live", "context": {"cluster": "live", "user": user}}],
        });
        // JSON is YAML, too.
        self.write(&format!("{user}.kubeconfig"), &format!("{config:#}\n"))
    }

    fn token(&self, user: &str) -> Result<&str, ClusterError> {
        let token = self.tokens.get(user).map(String::as_str);
        token.ok_or_else(|| ClusterError::NoSuchUser(user.to_owned()))
    }

    /// Returns a token of a service account with this lifetime. The server itself issues none below ten
    /// minutes.
    pub(super) fn service_account_token(&self, account: &ServiceAccount, lifetime: Duration) -> String {
        let now = SystemTime::now();
        let seconds = |time: SystemTime| time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let ServiceAccount { namespace, name, uid } = account;
        let header = json!({"alg": "ES256", "typ": "JWT"});
        let claims = json!({
            "iss": ISSUER,
            "aud": [ISSUER],
            "iat": seconds(now),
            "nbf": seconds(now),
            "exp": seconds(now + lifetime),
            "sub": format!("system:serviceaccount:{namespace}:{name}"),
            "kubernetes.io": {"namespace": namespace, "serviceaccount": {"name": name, "uid": uid}},
        });
        let [header, claims] = [header, claims].map(|part| BASE64_URL.encode(part.to_string()));
        let signed = format!("{header}.{claims}");
        let signature = BASE64_URL.encode(sign(&self.service_accounts, signed.as_bytes()));
        format!("{signed}.{signature}")
    }

    /// One line each: token, user, user id, groups.
    fn token_file(&self) -> String {
        let line = |(user, token): (&String, &String)| match user.as_str() {
            ADMIN => format!("{token},{user},{user},{ALL_RIGHTS}\n"),
            _ => format!("{token},{user},{user}\n"),
        };
        self.tokens.iter().map(line).collect()
    }

    fn write(&self, name: &str, text: &str) -> Result<PathBuf, ClusterError> {
        let path = self.folder.join(name);
        let mut options = std::fs::OpenOptions::new();
        let mut file = options
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&path)?;
        file.write_all(text.as_bytes())?;
        Ok(path)
    }
}

/// An authority, a certificate it gives to the server on this machine, and that certificate's key.
fn certificates() -> Result<(Certificate, String, String), ClusterError> {
    let mut authority = CertificateParams::default();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority
        .distinguished_name
        .push(DnType::CommonName, "the authority of a test cluster");
    let authority_key = KeyPair::generate()?;
    let authority_certificate = authority.self_signed(&authority_key)?;

    let mut server = CertificateParams::new(["127.0.0.1".to_owned(), "localhost".to_owned()])?;
    server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    server
        .distinguished_name
        .push(DnType::CommonName, "kube-apiserver");
    let server_key = KeyPair::generate()?;
    let server_certificate = server.signed_by(&server_key, &Issuer::new(authority, &authority_key))?;
    Ok((
        authority_certificate,
        server_certificate.pem(),
        server_key.serialize_pem(),
    ))
}

/// Signs as ES256 wants it: both numbers in full length, one after the other.
fn sign(key: &KeyPair, text: &[u8]) -> Vec<u8> {
    let random = SystemRandom::new();
    let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &key.serialize_der(), &random)
        .expect("keys are made for this curve by default");
    let signature = key.sign(&random, text).expect("the system has random numbers");
    signature.as_ref().to_vec()
}

/// 128 random bits.
fn new_token() -> String {
    let bits: u128 = rand::rng().random();
    format!("{bits:032x}")
}
