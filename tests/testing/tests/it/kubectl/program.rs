//! Runs kubectl with a timeout, and checks its output.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The timeout of a call. A call that takes longer is killed and fails the test.
const LIMIT: Duration = Duration::from_secs(60);

#[expect(clippy::print_stdout, reason = "a skipped test must say so")]
pub(crate) fn say_skipped() {
    println!("skipped: kubectl is not installed");
}

/// A kubectl with its own kubeconfig, cache and home directory.
pub(crate) struct Kubectl {
    program: PathBuf,
    directory: PathBuf,
    calls: AtomicUsize,
}

impl Kubectl {
    /// Returns the program in `KUBECTL`, or `kubectl` on the PATH; `None` if neither exists.
    pub(crate) fn find(kubeconfig: &str) -> Option<Kubectl> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let program = match std::env::var_os("KUBECTL") {
            Some(program) => PathBuf::from(program),
            None => {
                let path = std::env::var_os("PATH")?;
                std::env::split_paths(&path)
                    .map(|directory| directory.join("kubectl"))
                    .find(|file| file.is_file())?
            }
        };
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let directory =
            std::env::temp_dir().join(format!("informer-kubectl-{}-{number}", std::process::id()));
        fs::create_dir_all(&directory).expect("the temporary directory is writable");
        fs::write(directory.join("kubeconfig"), kubeconfig).expect("the temporary directory is writable");
        Some(Kubectl {
            program,
            directory,
            calls: AtomicUsize::new(0),
        })
    }

    /// Runs a command given as one line.
    pub(crate) fn run(&self, line: &str) -> Output {
        self.run_with(line, &[])
    }

    /// Runs a command given as one line and further arguments, which may contain blanks.
    pub(crate) fn run_with(&self, line: &str, more: &[&str]) -> Output {
        self.spawn(line, more).finish().expect_success()
    }

    /// Runs a command that must fail, and returns its error output.
    pub(crate) fn fails(&self, line: &str) -> Output {
        self.spawn(line, &[]).finish().expect_failure()
    }

    /// Starts a command that runs until it is dropped.
    pub(crate) fn start(&self, line: &str) -> Running {
        self.spawn(line, &[])
    }

    pub(crate) fn apply(&self, manifest: &str) -> Output {
        self.run_with("apply -f", &[&self.write(manifest)])
    }

    pub(crate) fn apply_server_side(&self, manifest: &str, more: &[&str]) -> Output {
        let file = self.write(manifest);
        self.run_with("apply --server-side -f", &[&[file.as_str()], more].concat())
    }

    pub(crate) fn fails_to_apply_server_side(&self, manifest: &str, more: &[&str]) -> Output {
        let file = self.write(manifest);
        self.spawn("apply --server-side -f", &[&[file.as_str()], more].concat())
            .finish()
            .expect_failure()
    }

    fn file(&self, ending: &str) -> PathBuf {
        let number = self.calls.fetch_add(1, Ordering::Relaxed);
        self.directory.join(format!("{number}.{ending}"))
    }

    fn write(&self, manifest: &str) -> String {
        let file = self.file("yaml");
        fs::write(&file, manifest).expect("the temporary directory is writable");
        file.to_str()
            .expect("the temporary directory has a plain name")
            .to_owned()
    }

    fn spawn(&self, line: &str, more: &[&str]) -> Running {
        let (out, err) = (self.file("out"), self.file("err"));
        let create = |file: &Path| File::create(file).expect("the temporary directory is writable");
        let child = Command::new(&self.program)
            .arg("--kubeconfig")
            .arg(self.directory.join("kubeconfig"))
            .arg("--cache-dir")
            .arg(self.directory.join("cache"))
            .args(line.split(' '))
            .args(more)
            .env("HOME", &self.directory)
            .env_remove("KUBECONFIG")
            .stdin(Stdio::null())
            .stdout(create(&out))
            .stderr(create(&err))
            .spawn()
            .expect("kubectl is a program");
        Running {
            line: line.to_owned(),
            child,
            out,
            err,
            until: Instant::now() + LIMIT,
        }
    }
}

impl Drop for Kubectl {
    fn drop(&mut self) {
        // Keep the files of a failed test.
        if !std::thread::panicking() {
            let _ = fs::remove_dir_all(&self.directory);
        }
    }
}

/// A running kubectl. Dropping it kills the process.
pub(crate) struct Running {
    line: String,
    child: Child,
    out: PathBuf,
    err: PathBuf,
    until: Instant,
}

impl Running {
    /// Waits until the output contains `expected`.
    pub(crate) fn waits_for(&self, expected: &str) {
        loop {
            let printed = read(&self.out);
            if printed.contains(expected) {
                return;
            }
            let Running { line, err, until, .. } = self;
            assert!(
                Instant::now() < *until,
                "{line}: printed {printed:?} without {expected:?}: {}",
                read(err)
            );
            pause();
        }
    }

    /// Waits for the end, and checks that the command succeeded.
    pub(crate) fn ends_well(self) {
        self.finish().expect_success();
    }

    fn finish(mut self) -> Finished {
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("the child is ours") {
                break status;
            }
            assert!(
                Instant::now() < self.until,
                "{}: still running after {LIMIT:?}: {}",
                self.line,
                read(&self.err)
            );
            pause();
        };
        Finished {
            line: self.line.clone(),
            status,
            out: read(&self.out),
            err: read(&self.err),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Finished {
    line: String,
    status: ExitStatus,
    out: String,
    err: String,
}

impl Finished {
    fn expect_success(self) -> Output {
        assert!(
            self.status.success(),
            "{}: {}\n{}{}",
            self.line,
            self.status,
            self.out,
            self.err
        );
        Output {
            line: self.line,
            text: self.out,
        }
    }

    fn expect_failure(self) -> Output {
        assert!(
            !self.status.success(),
            "{}: succeeded\n{}{}",
            self.line,
            self.out,
            self.err
        );
        Output {
            line: self.line,
            text: self.err,
        }
    }
}

/// The output of a call.
pub(crate) struct Output {
    line: String,
    text: String,
}

impl Output {
    pub(crate) fn prints(&self, expected: &str) {
        assert_eq!(self.text, expected, "{}", self.line);
    }

    pub(crate) fn mentions(&self, expected: &[&str]) {
        for part in expected {
            assert!(
                self.text.contains(part),
                "{}: no {part:?} in\n{}",
                self.line,
                self.text
            );
        }
    }
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_default()
}

/// kubectl is another process, so the clock cannot be paused.
fn pause() {
    std::thread::sleep(Duration::from_millis(20));
}
