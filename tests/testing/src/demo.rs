//! The frame of a demo program: everything in an example that is not about Kubernetes clients (feature
//! `demo`).
//!
//! A [`Program`] reads the command line, installs a tracing subscriber and prints errors with their causes.
//! The [`Demo`] it runs connects to the configured cluster, or starts an embedded API server on which a
//! [`Script`] makes things happen; it writes lines, pod events and tables, coloured and with a footer in a
//! terminal, and ends at Ctrl-C, after `--for`, or with its script. `--help` lists the flags.
//!
//! ```no_run
//! use std::process::ExitCode;
//! use std::time::Duration;
//!
//! use informer_testing::demo::{self, Demo, PodTable, Program};
//! use k8s_openapi::api::core::v1::Pod;
//! use kube::api::{Api, ListParams};
//!
//! #[tokio::main]
//! async fn main() -> ExitCode {
//!     Program::new("Shows the pods of a cluster every five seconds.").run(poll).await
//! }
//!
//! async fn poll(demo: &mut Demo) -> demo::Result {
//!     // The configured cluster, or a demo cluster inside this program.
//!     let client = demo.connect(kube::Client::try_default()).await?;
//!     let pods: Api<Pod> = Api::all(client);
//!     while demo.or_end(tokio::time::sleep(Duration::from_secs(5))).await.is_some() {
//!         let mut table = PodTable::new("The pods");
//!         for pod in pods.list(&ListParams::default()).await? {
//!             table.add(&pod);
//!         }
//!         demo.table(&table);
//!     }
//!     Ok(())
//! }
//! ```

mod args;
mod cluster;
mod ending;
mod failure;
mod logs;
mod page;
mod pod;
mod program;
mod screen;
mod script;
mod scripts;
mod table;
mod target;

use std::convert::Infallible;
use std::fmt::{self, Display};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::time::interval;

use crate::server::ApiServer;
use args::{Options, Server, Task};
use ending::Ending;
use failure::Ended;
use target::Environment;

pub use failure::{Failure, Result};
pub use program::Program;
pub use screen::Screen;
pub use script::Script;
pub use table::PodTable;

/// How often the footer is redrawn.
const FOOTER_EVERY: Duration = Duration::from_millis(200);
/// How many lines may wait for a script.
const LINES: usize = 1024;

/// Ready when the program ends. See [`Demo::run_until_end`].
pub type End = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A running program: its server, its output and its end.
pub struct Demo {
    options: Options,
    script: Script,
    screen: Screen,
    ending: Ending,
    /// The embedded server, if it is used.
    server: Option<Arc<ApiServer>>,
    /// The cluster for messages, if one is used.
    cluster: Option<String>,
    status: Box<dyn Fn() -> String + Send>,
}

impl Demo {
    fn new(options: Options, script: Script) -> Self {
        let screen = Screen::new();
        Self {
            ending: Ending::new(options.duration, screen.closed()),
            options,
            script,
            screen,
            server: None,
            cluster: None,
            status: Box::new(|| "running".to_owned()),
        }
    }

    /// Connects to the configured cluster by `client`, or starts the embedded server with its script and
    /// connects to it: with `--embedded`, and if no cluster is configured. Says which server it is.
    ///
    /// # Errors
    /// When `client` fails.
    pub async fn connect<E: Into<Failure>>(
        &mut self,
        client: impl Future<Output = std::result::Result<kube::Client, E>>,
    ) -> Result<kube::Client> {
        if self.prints_rbac() {
            let server = Arc::new(ApiServer::start());
            let client = server.client();
            self.server = Some(server);
            return Ok(client);
        }
        let configuration = match self.options.server {
            Server::Embedded => None,
            Server::Configured => Environment::of_process().configuration(),
        };
        if let Some(origin) = configuration {
            self.cluster = Some(format!("configured by {origin}"));
            // A credential plugin may take its time.
            let client = tokio::select! {
                biased;
                () = self.ending.reached() => return Err(Ended.into()),
                client = client => client.map_err(Into::into)?,
            };
            let address = target::address().await.unwrap_or_else(|| "a cluster".to_owned());
            let cluster = format!("{address}, configured by {origin}");
            self.screen.line(format_args!("Using {cluster}."));
            self.cluster = Some(cluster);
            return Ok(client);
        }
        let why = match self.options.server {
            Server::Embedded => "",
            Server::Configured => "No kubeconfig exists. ",
        };
        self.screen
            .line(format_args!("{why}Using an API server inside this program."));
        let server = Arc::new(ApiServer::builder().seed(1).start());
        let (sender, lines) = mpsc::channel(LINES);
        let script = self.script.clone().begin(server.clone(), lines)?;
        self.screen.set_script(sender);
        self.ending.set_script(tokio::spawn(script));
        let client = server.client();
        self.server = Some(server);
        Ok(client)
    }

