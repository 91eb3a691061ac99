//! A server that replays Pods made from a template, in JSON and protobuf, without storing them.
//!
//! It lists and watches all Pods, also with initial events, and does nothing else of Kubernetes. Two further
//! paths control it and close the connection: `/replay/change/<count>` sends changes to every watch,
//! `/replay/expire` ends them with 410, so that clients have to relist.

mod body;
mod wire;

use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncBufReadExt, AsyncReadExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::broadcast;

use self::body::Body;
use self::wire::{Format, Wire};
use crate::Result;
use crate::arguments::Arguments;
use crate::template::{FIRST_VERSION, PodSize};

/// What all connections share.
struct Replay {
    pod: PodSize,
    state: Mutex<State>,
    /// Sent while `state` is locked, so a watch that subscribes with the lock misses nothing.
    news: broadcast::Sender<News>,
}

/// The version of each Pod, and what comes next.
struct State {
    versions: Vec<u64>,
    /// The Pod that changes next.
    next: usize,
    newest: u64,
    /// A watch from an older version is answered with 410.
    oldest: u64,
}

#[derive(Clone)]
enum News {
    /// Pods and their new versions.
    Changed(Arc<[(usize, u64)]>),
    Expired,
}

/// Serves `--objects` Pods on loopback until the standard input ends; `--pod` says which. Prints the path of
/// a kubeconfig, then the address.
pub(crate) async fn run(options: &Arguments) -> Result<()> {
    let replay = Arc::new(Replay {
        pod: options.get("pod")?,
        state: Mutex::new(State {
            versions: vec![FIRST_VERSION; options.get("objects")?],
            next: 0,
            newest: FIRST_VERSION,
            oldest: FIRST_VERSION,
        }),
        news: broadcast::channel(64).0,
    });
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let kubeconfig = tempfile::Builder::new().suffix(".kubeconfig").tempfile()?;
    std::fs::write(kubeconfig.path(), kubeconfig_of(&address.to_string()))?;
    println!("{}\n{address}", kubeconfig.path().display());
    let served = tokio::spawn(async move {
        loop {
            let Ok((stream, _)) = listener.accept().await else {
                break;
            };
            let replay = replay.clone();
            // A client that closes its connection is the usual end.
            tokio::spawn(async move { serve(stream, &replay).await.ok() });
        }
    });
    tokio::io::stdin().read_to_end(&mut Vec::new()).await?;
    served.abort();
    Ok(())
}

fn kubeconfig_of(address: &str) -> String {
    format!(
        r#"{{"apiVersion": "v1", "kind": "Config", "current-context": "replay",
  "clusters": [{{"name": "replay", "cluster": {{"server": "http://{address}"}}}}],
  "users": [{{"name": "replay", "user": {{}}}}],
  "contexts": [{{"name": "replay", "context": {{"cluster": "replay", "user": "replay"}}}}]}}"#
    )
}

/// Sends a command to the server at `$BENCH_REPLAY`, and waits until it is carried out.
pub(crate) async fn command(path: &str) -> Result<()> {
    use tokio::io::AsyncWriteExt as _;
    let mut stream = TcpStream::connect(std::env::var("BENCH_REPLAY")?).await?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: replay\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    match answer.starts_with("HTTP/1.1 200") {
        true => Ok(()),
        false => Err(format!("the replay server refused {path}").into()),
    }
}

/// A request, as far as this server needs it.
#[derive(Default)]
struct Request {
    path: String,
    query: String,
    accept: String,
}

impl Request {
    /// The next request of a connection; `None` at its end.
    async fn read(input: &mut (impl AsyncBufReadExt + Unpin)) -> Result<Option<Self>> {
        let mut request = Self::default();
        let mut line = String::new();
        if input.read_line(&mut line).await? == 0 {
            return Ok(None);
        }
        let target = line.split(' ').nth(1).unwrap_or_default();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        (request.path, request.query) = (path.to_owned(), query.to_owned());
        loop {
            line.clear();
            input.read_line(&mut line).await?;
            match line.trim_end().split_once(": ") {
                Some((name, value)) if name.eq_ignore_ascii_case("accept") => {
                    value.clone_into(&mut request.accept)
                }
                Some(_) => {}
                None => return Ok(Some(request)),
            }
        }
    }

