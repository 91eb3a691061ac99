//! A proxy that does to a connection what networks, load balancers and overloaded servers do, as a seed
//! decides.
//!
//! It speaks plain HTTP/1.1 to its clients, and HTTP/1.1 with or without TLS to its servers, so it stands as
//! well before a real kube-apiserver as before the embedded one. It works on bytes: only so can it stop in
//! the middle of a chunk.

mod exchange;
mod message;
mod plan;
mod tcp;
mod upstream;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::BufReader;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

pub use self::plan::{FaultKind, FaultProfile};
pub use self::tcp::TcpRelay;
pub use self::upstream::Upstream;

use self::exchange::Next;
use self::plan::Plan;

/// How many faults and requests the log keeps. The counts are not limited.
const LOG_CAPACITY: usize = 10_000;

/// A listening proxy. It and its connections end when it is dropped.
///
/// Every request gets at most one fault, drawn from the seed in the order in which requests come. So one
/// client that does one thing after the other meets the same faults again with the same seed, as far as the
/// timing of the server allows.
///
/// Bounds: 64 KiB for the head of a request or an answer, 3 MiB for the body of a request, 4 MiB for a watch
/// event that is sent twice; bodies of answers are not kept. [`FaultProfile::stall`] limits stalls.
pub struct FaultProxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<Infallible>,
}

/// One fault that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Injected {
    /// What was done.
    pub kind: FaultKind,
    /// The request it was done to: path and parameters.
    pub target: String,
}

impl FaultProxy {
    /// Listens on a free port of this machine, before one server.
    ///
    /// # Errors
    /// No port can be opened.
    pub async fn start(seed: u64, profile: FaultProfile, upstream: Upstream) -> io::Result<Self> {
        Self::before(seed, profile, upstream, None).await
    }

    /// As [`start`](Self::start), with a second server behind the same address that may lag behind the first.
    /// It gets the requests that [`FaultKind::Stale`] is drawn for.
    ///
    /// # Errors
    /// No port can be opened.
    pub async fn start_with_stale(
        seed: u64,
        profile: FaultProfile,
        upstream: Upstream,
        stale: Upstream,
    ) -> io::Result<Self> {
        Self::before(seed, profile, upstream, Some(stale)).await
    }

    async fn before(
        seed: u64,
        profile: FaultProfile,
        upstream: Upstream,
        stale: Option<Upstream>,
    ) -> io::Result<Self> {
        let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = socket.local_addr()?;
        let shared = Arc::new(Shared {
            plan: Mutex::new(Plan::new(seed, profile, stale.is_some())),
            upstream,
            stale,
            mood: watch::Sender::new(Mood::Stormy),
            passing: watch::Sender::new(u64::MAX),
            record: Mutex::default(),
        });
        let task = tokio::spawn(accept(socket, shared.clone()));
        Ok(Self {
            address,
            shared,
            task,
        })
    }

    /// Where it listens, as `http://127.0.0.1:<port>/`.
    pub fn url(&self) -> http::Uri {
        format!("http://{}/", self.address)
            .parse()
            .expect("an address makes a sound URL")
    }

    /// A configuration of a client, changed so that the client goes through this proxy.
    pub fn config(&self, mut config: kube::Config) -> kube::Config {
        config.cluster_url = self.url();
        config
    }

    /// From now on everything passes unharmed. What is stalled is reset.
    pub fn calm(&self) {
        self.shared.mood.send_replace(Mood::Calm);
    }

    /// Lets only the first requests for a whole state pass, this many since the proxy started. Those after
    /// them wait until a later call allows more. Without a call all pass.
    pub fn pass_states(&self, first: u64) {
        self.shared.passing.send_replace(first);
    }

    /// How many requests for a whole state came so far.
    pub fn states(&self) -> u64 {
        self.shared.record().states
    }

    /// How often each fault happened so far. Those that never did are not in it.
    pub fn counts(&self) -> BTreeMap<FaultKind, u64> {
        self.shared.record().counts.clone()
    }

    /// The faults so far, oldest first; at most 10,000 of them.
    pub fn injected(&self) -> Vec<Injected> {
        self.shared.record().injected.clone()
    }

