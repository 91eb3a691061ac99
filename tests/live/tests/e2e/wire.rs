//! A line to the server that can be cut: bytes go through unchanged until then.

use std::sync::{Arc, Mutex};

use informer_live::Cluster;
use kube::Client;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// Relays connections to a cluster, for as long as it lives.
pub(crate) struct Wire {
    url: http::Uri,
    state: Arc<Mutex<State>>,
    /// Aborted when dropped.
    _relay: JoinSet<()>,
}

enum State {
    /// The connections that are open.
    Open(JoinSet<()>),
    /// New connections are closed at once.
    Cut,
}

impl Wire {
    pub(crate) async fn to(cluster: &Cluster) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let url = format!("https://{}/", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(State::Open(JoinSet::new())));
        let (shared, port) = (state.clone(), cluster.url().port_u16().unwrap());
        let mut relay = JoinSet::new();
        relay.spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                if let State::Open(connections) = &mut *shared.lock().unwrap() {
                    connections.spawn(join(near, port));
                }
            }
        });
        Self {
            url: url.parse().unwrap(),
            state,
            _relay: relay,
        }
    }

    /// A client of a user that goes through this line.
    pub(crate) fn client_as(&self, cluster: &Cluster, user: &str) -> Client {
        informer_core::client::from_config(self.config_as(cluster, user)).unwrap()
    }

    pub(crate) fn config_as(&self, cluster: &Cluster, user: &str) -> kube::Config {
        let mut config = cluster.config_as(user).unwrap();
        config.cluster_url = self.url.clone();
        config
    }

    /// Closes every connection, and lets none through until [`mend`](Self::mend).
    pub(crate) fn cut(&self) {
        // Dropping the set aborts its tasks, and with them go the sockets.
        *self.state.lock().unwrap() = State::Cut;
    }

    pub(crate) fn mend(&self) {
        *self.state.lock().unwrap() = State::Open(JoinSet::new());
    }

    /// Closes every connection; new ones go through.
    pub(crate) fn interrupt(&self) {
        self.mend();
    }
}

async fn join(mut near: TcpStream, port: u16) {
    if let Ok(mut far) = TcpStream::connect(("127.0.0.1", port)).await {
        // However it ends, both sockets are closed then.
        let _ = copy_bidirectional(&mut near, &mut far).await;
    }
}
