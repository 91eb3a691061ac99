//! What happens on the embedded server while a program runs: the demo cluster, or a list of steps.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc;

use super::cluster::Cluster;
use super::failure::Result;
use crate::server::ApiServer;

/// The demo cluster is the same at every run.
const SEED: u64 = 1;
/// Time between two steps of the demo cluster.
const PACE: Duration = Duration::from_millis(400);
/// How long a script waits for a line. A program that works shows it within milliseconds.
const TIMEOUT: Duration = Duration::from_secs(60);

/// What happens on the embedded server while a program runs.
///
/// ```
/// use informer_testing::demo::Script;
/// use serde_json::json;
///
/// let pod = |phase: &str| json!({
///     "apiVersion": "v1", "kind": "Pod", "metadata": { "namespace": "shop", "name": "cart-0" },
///     "status": { "phase": phase },
/// });
/// let script = Script::new()
///     .create(pod("Pending")) // exists before the program starts
///     .shown("added .. cart-0") // waits for a line with both, so that each change is seen before the next
///     .update(pod("Running"))
///     .shown("Running");
/// ```
#[derive(Clone, Debug)]
#[must_use = "a script does nothing until a program runs it"]
pub struct Script {
    steps: Vec<Step>,
    then: Then,
}

/// What follows the last step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    /// The end of the program.
    End,
    /// The demo cluster, without end. Its pods exist before the program starts.
    Cluster,
}

#[derive(Clone, Debug)]
enum Step {
    Create(Value),
    CreateYaml(&'static str),
    Update(Value),
    Merge(Value),
    Delete(Value),
    /// Waits for a line with these parts.
    Shown(&'static str),
}

impl Script {
    /// The demo cluster: some twenty pods in three namespaces that roll out, scale, restart and fail without
    /// end.
    pub fn cluster() -> Self {
        Self {
            then: Then::Cluster,
            ..Self::new()
        }
    }

    /// A script without steps. The program ends when the last step is done.
    #[expect(
        clippy::new_without_default,
        reason = "the default of a program is the demo cluster"
    )]
    pub fn new() -> Self {
        Self {
            steps: Vec::new(),
            then: Then::End,
        }
    }

    /// Creates an object.
    pub fn create(self, object: Value) -> Self {
        self.then(Step::Create(object))
    }

    /// Creates an object written in YAML, such as a CustomResourceDefinition.
    pub fn create_yaml(self, text: &'static str) -> Self {
        self.then(Step::CreateYaml(text))
    }

    /// Replaces an object.
    pub fn update(self, object: Value) -> Self {
        self.then(Step::Update(object))
    }

    /// Merges fields into an object with their type, namespace and name.
    pub fn merge(self, fields: Value) -> Self {
        self.then(Step::Merge(fields))
    }

    /// Deletes an object by its type, namespace and name.
    pub fn delete(self, object: Value) -> Self {
        self.then(Step::Delete(object))
    }

    /// Waits until the program has shown a line with these parts, which ` .. ` separates, in this order. Runs
    /// of spaces count as one. Each line is looked at once.
    pub fn shown(self, parts: &'static str) -> Self {
        self.then(Step::Shown(parts))
    }

    fn then(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// Runs the script on a server, for a program with its own output. Steps that wait for a line fail after
    /// a minute. What exists before the program starts is in place when this returns; the future does the
    /// rest.
    ///
    /// # Errors
    /// If an object cannot be written.
    pub fn play(self, server: Arc<ApiServer>) -> Result<impl Future<Output = Result> + Send + 'static> {
        let (sender, lines) = mpsc::channel(1);
        let rest = self.begin(server, lines)?;
        Ok(async move {
            let _open = sender;
            rest.await
        })
    }

    /// Puts everything in place that exists before the program starts. The future does the rest.
    pub(super) fn begin(
        self,
        server: Arc<ApiServer>,
        mut lines: mpsc::Receiver<String>,
    ) -> Result<impl Future<Output = Result> + Send + 'static> {
        let Self { mut steps, then } = self;
        let cluster = match then {
            Then::Cluster => Some(Cluster::new(server.clone(), SEED)?),
            Then::End => None,
        };
        let begun = steps.iter().position(|step| matches!(step, Step::Shown(_)));
        let rest = steps.split_off(begun.unwrap_or(steps.len()));
        for step in steps {
            step.write(&server)?;
        }
        Ok(async move {
            for step in rest {
                match step {
                    Step::Shown(parts) => wait_for(parts, &mut lines).await?,
                    change => change.write(&server)?,
                }
            }
            let Some(mut cluster) = cluster else {
                return Ok(());
            };
            loop {
                tokio::time::sleep(PACE).await;
                cluster.step()?;
            }
        })
    }
}

impl Step {
    fn write(self, server: &ApiServer) -> Result {
        match self {
            Self::Create(object) => drop(server.create(&object)?),
            Self::CreateYaml(text) => drop(server.create(&serde_saphyr::from_str::<Value>(text)?)?),
            Self::Update(object) => drop(server.update(&object)?),
            Self::Merge(fields) => server.merge(&fields)?,
            Self::Delete(object) => server.delete(&object)?,
            Self::Shown(_) => {}
        }
        Ok(())
    }
}

async fn wait_for(parts: &str, lines: &mut mpsc::Receiver<String>) -> Result {
    let seen = async {
        while let Some(line) = lines.recv().await {
            if has_parts(&line, parts) {
                return true;
            }
        }
        false
    };
    match tokio::time::timeout(TIMEOUT, seen).await {
        Ok(true) => Ok(()),
        Ok(false) => Err(format!("the program ended before it showed {parts:?}").into()),
        Err(_) => Err(format!("the program did not show {parts:?} within {TIMEOUT:?}").into()),
    }
}

fn has_parts(line: &str, parts: &str) -> bool {
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut rest = line.as_str();
    parts.split(" .. ").all(|part| match rest.split_once(part) {
        Some((_, after)) => {
            rest = after;
            true
        }
        None => false,
    })
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use serde_json::json;

    use super::*;

    #[test]
    fn parts_are_found_in_order_and_spaces_count_once() {
        assert!(has_parts("node-1     2  shop/a shop/b", "node-1 2 .. shop/b"));
        assert!(!has_parts("node-1  2  shop/a", "shop/a .. node-1"));
        assert!(!has_parts("node-1  2", "node-1 1"));
    }

    fn map(name: &str) -> Value {
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "namespace": "a", "name": name } })
    }

    #[tokio::test(start_paused = true)]
    async fn steps_wait_for_the_lines_of_the_program() {
        let server = Arc::new(ApiServer::start());
        let names = || {
            let maps = server.objects::<ConfigMap>();
            maps.iter()
                .filter_map(|map| map.metadata.name.clone())
                .collect::<Vec<_>>()
        };
        let script = Script::new()
            .create(map("one"))
            .shown("one")
            .create_yaml("{apiVersion: v1, kind: ConfigMap, metadata: {namespace: a, name: two}}")
            .delete(map("one"));
        let (sender, lines) = mpsc::channel(8);
        let rest = script.begin(server.clone(), lines).unwrap();
        assert_eq!(names(), ["one"]);
        sender.send("added one".to_owned()).await.unwrap();
        rest.await.unwrap();
        assert_eq!(names(), ["two"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_line_that_is_never_shown_is_an_error() {
        let (sender, lines) = mpsc::channel(8);
        let rest = Script::new()
            .shown("one")
            .begin(Arc::new(ApiServer::start()), lines);
        let error = rest.unwrap().await.unwrap_err();
        assert!(error.to_string().contains("did not show \"one\""), "{error}");
        drop(sender);
    }
}
