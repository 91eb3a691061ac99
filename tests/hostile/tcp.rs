//! Runs rows about the bytes of HTTP: on sockets, in real time, all at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use informer_core::source::{KubeSource, KubeSourceOptions};
use informer_core::{InitialState, Scope, SharedInformer, State, client};
use informer_testing::ApiServer;
use k8s_openapi::api::core::v1::ConfigMap;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::observe::{Log, Memory, unfit};
use crate::run::{healthy_server, is_selected, on_a_thread, turn};

/// Longer than any wait on a busy machine. Reached only by a row that hangs.
pub(crate) const LONG: Duration = Duration::from_secs(120);

/// The most memory of all rows together.
const MEMORY: usize = 128 * 1024 * 1024;

/// What a server does with each connection, whatever is requested; then it closes it.
pub(crate) struct Wire {
    pub(crate) name: &'static str,
    pub(crate) acts: Vec<Act>,
}

/// One act of a server on a connection.
#[derive(Clone)]
pub(crate) enum Act {
    /// Reads a request up to its empty line.
    Read,
    /// Reads frames of HTTP/2 up to the first request.
    ReadStream,
    Write(Vec<u8>),
    /// Writes something many times, until the other side closes.
    Repeat(&'static [u8], usize),
    /// Writes a byte at a time, with a pause after each.
    Trickle(&'static [u8]),
    /// Does nothing more, and keeps the connection.
    Hang,
    /// Breaks the connection.
    Reset,
}

/// Runs the rows of a table, and fails with all their errors. `run` plays one row and returns what is wrong.
pub(crate) fn table<F>(title: &'static str, rows: fn() -> Vec<Wire>, run: fn(Wire) -> F)
where
    F: Future<Output = Option<String>> + Send + 'static,
{
    let _turn = turn();
    let wrong = on_a_thread(title, move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime can be made");
        runtime.block_on(play(rows(), run))
    });
    assert!(wrong.is_empty(), "{title}:\n{}", wrong.join("\n"));
}

async fn play<F>(rows: Vec<Wire>, run: fn(Wire) -> F) -> Vec<String>
where
    F: Future<Output = Option<String>> + Send + 'static,
{
    Log::begin();
    let memory = Memory::begin();
    let mut running = JoinSet::new();
    for row in rows.into_iter().filter(|row| is_selected(row.name)) {
        running.spawn(async move {
            let name = row.name;
            run(row).await.map(|wrong| format!("{name}: {wrong}"))
        });
    }
    let mut wrong: Vec<String> = running.join_all().await.into_iter().flatten().collect();
    wrong.extend(Log::read().unfit);
    if memory.peak() > MEMORY {
        wrong.push(format!("took {} KiB of memory", memory.peak() / 1024));
    }
    wrong
}

/// Waits for an error, makes the server healthy, and waits until the cache equals it. Returns what is wrong.
pub(crate) async fn run(row: Wire) -> Option<String> {
    let mut healthy = healthy_server();
    let address = healthy.serve_http().await.expect("a port is free");
    let address = address.strip_prefix("http://").expect("it is plain").to_owned();
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let url = format!("http://{}", listener.local_addr().expect("it listens"));
    let healed = CancellationToken::new();
    let connections = Arc::new(AtomicUsize::new(0));
    let accepting = tokio::spawn(accept(
        listener,
        row.acts,
        address,
        healed.clone(),
        connections.clone(),
    ));

    let informer = informer_at(kube::Config::new(url.parse().expect("it is a URL")));
    informer.start().expect("it starts");
    let wrong = watch_it(&informer, &healthy, &healed, &connections).await;
    let _ = informer.shutdown_timeout(LONG).await;
    accepting.abort();
    wrong
}

pub(crate) fn informer_at(config: kube::Config) -> SharedInformer<ConfigMap> {
    let client = client::from_config(config).expect("the configuration is good");
    let options = KubeSourceOptions {
        answer_deadline: Duration::from_secs(5),
        list_idle_limit: Duration::from_secs(5),
        ..KubeSourceOptions::default()
    };
    let source = KubeSource::<ConfigMap>::new(client, Scope::All, options).expect("the options are good");
    // By LIST: an initial stream may be silent for half a minute before that is an error, and this is real
    // time.
    SharedInformer::builder_from_sources(vec![Arc::new(source)])
        .initial_state(InitialState::List)
        .build()
        .expect("one source is valid")
}

async fn watch_it(
    informer: &SharedInformer<ConfigMap>,
    healthy: &ApiServer,
    healed: &CancellationToken,
    connections: &AtomicUsize,
) -> Option<String> {
    let has_failed = || informer.status().scopes[0].counts.errors > 0;
    if !becomes(has_failed).await {
        return Some(format!("reports no error: {}", informer.status().state));
    }
    let status = informer.status();
    let error = status.scopes[0]
        .last_error
        .as_ref()
        .map(|last| last.error.to_string())
        .unwrap_or_default();
    if let Some(why) = unfit(&error) {
        return Some(format!("its error has {why}: {error:.100?}"));
    }
    if status.synced || status.objects > 0 {
        return Some(format!("is synced with {} objects", status.objects));
    }
    // A few attempts; an informer that does not wait between them makes thousands.
    let made = connections.load(Ordering::Relaxed);
    if made > 20 {
        return Some(format!("made {made} connections before its first wait"));
    }
    healed.cancel();
    let held = healthy.objects::<ConfigMap>().len();
    let is_equal =
        || informer.indexer().keys().len() == held && matches!(informer.status().state, State::Live);
    (!becomes(is_equal).await).then(|| format!("did not recover: {}", informer.status().state))
}

pub(crate) async fn becomes(condition: impl Fn() -> bool) -> bool {
    let wait = async {
        let mut often = tokio::time::interval(Duration::from_millis(50));
        while !condition() {
            often.tick().await;
        }
    };
    tokio::time::timeout(LONG, wait).await.is_ok()
}

/// Accepts connections: hostile ones until the server is healed, which also ends those.
async fn accept(
    listener: TcpListener,
    acts: Vec<Act>,
    healthy: String,
    healed: CancellationToken,
    connections: Arc<AtomicUsize>,
) {
    let mut open = JoinSet::new();
    while let Ok((mut stream, _)) = listener.accept().await {
        connections.fetch_add(1, Ordering::Relaxed);
        let (acts, healthy, healed) = (acts.clone(), healthy.clone(), healed.clone());
        open.spawn(async move {
            if !healed.is_cancelled() {
                // Errors are the other side's: it has closed the connection, as it should.
                let _ = healed.run_until_cancelled(perform(&mut stream, acts)).await;
                return;
            }
            if let Ok(mut server) = TcpStream::connect(healthy).await {
                let _ = copy_bidirectional(&mut stream, &mut server).await;
            }
        });
    }
}

/// Performs the acts on a connection, and then closes it.
async fn perform(stream: &mut TcpStream, acts: Vec<Act>) -> std::io::Result<()> {
    for act in acts {
        match act {
            Act::Reset => stream.set_zero_linger()?,
            act => act.perform(stream).await?,
        }
    }
    Ok(())
}

impl Act {
    /// Performs an act other than a reset, which TLS cannot do.
    pub(crate) async fn perform(
        self,
        stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    ) -> std::io::Result<()> {
        match self {
            Self::Read => {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(stream.read_u8().await?);
                }
            }
            Self::ReadStream => read_stream(stream).await?,
            Self::Write(bytes) => stream.write_all(&bytes).await?,
            Self::Repeat(bytes, times) => {
                for _ in 0..times {
                    stream.write_all(bytes).await?;
                }
            }
            Self::Trickle(bytes) => {
                for byte in bytes {
                    stream.write_u8(*byte).await?;
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
            Self::Hang => std::future::pending::<()>().await,
            Self::Reset => {}
        }
        stream.flush().await
    }
}

/// Reads the preface of a client and its frames, up to the HEADERS of its first request.
async fn read_stream(stream: &mut (impl AsyncRead + Unpin)) -> std::io::Result<()> {
    const HEADERS: u8 = 1;
    let mut preface = [0; 24];
    stream.read_exact(&mut preface).await?;
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).await?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; length as usize];
        stream.read_exact(&mut payload).await?;
        if head[3] == HEADERS {
            return Ok(());
        }
    }
}
