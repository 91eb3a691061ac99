//! One run of an example: its server, its screen and its end.

use std::io::{self, Stdout};
use std::sync::Arc;

use informer_testing::ApiServer;
use informers::{SharedInformerFactory, SharedInformerFactoryBuilder, client};

use super::args::{Options, Server};
use super::ends::Ends;
use super::screen::{Look, Screen};
use super::stage::Audience;
use super::target::{self, Environment, Target};
use super::{Failure, NoCluster, Stage};

/// The embedded server is the same every time.
const SEED: u64 = 1;

/// What an example runs with.
pub(crate) struct Session {
    pub(crate) options: Options,
    pub(crate) client: kube::Client,
    /// Where the server is, for messages.
    pub(crate) address: String,
    /// The server, if it is the embedded one.
    pub(crate) server: Option<Arc<ApiServer>>,
    pub(crate) screen: Screen<Stdout>,
    pub(crate) ends: Ends,
    audience: Option<Audience>,
}

impl Session {
    /// Finds the server to use, and says which one it is.
    pub(super) async fn open<Play>(
        options: Options,
        story: impl FnOnce(Stage) -> Result<Play, Failure>,
    ) -> Result<Self, Failure>
    where
        Play: Future<Output = Result<(), Failure>> + Send + 'static,
    {
        let time = options.duration;
        let target = match options.server {
            Server::Embedded => Target::Nothing,
            Server::Configured => target::find(&Environment::of_process())
                .await
                .map_err(NoCluster)?,
        };
        let (mut session, greeting) = match target {
            Target::Cluster { config, origin } => {
                let address = target::address(&config);
                let greeting = format!("Using {address}, from {origin}.");
                let client =
                    client::from_config(*config).map_err(|error| NoCluster(format!("{origin}: {error}.")))?;
                let session = Self {
                    options,
                    client,
                    address,
                    server: None,
                    screen: Screen::new(io::stdout(), Look::of_stdout()),
                    ends: Ends::new(time, None),
                    audience: None,
                };
                (session, greeting)
            }
            Target::Nothing => {
                let why = match options.server {
                    Server::Embedded => "",
                    Server::Configured => "There is no kubeconfig. ",
                };
                let (stage, audience) = Stage::new(SEED);
                let server = stage.server.clone();
                let session = Self {
                    options,
                    client: server.client(),
                    address: "the embedded API server".to_owned(),
                    server: Some(server),
                    screen: Screen::new(io::stdout(), Look::of_stdout()),
                    ends: Ends::new(time, Some(tokio::spawn(story(stage)?))),
                    audience: Some(audience),
                };
                (session, format!("{why}Using an API server inside this program."))
            }
        };
        session.line(&greeting)?;
        Ok(session)
    }

    /// Begins a factory with what the command line says about all kinds.
    pub(crate) fn factory(&self) -> SharedInformerFactoryBuilder {
        let builder = SharedInformerFactory::builder(self.client.clone());
        match self.options.namespaces.as_slice() {
            [] => builder,
            namespaces => builder.namespaces(namespaces),
        }
    }

    /// Waits for something, but not past the end: then it is `None`.
    pub(crate) async fn or_end<T>(&mut self, awaited: impl Future<Output = T>) -> Option<T> {
        self.ends.start_clock();
        tokio::select! {
            biased;
            _ = self.ends.reached() => None,
            value = awaited => Some(value),
        }
    }

    /// Writes one line.
    pub(crate) fn line(&mut self, text: &str) -> io::Result<()> {
        self.screen.line(text)?;
        if let Some(audience) = &self.audience {
            audience.tell(text);
        }
        Ok(())
    }

    /// Ends the embedded server's story. The error is why it ended before.
    pub(super) async fn close(self) -> Result<(), Failure> {
        self.ends.close().await
    }
}
