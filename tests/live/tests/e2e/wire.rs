//! A line to the server that can be cut, or whose far end can vanish. Bytes go through unchanged until then.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use informer_live::Cluster;
use kube::Client;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Relays connections to a cluster, for as long as it lives.
pub(crate) struct Wire {
    url: http::Uri,
    state: Arc<Mutex<State>>,
    accepted: Arc<AtomicUsize>,
    /// Sent to every connection that is open.
    vanished: watch::Sender<()>,
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
        let accepted = Arc::new(AtomicUsize::new(0));
        let counted = accepted.clone();
        let (shared, port) = (state.clone(), cluster.url().port_u16().unwrap());
        let vanished = watch::Sender::new(());
        let open = vanished.clone();
        let mut relay = JoinSet::new();
        relay.spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::Relaxed);
                if let State::Open(connections) = &mut *shared.lock().unwrap() {
                    connections.spawn(join(near, port, open.subscribe()));
                }
            }
        });
        Self {
            url: url.parse().unwrap(),
            state,
            accepted,
            vanished,
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

    /// The number of connections so far.
    pub(crate) fn accepted(&self) -> usize {
        self.accepted.load(Ordering::Relaxed)
    }

    /// The number of open connections.
    pub(crate) fn connections(&self) -> usize {
        match &mut *self.state.lock().unwrap() {
            State::Open(connections) => {
                while connections.try_join_next().is_some() {}
                connections.len()
            }
            State::Cut => 0,
        }
    }

    /// Closes every connection, and refuses new ones until [`reconnect`](Self::reconnect).
    pub(crate) fn cut(&self) {
        // Dropping the set aborts its tasks, and with them go the sockets.
        *self.state.lock().unwrap() = State::Cut;
    }

    pub(crate) fn reconnect(&self) {
        *self.state.lock().unwrap() = State::Open(JoinSet::new());
    }

    /// Closes every connection; new ones go through.
    pub(crate) fn interrupt(&self) {
        self.reconnect();
    }

    /// The far end of every connection vanishes, as a machine that loses its power: nothing is closed,
    /// nothing is sent, and nothing is acknowledged, keep-alive probes included. New connections go through.
    #[cfg(target_os = "linux")]
    pub(crate) fn vanish(&self) {
        self.vanished.send_replace(());
    }
}

async fn join(mut near: TcpStream, port: u16, mut vanished: watch::Receiver<()>) {
    if let Ok(mut far) = TcpStream::connect(("127.0.0.1", port)).await {
        tokio::select! {
            // However it ends, both sockets are closed then.
            _ended = copy_bidirectional(&mut near, &mut far) => {}
            Ok(()) = vanished.changed() => {
                deafen(&near);
                // The sockets stay open.
                std::future::pending::<()>().await;
            }
        }
    }
}

/// Drops every packet that arrives at a socket, before TCP sees it.
#[cfg(target_os = "linux")]
fn deafen(socket: &TcpStream) {
    /// "Return this many bytes of the packet", as an instruction of Linux packet filters.
    const RETURN: u16 = 0x06;
    let nothing = socket2::SockFilter::new(RETURN, 0, 0, 0);
    socket2::SockRef::from(socket).attach_filter(&[nothing]).unwrap();
}

#[cfg(not(target_os = "linux"))]
fn deafen(_: &TcpStream) {}
