//! Runs rows one after the other, each on its own thread and a runtime with the paused clock.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use informer_core::{InformerStatus, SharedInformer, State};
use informer_testing::ApiServer;
use k8s_openapi::api::core::v1::ConfigMap;

use crate::observe::{Log, Memory, unfit};
use crate::row::{Row, StateName, Transforms};
use crate::script::{Answer, ScriptedServer};

/// Longer than any row takes in real time on a busy machine. Reached only by a row that hangs.
const HANGS_AFTER: Duration = Duration::from_secs(300);

/// Rows share the allocator's and the log's counters, so one table is built and run at a time.
static TURN: Mutex<()> = Mutex::new(());

pub(crate) fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Runs the rows of a table, and fails with all their errors.
pub(crate) fn table(title: &str, rows: fn() -> Vec<Row>) {
    let _turn = turn();
    let mut errors = Vec::new();
    for row in rows().into_iter().filter(|row| is_selected(&row.name)) {
        let name = row.name.clone();
        let wrong = on_a_thread(&name, move || play(row));
        errors.extend(wrong.into_iter().map(|wrong| format!("{name}: {wrong}")));
    }
    assert!(errors.is_empty(), "{title}:\n{}", errors.join("\n"));
}

/// Whether `HOSTILE` selects this row.
pub(crate) fn is_selected(name: &str) -> bool {
    std::env::var("HOSTILE").is_ok_and(|part| name.contains(&part)) || std::env::var("HOSTILE").is_err()
}

/// Runs one row on its thread. A panic is an error of the row; a hang ends the process, because a thread
/// cannot be ended.
pub(crate) fn on_a_thread(name: &str, play: impl FnOnce() -> Vec<String> + Send + 'static) -> Vec<String> {
    let (sender, receiver) = channel();
    let thread = std::thread::spawn(move || {
        let errors = play();
        let _ = sender.send(errors);
    });
    match receiver.recv_timeout(HANGS_AFTER) {
        Ok(errors) => errors,
        Err(RecvTimeoutError::Disconnected) => {
            let panic = thread.join().expect_err("it ended without a result");
            let text = panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| panic.downcast_ref::<&str>().copied());
            vec![format!("panicked: {}", text.unwrap_or("?"))]
        }
        Err(RecvTimeoutError::Timeout) => {
            let log = Log::read();
            hung(&format!("the row {name:?} did not end; {log:?}"))
        }
    }
}

#[expect(clippy::print_stderr, reason = "the process ends, so no test can report it")]
fn hung(what: &str) -> ! {
    eprintln!("{what}");
    std::process::exit(1)
}

fn play(row: Row) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .expect("a runtime can be made");
    let errors = runtime.block_on(run(row));
    runtime.shutdown_timeout(Duration::from_secs(1));
    errors
}

/// The healthy server: three objects, and no history that an informer could resume from.
pub(crate) fn healthy_server() -> ApiServer {
    let server = ApiServer::builder().first_revision(1_000_000_000).start();
    for name in ["healthy-0", "healthy-1", "healthy-2"] {
        server.create(&healthy_object(name)).expect("it is a good object");
    }
    server.compact(server.revision());
    server
}

pub(crate) fn healthy_object(name: &str) -> ConfigMap {
    let object =
        serde_json::json!({"metadata": {"name": name, "namespace": "default"}, "data": {"of": name}});
    serde_json::from_value(object).expect("it is a good object")
}

async fn run(mut row: Row) -> Vec<String> {
    let started = std::time::Instant::now();
    Log::begin();
    let memory = Memory::begin();
    let script = std::mem::replace(&mut row.script, Box::new(|_| Answer::Never));
    let server = ScriptedServer::new(script, healthy_server());
    let beside = server.clone();
    let bystander = tokio::spawn(async move { beside.bystander.run().await });

    // As a factory does: the server chooses the format of each answer.
    let decode = informer_protobuf::decoder().expect("ConfigMap is a built-in kind");
    let mut builder = SharedInformer::<ConfigMap>::builder(server.client())
        .protobuf(decode)
        .initial_state(row.initial);
    if let Some(namespace) = row.namespace {
        builder = builder.namespace(namespace);
    }
    if let Some(configure) = row.configure.take() {
        builder = configure(builder);
    }
    if row.transform == Transforms::All {
        builder = builder.transform(|object| object.immutable = None);
    }
    let informer = builder.build().expect("these options are good");
    informer.start().expect("it starts");
    tokio::time::sleep(row.lasting).await;

    let mut errors = judge(&row, &server, &informer.status());
    server.heal();
    errors.extend(recover(&row, &server, &informer).await);
    if memory.peak() > row.memory {
        errors.push(format!("took {} KiB of memory", memory.peak() / 1024));
    }
    if informer.shutdown_timeout(Duration::from_secs(60)).await.is_err() {
        errors.push("did not shut down".to_owned());
    }
    bystander.abort();
    report(&row, &server, &memory, started.elapsed());
    errors
}

