//! Ends the servers when the process that started them has ended, for any reason.

use std::io::PipeWriter;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Reads lines until its standard input is closed, which the kernel does when the last writer has ended, also
/// by `kill -9`. Then it kills what was announced and not taken back, and removes the folder given as its
/// argument.
const SUPERVISOR: &str = r#"
trap '' HUP INT TERM
alive=
while read -r word pid; do
    case $word in
        begun) alive="$alive $pid" ;;
        ended)
            others=
            for other in $alive; do
                [ "$other" = "$pid" ] || others="$others $other"
            done
            alive=$others
            ;;
    esac
done
for pid in $alive; do
    kill -KILL "$pid"
done
rm -rf -- "$1"
"#;

/// Registers its process with the supervisor, then becomes the program: the supervisor always knows a running
/// program.
const ANNOUNCED: &str = r#"
log=$1
shift
echo "begun $$"
exec "$@" >>"$log" 2>&1
"#;

/// A shell that outlives this process by a moment and cleans up after it.
///
/// Dropping the guard waits until the supervisor has ended the programs and removed their data.
pub(super) struct Guard {
    supervisor: Child,
    /// Nobody else holds the writing end: the standard library opens pipes so that children do not inherit
    /// them.
    line: Option<PipeWriter>,
}

impl Guard {
    /// Watches over processes whose data is in `folder`.
    pub(super) fn new(folder: &Path) -> std::io::Result<Self> {
        let (reader, line) = std::io::pipe()?;
        let supervisor = Command::new("/bin/sh")
            .args(["-c", SUPERVISOR, "supervisor"])
            .arg(folder)
            .stdin(reader)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Away from the terminal's group, so that an interrupt there does not end the supervisor early.
            .process_group(0)
            .spawn()?;
        Ok(Self {
            supervisor,
            line: Some(line),
        })
    }

    /// Starts a program with both outputs appended to `log`.
    pub(super) fn spawn(&self, program: &Path, arguments: &[String], log: &Path) -> std::io::Result<Child> {
        let line = self.line.as_ref().expect("the line is taken only by `drop`");
        Command::new("/bin/sh")
            .args(["-c", ANNOUNCED, "announced"])
            .arg(log)
            .arg(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(line.try_clone()?)
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
    }

    /// Says that a process has been waited for, so that its number may belong to another one from now on.
    pub(super) fn ended(&self, pid: u32) {
        use std::io::Write as _;
        if let Some(mut line) = self.line.as_ref() {
            // Without a supervisor nothing has to be reported.
            let _ = writeln!(line, "ended {pid}");
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.line = None;
        // It cannot fail but for a process that was waited for already.
        let _ = self.supervisor.wait();
    }
}
