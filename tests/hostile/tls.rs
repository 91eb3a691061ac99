//! Runs rows about the frames of HTTP/2: over TLS, in real time, all at once.
//!
//! A client negotiates HTTP/2 for watches, and lists by HTTP/1.1. So an informer of such a row reads its
//! first state from the healthy server, and its watches are hostile.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use k8s_openapi::api::core::v1::ConfigMap;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_util::sync::CancellationToken;

use informer_core::State;

use crate::observe::unfit;
use crate::run::{healthy_object, healthy_server};
use crate::tcp::{Act, LONG, Wire, becomes, informer_at};

/// The most hostile connections before the server is healed: those of a few attempts. The client opens up
/// to 17 for one request if each is closed at once.
const CONNECTIONS: usize = 60;

/// Waits until a watch was hostile, makes the server healthy, and waits until the cache equals it. Returns
/// what is wrong.
pub(crate) async fn run(row: Wire) -> Option<String> {
    let mut healthy = healthy_server();
    let address = healthy.serve_http().await.expect("a port is free");
    let address = address.strip_prefix("http://").expect("it is plain").to_owned();
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let url = format!("https://{}", listener.local_addr().expect("it listens"));
    let server = Server::new(row.acts, address);
    let mut config = kube::Config::new(url.parse().expect("it is a URL"));
    config.root_cert = Some(vec![server.certificate.clone()]);
    let (healed, hostile) = (server.healed.clone(), server.hostile.clone());
    let accepting = tokio::spawn(server.accept(listener));

    let informer = informer_at(config);
    informer.start().expect("it starts");
    let wrong = async {
        // An error of the watch, or HTTP/1.1 instead, which the healthy server answers.
        let is_over = || {
            let status = informer.status();
            let failed = status.scopes[0].counts.errors > 0;
            hostile.load(Ordering::Relaxed) > 0 && (failed || matches!(status.state, State::Live))
        };
        if !becomes(is_over).await {
            return Some(format!("reports no error: {}", informer.status().state));
        }
        let status = informer.status();
        if let Some(last) = &status.scopes[0].last_error
            && let Some(why) = unfit(&last.error.to_string())
        {
            return Some(format!("its error has {why}"));
        }
        let made = hostile.load(Ordering::Relaxed);
        if made > CONNECTIONS {
            return Some(format!("made {made} connections before its first wait"));
        }
        healed.cancel();
        healthy
            .create(&healthy_object("late"))
            .expect("it is a good object");
        let held = healthy.objects::<ConfigMap>().len();
        let is_equal =
            || informer.indexer().keys().len() == held && matches!(informer.status().state, State::Live);
        (!becomes(is_equal).await).then(|| format!("did not recover: {}", informer.status().state))
    }
    .await;
    let _ = informer.shutdown_timeout(LONG).await;
    accepting.abort();
    wrong
}

/// A server with TLS: hostile where HTTP/2 is negotiated, and else a proxy of the healthy server.
struct Server {
    certificate: Vec<u8>,
    both: TlsAcceptor,
    http1: TlsAcceptor,
    acts: Vec<Act>,
    healthy: String,
    healed: CancellationToken,
    /// How many connections were hostile.
    hostile: Arc<AtomicUsize>,
}

impl Server {
    fn new(acts: Vec<Act>, healthy: String) -> Self {
        let rcgen::CertifiedKey { cert, signing_key } =
            rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("it is a good name");
        let acceptor = |protocols: &[&[u8]]| {
            let key = PrivateKeyDer::try_from(signing_key.serialize_der()).expect("it is a key");
            let mut config = ServerConfig::builder()
                .with_no_client_auth()
                .with_single_cert(vec![cert.der().clone()], key)
                .expect("key and certificate belong together");
            config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
            TlsAcceptor::from(Arc::new(config))
        };
        Self {
            certificate: cert.der().to_vec(),
            both: acceptor(&[b"h2", b"http/1.1"]),
            http1: acceptor(&[b"http/1.1"]),
            acts,
            healthy,
            healed: CancellationToken::new(),
            hostile: Arc::default(),
        }
    }

    /// Accepts connections. When the server is healed, hostile ones end.
    async fn accept(self, listener: TcpListener) {
        let server = Arc::new(self);
        let mut open = JoinSet::new();
        while let Ok((stream, _)) = listener.accept().await {
            let server = server.clone();
            open.spawn(async move { server.serve(stream).await });
        }
    }

    async fn serve(&self, stream: TcpStream) -> Option<()> {
        let acceptor = match self.healed.is_cancelled() {
            true => &self.http1,
            false => &self.both,
        };
        let mut stream = acceptor.accept(stream).await.ok()?;
        if stream.get_ref().1.alpn_protocol() == Some(b"h2") {
            self.hostile.fetch_add(1, Ordering::Relaxed);
            let acts = async {
                for act in self.acts.clone() {
                    act.perform(&mut stream).await?;
                }
                std::io::Result::Ok(())
            };
            // Errors are the other side's: it has closed the connection, as it should.
            let _ = self.healed.run_until_cancelled(acts).await;
            return None;
        }
        let mut server = TcpStream::connect(&self.healthy).await.ok()?;
        copy_bidirectional(&mut stream, &mut server).await.ok()?;
        None
    }
}