    /// Whether to print the roles of the program: the flag `--rbac`. [`connect`](Self::connect) then
    /// returns a client of an empty embedded server, silently.
    pub fn prints_rbac(&self) -> bool {
        self.options.task == Task::PrintRbac
    }

    /// Prints a text as it is, and ends the program.
    ///
    /// # Errors
    /// Always, to end the program; and if the output is closed.
    pub fn print(&self, text: impl Display) -> Result {
        use std::io::Write as _;
        write!(std::io::stdout(), "{text}")?;
        Err(Ended.into())
    }

    /// The namespaces of `--namespace`; `None` for all.
    pub fn namespaces(&self) -> Option<&[String]> {
        Some(self.options.namespaces.as_slice()).filter(|namespaces| !namespaces.is_empty())
    }

    /// The label selector of `--selector`; empty for everything.
    pub fn selector(&self) -> &str {
        &self.options.selector
    }

    /// The port of `--debug-port`; `None` without it.
    pub fn debug_port(&self) -> Option<u16> {
        self.options.debug_port
    }

    /// How long to wait for caches: the time of `--timeout`.
    pub fn timeout(&self) -> Duration {
        self.options.timeout
    }

    /// A handle to the output, for event handlers.
    pub fn screen(&self) -> Screen {
        self.screen.clone()
    }

    /// Writes one line.
    pub fn line(&self, text: impl Display) {
        self.screen.line(text);
    }

    /// Shows a table, unless the last one shown differs in its heading only.
    pub fn table(&self, table: &PodTable) {
        self.screen.table(table);
    }

    /// Sets the first part of the footer, such as the state of a client.
    pub fn footer<S: Display>(&mut self, status: impl Fn() -> S + Send + 'static) {
        self.status = Box::new(move || status().to_string());
    }

    /// Waits until caches are complete, and shows the reports of `progress` meanwhile.
    ///
    /// # Errors
    /// The error of `synced`, or one that ends the program without a message, for Ctrl-C.
    pub async fn wait<T, E: Into<Failure>, P: Display>(
        &mut self,
        synced: impl Future<Output = std::result::Result<T, E>>,
        mut progress: impl AsyncFnMut() -> Option<P>,
    ) -> Result<T> {
        let screen = self.screen.clone();
        let reports = async {
            while let Some(report) = progress().await {
                screen.progress(&report.to_string());
            }
            std::future::pending::<Infallible>().await
        };
        let outcome = tokio::select! {
            biased;
            () = self.ending.reached() => Err(Ended.into()),
            outcome = synced => outcome.map_err(Into::into),
            never = reports => match never {},
        };
        if outcome.is_ok() {
            self.screen.synced();
        }
        outcome
    }

    /// Waits for something until the program ends; `None` if it does. The time of `--for` counts from the
    /// first call.
    pub async fn or_end<T>(&mut self, awaited: impl Future<Output = T>) -> Option<T> {
        self.ending.start_clock();
        let Self {
            ending,
            screen,
            status,
            ..
        } = self;
        let mut awaited = pin!(awaited);
        let mut footer = interval(FOOTER_EVERY);
        let has_footer = screen.has_footer();
        loop {
            // In this order a stream that is always ready cannot keep the program from ending.
            tokio::select! {
                biased;
                () = ending.reached() => return None,
                value = &mut awaited => return Some(value),
                _ = footer.tick(), if has_footer => screen.footer(&status()),
            }
        }
    }

    /// Runs something that ends by itself soon after the future it receives is ready, which is at the end of
    /// the program, and returns its outcome.
    pub async fn run_until_end<F: Future>(&mut self, start: impl FnOnce(End) -> F) -> F::Output {
        let (running, ended) = oneshot::channel::<Infallible>();
        let end = async { drop(ended.await) };
        let mut run = pin!(start(Box::pin(end)));
        match self.or_end(&mut run).await {
            Some(outcome) => outcome,
            None => {
                drop(running);
                run.await
            }
        }
    }

    /// Listens for the probes of a kubelet at the address in the variable `PROBE_ADDRESS`, such as
    /// `0.0.0.0:8081`; `None` without it. `Health::serve_on` of the crate `informers` answers them.
    ///
    /// # Errors
    /// If it cannot listen there.
    pub async fn probe_listener(&self) -> Result<Option<TcpListener>> {
        let Ok(address) = std::env::var("PROBE_ADDRESS") else {
            return Ok(None);
        };
        let listener = TcpListener::bind(&address).await;
        let listener = listener.map_err(|error| format!("cannot listen on {address}: {error}"))?;
        Ok(Some(listener))
    }

    /// Stops the script and shows the summary.
    async fn close(self) -> Result {
        let reason = self.ending.close().await?;
        let requests = self.server.as_ref().map(|server| server.requests());
        self.screen.summary(reason.text(), requests.as_ref());
        Ok(self.screen.take_error()?)
    }
}

impl fmt::Debug for Demo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Demo")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