    /// How many requests came so far.
    pub fn requests(&self) -> u64 {
        self.shared.record().requests
    }

    /// Returns the requests so far, oldest first; at most 10,000.
    pub fn asked(&self) -> Vec<Asked> {
        self.shared.record().asked.clone()
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// One request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// The whole state: a list, of which pages after the first do not count, or a watch that begins with it.
    State,
    /// What happened since a version.
    Since(u64),
}

impl Asked {
    fn by(target: &str) -> Option<Self> {
        let parameters: BTreeMap<_, _> = target.split_once('?').map_or_else(BTreeMap::new, |(_, query)| {
            query.split('&').filter_map(|pair| pair.split_once('=')).collect()
        });
        let is = |name, value| parameters.get(name) == Some(&value);
        if !is("watch", "true") && !is("watch", "1") {
            return (!parameters.contains_key("continue")).then_some(Self::State);
        }
        let since = parameters
            .get("resourceVersion")
            .and_then(|text| text.parse().ok());
        match since {
            Some(since) if since > 0 && !is("sendInitialEvents", "true") => Some(Self::Since(since)),
            _ => Some(Self::State),
        }
    }
}

/// What the connections of one proxy share.
struct Shared {
    plan: Mutex<Plan>,
    upstream: Upstream,
    stale: Option<Upstream>,
    mood: watch::Sender<Mood>,
    /// How many requests for a whole state may pass.
    passing: watch::Sender<u64>,
    record: Mutex<Record>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mood {
    Stormy,
    Calm,
}

#[derive(Default)]
struct Record {
    requests: u64,
    states: u64,
    asked: Vec<Asked>,
    counts: BTreeMap<FaultKind, u64>,
    injected: Vec<Injected>,
}

impl Shared {
    fn is_stormy(&self) -> bool {
        *self.mood.borrow() == Mood::Stormy
    }

    /// Returns when faults are over.
    async fn calm(&self) {
        let mut mood = self.mood.subscribe();
        // The sender lives in `self`, so there is no error to meet.
        let _ended = mood.wait_for(|mood| *mood == Mood::Calm).await;
    }

    /// Counts a request, and returns when it may pass.
    async fn arrived(&self, target: &str) {
        let asked = Asked::by(target);
        let earlier = {
            let mut record = self.record();
            record.requests += 1;
            if record.asked.len() < LOG_CAPACITY {
                record.asked.extend(asked);
            }
            let earlier = record.states;
            record.states += u64::from(asked == Some(Asked::State));
            earlier
        };
        if asked == Some(Asked::State) {
            let mut passing = self.passing.subscribe();
            // The sender lives in `self`, so there is no error to meet.
            let _ended = passing.wait_for(|first| earlier < *first).await;
        }
    }

    fn happened(&self, kind: FaultKind, target: &str) {
        let mut record = self.record();
        *record.counts.entry(kind).or_default() += 1;
        if record.injected.len() < LOG_CAPACITY {
            record.injected.push(Injected {
                kind,
                target: target.to_owned(),
            });
        }
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        // Every change is one addition: what a panic leaves is sound.
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn plan(&self) -> MutexGuard<'_, Plan> {
        // A draw changes nothing but the generator: what a panic leaves is sound.
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn accept(socket: TcpListener, shared: Arc<Shared>) -> Infallible {
    // The set owns the connections: aborting this task drops it, which aborts them.
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        match socket.accept().await {
            Ok((client, _)) => {
                connections.spawn(serve(client, shared.clone()));
            }
            // Out of file descriptors, most likely; the next connection may fare better.
            Err(_) => tokio::time::sleep(std::time::Duration::from_millis(10)).await,
        }
    }
}

/// Serves one connection of a client, request by request.
async fn serve(client: TcpStream, shared: Arc<Shared>) {
    let _late = client.set_nodelay(true);
    let mut client = BufReader::new(client);
    loop {
        match exchange::exchange(&mut client, &shared).await {
            Ok(Next::Request) => {}
            Ok(Next::Close) | Err(_) => return,
            Ok(Next::Reset) => {
                // With nothing to linger for, the kernel sends a reset instead of an orderly end.
                let _unknown = client.get_ref().set_zero_linger();
                return;
            }
        }
    }
}
