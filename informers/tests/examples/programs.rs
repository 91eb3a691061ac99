//! Runs the program of an example.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::process::Command;

/// The time limit of a run. Most take seconds.
pub(crate) const KILL_AFTER: Duration = Duration::from_secs(180);

/// The program of an example, beside the folder of this one.
fn program(name: &str) -> PathBuf {
    /// One build at a time: the first may build what the others need.
    static BUILDING: Mutex<()> = Mutex::new(());

    let this = std::env::current_exe().unwrap();
    let profile = this.parent().and_then(Path::parent).unwrap();
    let program = profile
        .join("examples")
        .join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    let _building = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
    if !program.exists() {
        let mut build = std::process::Command::new(env!("CARGO"));
        build.args(["build", "--examples", "--target-dir"]);
        build.arg(profile.parent().unwrap());
        if cfg!(feature = "metrics") {
            build.args(["--features", "metrics"]);
        }
        if profile.ends_with("release") {
            build.arg("--release");
        }
        let built = build.current_dir(env!("CARGO_MANIFEST_DIR")).status().unwrap();
        assert!(built.success(), "the examples do not build");
    }
    program
}

/// The program, with no cluster in its environment but the given one.
pub(crate) fn command(name: &str, kubeconfig: Option<&Path>, arguments: &str) -> Command {
    let mut command = Command::new(program(name));
    command
        .args(arguments.split_whitespace())
        .env_remove("KUBERNETES_SERVICE_HOST")
        .env_remove("KUBECONFIG")
        .env_remove("RUST_BACKTRACE")
        .env_remove("RUST_LOG")
        .env("HOME", env!("CARGO_TARGET_TMPDIR"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    if let Some(kubeconfig) = kubeconfig {
        command.env("KUBECONFIG", kubeconfig);
    }
    command
}

pub(crate) async fn run(name: &str, kubeconfig: Option<&Path>, arguments: &str) -> Output {
    let output = command(name, kubeconfig, arguments).output();
    let output = tokio::time::timeout(KILL_AFTER, output).await;
    output.expect("the program hangs").expect("the program starts")
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The output of a run on the embedded server, which must succeed.
pub(crate) async fn run_embedded(name: &str, arguments: &str) -> (String, String) {
    let output = run(name, None, arguments).await;
    let (lines, errors) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{lines}\n{errors}");
    assert!(
        !lines.contains(['\x1b', '\r']),
        "an escape code in a pipe:\n{lines}"
    );
    (lines, errors)
}