/// Prints the measurements, if rows were selected by name.
#[expect(clippy::print_stderr, reason = "selected by HOSTILE")]
fn report(row: &Row, server: &ScriptedServer, memory: &Memory, took: Duration) {
    if std::env::var("HOSTILE").is_ok() {
        let log = Log::read();
        let (requests, pieces, peak) = (
            server.requests(),
            server.bystander.longest(),
            memory.peak() / 1024,
        );
        eprintln!(
            "{}: {took:.1?}, {requests} requests, {} warnings, {peak} KiB, {pieces} pieces; {}",
            row.name, log.warnings, log.last
        );
    }
}

/// Compares the informer with the row at the end of the hostile time.
fn judge(row: &Row, server: &ScriptedServer, status: &InformerStatus) -> Vec<String> {
    let mut errors = Vec::new();
    let scope = &status.scopes[0];
    let error = scope
        .last_error
        .as_ref()
        .map(|last| last.error.to_string())
        .unwrap_or_default();
    let shown = brief(&status.state.to_string());
    if !row.states.is_empty() && !row.states.contains(&StateName::of(&status.state)) {
        errors.push(format!(
            "its state is {shown:?}, not {:?}; last error {:?}",
            row.states,
            brief(&error)
        ));
    }
    if let Some(part) = row.error
        && !error.contains(part)
    {
        errors.push(format!(
            "its last error {:?} does not contain {part:?}",
            brief(&error)
        ));
    }
    if row.synced.is_some_and(|synced| synced != status.synced) {
        errors.push(format!("synced is {}; its state is {shown:?}", status.synced));
    }
    if row.objects.is_some_and(|objects| objects != status.objects) {
        errors.push(format!(
            "{} objects are cached, not {:?}",
            status.objects, row.objects
        ));
    }
    if let Some(check) = &row.check {
        errors.extend(check(status).err());
    }
    let (requests, most) = (server.requests(), row.within_its_time(row.requests));
    if requests > most {
        errors.push(format!(
            "sent {requests} requests in {:?}, more than {most}",
            row.lasting
        ));
    }
    let (log, most) = (Log::read(), row.within_its_time(row.warnings));
    if log.warnings > most {
        errors.push(format!(
            "logged {} warnings, more than {most}: {:.80}",
            log.warnings, log.last
        ));
    }
    errors.extend(
        log.unfit
            .iter()
            .map(|line| format!("logged an unsafe line: {line}")),
    );
    let undecodable = scope.last_undecodable.as_ref().map(ToString::to_string);
    for text in [status.state.to_string(), error].into_iter().chain(undecodable) {
        if let Some(why) = unfit(&text) {
            errors.push(format!(
                "its status shows text that has {why}: {:?}",
                brief(&text)
            ));
        }
    }
    let pieces = server.bystander.longest();
    if pieces > row.pieces {
        errors.push(format!("other tasks waited for {pieces} pieces of a body"));
    }
    errors
}

fn brief(text: &str) -> String {
    text.chars().take(160).collect()
}

/// Waits until the cache equals the server, also after one more change, which only a watch or another list
/// shows.
async fn recover(row: &Row, server: &ScriptedServer, informer: &SharedInformer<ConfigMap>) -> Option<String> {
    let is_equal = || {
        let mut cached: Vec<ConfigMap> = informer
            .indexer()
            .list()
            .iter()
            .map(|object| (**object).clone())
            .collect();
        let mut held: Vec<ConfigMap> = server.healthy.objects();
        cached.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
        held.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
        for object in cached.iter_mut().chain(&mut held) {
            object.metadata.managed_fields = None;
        }
        cached == held && matches!(informer.status().state, State::Live)
    };
    for step in ["after it became healthy", "after one more change"] {
        let wait = async {
            while !is_equal() {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        };
        if tokio::time::timeout(row.recovery, wait).await.is_err() {
            let status = informer.status();
            let keys: Vec<String> = informer
                .indexer()
                .keys()
                .iter()
                .take(9)
                .map(|key| brief(&key.to_string()))
                .collect();
            return Some(format!(
                "is not equal to the server {:?} {step}: {:?}, {keys:?}, version {:?}, {:?}",
                row.recovery,
                brief(&status.state.to_string()),
                status.scopes[0]
                    .version
                    .as_ref()
                    .map(|version| brief(&version.to_string())),
                status.scopes[0].watch_list,
            ));
        }
        if step.ends_with("healthy") {
            server
                .healthy
                .create(&healthy_object("late"))
                .expect("it is a good object");
        }
    }
    None
}