    fn parameter(&self, name: &str) -> Option<&str> {
        let mut pairs = self.query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(found, _)| *found == name).map(|(_, value)| value)
    }

    fn is_true(&self, name: &str) -> bool {
        matches!(self.parameter(name), Some("true" | "1"))
    }
}

async fn serve(mut stream: TcpStream, replay: &Replay) -> Result<()> {
    stream.set_nodelay(true)?;
    let (input, output) = stream.split();
    let (mut input, mut body) = (BufReader::new(input), Body::new(output));
    while let Some(request) = Request::read(&mut input).await? {
        let format = match request.accept.contains("application/vnd.kubernetes.protobuf") {
            true => Format::Protobuf,
            false => Format::Json,
        };
        let wire = Wire::new(format, replay.pod);
        match request.path.as_str() {
            "/replay/expire" => {
                replay.expire();
                body.begin("text/plain").await?;
                return body.end().await;
            }
            path if path.starts_with("/replay/change/") => {
                let count = path.rsplit('/').next().unwrap_or_default().parse()?;
                replay.change(count);
                body.begin("text/plain").await?;
                return body.end().await;
            }
            "/api/v1/pods" if request.is_true("watch") => {
                body.begin(wire.watch_type()).await?;
                watch(&request, replay, &wire, &mut body).await?;
            }
            "/api/v1/pods" => {
                body.begin(wire.list_type()).await?;
                list(replay, &wire, &mut body).await?;
            }
            _ => body.not_found().await?,
        }
        body.end().await?;
    }
    Ok(())
}

async fn list(replay: &Replay, wire: &Wire, body: &mut Body<'_>) -> Result<()> {
    let (versions, newest) = replay.lock(|state| (state.versions.clone(), state.newest));
    wire.begin_list(versions.len(), newest, body.buffer());
    for (number, version) in versions.into_iter().enumerate() {
        wire.item(number, version, body.buffer());
        body.flush_if_large().await?;
    }
    wire.end_list(body.buffer());
    Ok(())
}

async fn watch(request: &Request, replay: &Replay, wire: &Wire, body: &mut Body<'_>) -> Result<()> {
    let (versions, newest, oldest, mut news) = replay.lock(|state| {
        let versions = state.versions.clone();
        (versions, state.newest, state.oldest, replay.news.subscribe())
    });
    if request.is_true("sendInitialEvents") {
        for (number, version) in versions.into_iter().enumerate() {
            wire.event("ADDED", number, version, body.buffer());
            body.flush_if_large().await?;
        }
        wire.initial_events_end(newest, body.buffer());
    } else {
        let from = request.parameter("resourceVersion").unwrap_or_default();
        if from.parse::<u64>().is_ok_and(|from| from < oldest) {
            wire.expired(body.buffer());
            return Ok(());
        }
    }
    body.flush().await?;
    while let Ok(news) = news.recv().await {
        match news {
            News::Changed(changes) => {
                for (number, version) in changes.iter() {
                    wire.event("MODIFIED", *number, *version, body.buffer());
                    body.flush_if_large().await?;
                }
            }
            News::Expired => {
                wire.expired(body.buffer());
                return Ok(());
            }
        }
        body.flush().await?;
    }
    Ok(())
}

impl Replay {
    fn lock<T>(&self, read: impl FnOnce(&mut State) -> T) -> T {
        read(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Gives new versions to the next `count` Pods.
    fn change(&self, count: usize) {
        self.lock(|state| {
            let changes = (0..count).map(|_| {
                let number = state.next % state.versions.len();
                state.next = number + 1;
                state.newest += 1;
                state.versions[number] = state.newest;
                (number, state.newest)
            });
            let changes = changes.collect();
            // An error means that nobody watches.
            let _ = self.news.send(News::Changed(changes));
        });
    }

    fn expire(&self) {
        self.lock(|state| {
            state.newest += 1;
            state.oldest = state.newest;
            let _ = self.news.send(News::Expired);
        });
    }
}
