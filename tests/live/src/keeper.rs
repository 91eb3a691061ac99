//! Keeps a cluster running between two commands: a separate process that holds a lock while it runs.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use informer_live::{Cluster, ClusterOptions, target};
use rustix::process::{Pid, Signal, kill_process};
use tokio::signal::unix::{SignalKind, signal};

use crate::{Result, UpOptions};

/// How long a cluster that is being started by another command is waited for.
const STARTS_WITHIN: Duration = Duration::from_secs(300);

/// How long a cluster may take to end before it is killed.
const ENDS_WITHIN: Duration = Duration::from_secs(30);

/// Longer than anybody holds the lock who does not keep a cluster.
const A_MOMENT: Duration = Duration::from_secs(1);

const ASK_EVERY: Duration = Duration::from_millis(100);

/// Data, keys and logs of the cluster. Removed with it.
fn folder() -> PathBuf {
    target().join("kubernetes").join("up")
}

/// The log of the keeper. Not in the folder, which is removed with the cluster.
fn log() -> PathBuf {
    target().join("kubernetes").join("up.log")
}

/// The keeper's number, in a file that it holds locked: so the number is right exactly as long as the lock is
/// held, and the kernel lets go of it however the keeper ends.
fn lock_file() -> PathBuf {
    target().join("kubernetes").join("up.lock")
}

/// Whether there is a keeper.
enum Keeper {
    Absent,
    Alive(Option<Pid>),
}

impl Keeper {
    fn find() -> Result<Self> {
        let path = lock_file();
        let Ok(file) = File::open(&path) else {
            return Ok(Self::Absent);
        };
        match file.try_lock() {
            Ok(()) => Ok(Self::Absent),
            Err(TryLockError::Error(error)) => Err(error.into()),
            Err(TryLockError::WouldBlock) => Ok(Self::Alive(pid_in(&path))),
        }
    }
}

/// `None` in the moment between the lock and the number.
fn pid_in(path: &Path) -> Option<Pid> {
    let text = std::fs::read_to_string(path).ok()?;
    Pid::from_raw(text.trim().parse().ok()?)
}

/// Starts a keeper with a cluster if there is none, and gives the path of the cluster's kubeconfig.
pub(crate) fn up(options: &UpOptions) -> Result<PathBuf> {
    if let Keeper::Alive(_) = Keeper::find()? {
        return started();
    }
    std::fs::create_dir_all(target().join("kubernetes"))?;
    let mut keeper = Command::new(std::env::current_exe()?)
        .arg("keep")
        .args(options.arguments())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(File::create(log())?)
        // Away from the terminal's group: an interrupt of a later command is not meant for it.
        .process_group(0)
        .spawn()?;
    let mut line = String::new();
    if let Some(output) = keeper.stdout.take() {
        BufReader::new(output).read_line(&mut line)?;
    }
    match line.trim() {
        "" => {
            keeper.wait()?;
            let said = std::fs::read_to_string(log())?;
            Err(format!("the cluster did not start:\n{}", said.trim()).into())
        }
        path => Ok(path.into()),
    }
}

/// Waits for a cluster that another command has started, or is about to.
fn started() -> Result<PathBuf> {
    let start = Instant::now();
    loop {
        if let Ok(path) = kubeconfig() {
            return Ok(path);
        }
        if start.elapsed() > STARTS_WITHIN {
            return Err(format!("a cluster is being started for {STARTS_WITHIN:?}; `down` ends it").into());
        }
        std::thread::sleep(ASK_EVERY);
    }
}

/// The path of the kubeconfig of the cluster that is up.
pub(crate) fn kubeconfig() -> Result<PathBuf> {
    // The keeper writes it when the cluster is ready, not before.
    let path = folder().join("kubeconfig");
    match Keeper::find()? {
        Keeper::Alive(_) if path.exists() => Ok(path),
        _ => Err("no cluster is up: `cargo xtask apiserver up` starts one".into()),
    }
}

/// Ends the running cluster, if any, and waits until it has ended.
pub(crate) fn down() -> Result<()> {
    let start = Instant::now();
    loop {
        let pid = match Keeper::find()? {
            Keeper::Absent => break,
            Keeper::Alive(pid) => pid,
        };
        if let Some(pid) = pid {
            let is_patient = start.elapsed() < ENDS_WITHIN;
            let signal = if is_patient { Signal::TERM } else { Signal::KILL };
            // It may have ended since it was looked for.
            let _ = kill_process(pid, signal);
        }
        if start.elapsed() > 2 * ENDS_WITHIN {
            return Err("the process that keeps the cluster does not end".into());
        }
        std::thread::sleep(ASK_EVERY);
    }
    // After a keeper was killed, the supervisor process may need another moment.
    while folder().exists() {
        if start.elapsed() > 2 * ENDS_WITHIN {
            std::fs::remove_dir_all(folder())?;
        }
        std::thread::sleep(ASK_EVERY);
    }
    Ok(())
}

/// Takes the lock, unless another keeper has it. One that only looks for a keeper has it for a moment, too.
fn is_ours(lock: &File) -> bool {
    let start = Instant::now();
    loop {
        if lock.try_lock().is_ok() {
            return true;
        }
        if start.elapsed() > A_MOMENT {
            return false;
        }
        std::thread::sleep(A_MOMENT / 20);
    }
}

/// Starts a cluster, prints the path of its kubeconfig, and keeps it until a signal comes.
pub(crate) fn keep(mut options: ClusterOptions) -> Result<()> {
    let mut lock = OpenOptions::new()
        .create(true)
        .write(true)
        .truncate(false)
        .open(lock_file())?;
    if !is_ours(&lock) {
        // Two commands at once: the other one's cluster is as good.
        println!("{}", started()?.display());
        return Ok(());
    }
    lock.set_len(0)?;
    lock.write_all(std::process::id().to_string().as_bytes())?;
    // What a machine that lost its power left.
    if folder().exists() {
        std::fs::remove_dir_all(folder())?;
    }
    options.folder = Some(folder());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        // Before the start, so that a signal that comes early ends it in order as well.
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let work = async {
            let cluster = Cluster::start(options).await?;
            let kubeconfig = folder().join("kubeconfig");
            std::fs::rename(cluster.kubeconfig()?, &kubeconfig)?;
            println!("{}", kubeconfig.display());
            std::future::pending::<()>().await;
            drop(cluster);
            Ok(())
        };
        tokio::select! {
            result = work => result,
            _ = terminate.recv() => Ok(()),
            _ = interrupt.recv() => Ok(()),
        }
    })
}
