//! The command line: which flags exist, and what to write instead of a flag that cannot be read.

use std::time::Duration;

/// A flag that a program accepts beside those that all of them have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flag {
    /// `--selector`.
    Selector,
    /// `--debug-port`.
    DebugPort,
    /// `--rbac`.
    Rbac,
}

/// The parsed command line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Command {
    Help,
    Run(Options),
}

/// How to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) server: Server,
    /// How long to follow changes; `None` for until Ctrl-C.
    pub(super) duration: Option<Duration>,
    /// How long to wait for the caches.
    pub(super) timeout: Duration,
    /// Empty for all namespaces.
    pub(super) namespaces: Vec<String>,
    /// Empty for everything.
    pub(super) selector: String,
    /// Where to serve a debug page.
    pub(super) debug_port: Option<u16>,
    pub(super) task: Task,
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    /// Follow the cluster.
    Follow,
    /// Print the roles of the program and end, without a request to a cluster.
    PrintRbac,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            server: Server::Configured,
            duration: None,
            timeout: Duration::from_secs(60),
            namespaces: Vec::new(),
            selector: String::new(),
            debug_port: None,
            task: Task::Follow,
        }
    }
}

/// Which server to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Server {
    /// The configured cluster, or the embedded server if none is configured.
    Configured,
    Embedded,
}

/// The output of `--help`.
pub(super) fn help(name: &str, about: &str, flags: &[Flag]) -> String {
    let line = |flag: &Flag| match flag {
        Flag::Selector => "  --selector LABELS   Show only objects with these labels, such as app=cart\n",
        Flag::DebugPort => {
            "  --debug-port PORT   Serve a debug page on this port of 127.0.0.1; 0 for any free one\n"
        }
        Flag::Rbac => "  --rbac              Print the least roles this program needs, as YAML, and end\n",
    };
    let own: String = flags.iter().map(line).collect();
    format!(
        "{about}

Usage: cargo run --example {name} -- [OPTIONS]

Options:
  --embedded          Use an API server inside this program, with a demo cluster on it. This is the
                      default if no kubeconfig exists
  --for DURATION      End this long after the caches are complete, such as 500ms, 10s or 2m.
                      Default: at Ctrl-C, or at the end of the demo
  --timeout DURATION  Give up if the caches are not complete after this time. Default: 1m
  --namespace NS      Only this namespace; can be repeated
{own}  --help              Print this

The cluster is that of $KUBECONFIG or ~/.kube/config, or the one this program runs in. NO_COLOR turns
colours off. RUST_LOG sets which logs are printed, such as RUST_LOG=debug; the default is warn.
"
    )
}

/// Reads the arguments, without the name of the program. The error says what to write.
pub(super) fn parse(flags: &[Flag], arguments: impl IntoIterator<Item = String>) -> Result<Command, String> {
    let mut options = Options::default();
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        let (name, attached) = match argument.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (argument.as_str(), None),
        };
        let mut value = |example: &str| {
            let value = attached.clone().or_else(|| arguments.next());
            value
                .filter(|value| !value.is_empty() && !value.starts_with('-'))
                .ok_or_else(|| format!("{name} needs a value: write `{name} {example}`"))
        };
        match name {
            "--help" | "-h" => return Ok(Command::Help),
            "--for" => options.duration = Some(parse_duration(name, &value("10s")?)?),
            "--timeout" => options.timeout = parse_duration(name, &value("1m")?)?,
            "--namespace" | "-n" => add_namespace(&mut options.namespaces, value("default")?)?,
            "--selector" | "-l" if flags.contains(&Flag::Selector) => {
                options.selector = value("app=cart")?;
            }
            "--debug-port" if flags.contains(&Flag::DebugPort) => {
                options.debug_port = Some(parse_port(name, &value("6060")?)?);
            }
            "--rbac" if flags.contains(&Flag::Rbac) && attached.is_none() => {
                options.task = Task::PrintRbac;
            }
            "--embedded" if attached.is_some() => {
                return Err("--embedded takes no value: write `--embedded` alone".to_owned());
            }
            "--embedded" => options.server = Server::Embedded,
            _ => return Err(format!("unknown option {argument:?}: `--help` lists the options")),
        }
    }
    Ok(Command::Run(options))
}

fn add_namespace(namespaces: &mut Vec<String>, namespace: String) -> Result<(), String> {
    let is_label = namespace
        .bytes()
        .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    if !is_label {
        return Err(format!(
            "--namespace {namespace:?} is not a namespace: write small letters, digits and dashes"
        ));
    }
    if !namespaces.contains(&namespace) {
        namespaces.push(namespace);
    }
    Ok(())
}

fn parse_port(name: &str, text: &str) -> Result<u16, String> {
    text.parse().map_err(|_| {
        format!("{name} {text:?} is not a port: write a number up to 65535, such as `{name} 6060`")
    })
}

/// Reads a whole number and its unit.
fn parse_duration(name: &str, text: &str) -> Result<Duration, String> {
    /// A longer deadline may not fit the clock.
    const YEAR: u64 = 365 * 24 * 3_600_000;

    let digits = text.len() - text.trim_start_matches(|char: char| char.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let unit = match unit {
        "ms" => Some(1),
        "s" => Some(1_000),
        "m" => Some(60_000),
        "h" => Some(3_600_000),
        _ => None,
    };
    let millis = number.parse().ok().zip(unit);
    let millis = millis.and_then(|(number, unit): (u64, u64)| number.checked_mul(unit));
    let Some(millis) = millis.filter(|millis| *millis <= YEAR) else {
        return Err(format!(
            "{name} {text:?} is not a duration of at most a year: write a whole number and ms, s, m or h, \
             such as `{name} 10s`"
        ));
    };
    Ok(Duration::from_millis(millis))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_with(flags: &[Flag], line: &str, expected: Result<Options, &str>) {
        let parsed = parse(flags, line.split_whitespace().map(str::to_owned));
        match expected {
            Ok(options) => assert_eq!(parsed, Ok(Command::Run(options)), "{line:?}"),
            Err(part) => {
                let error = parsed.expect_err(line);
                assert!(error.contains(part), "{line:?}: {error}");
            }
        }
    }

    fn check(line: &str, expected: Result<Options, &str>) {
        check_with(&[Flag::Selector, Flag::DebugPort], line, expected);
    }

    #[test]
    fn options_are_read_in_both_spellings() {
        check("", Ok(Options::default()));
        let all = || Options {
            server: Server::Embedded,
            duration: Some(Duration::from_secs(10)),
            timeout: Duration::from_secs(2),
            namespaces: vec!["web".to_owned(), "db".to_owned()],
            selector: "app=cart".to_owned(),
            debug_port: Some(6060),
            task: Task::Follow,
        };
        check(
            "--embedded --for 10s --timeout 2s --namespace web --namespace db --selector app=cart \
             --debug-port 6060",
            Ok(all()),
        );
        check(
            "--for=10s --namespace=web -n db --embedded -n web --timeout=2s --selector=app=cart \
             --debug-port=6060",
            Ok(all()),
        );
    }

    #[test]
    fn help_wins_over_what_follows() {
        let parsed = parse(&[], ["--help", "--nonsense"].map(str::to_owned));
        assert_eq!(parsed, Ok(Command::Help));
    }

    #[test]
    fn durations_have_a_unit() {
        let lasting = |millis| Options {
            duration: Some(Duration::from_millis(millis)),
            ..Options::default()
        };
        check("--for 500ms", Ok(lasting(500)));
        check("--for 2m", Ok(lasting(120_000)));
        check("--for 1h", Ok(lasting(3_600_000)));
        let wrong = [
            "10",
            "s",
            "1.5s",
            "10 s",
            "10days",
            "-5s",
            "9999999h",
            "99999999999999999999s",
        ];
        for wrong in wrong {
            check(&format!("--for {wrong}"), Err("write"));
        }
    }

    #[test]
    fn errors_say_what_to_write() {
        check("--for", Err("write `--for 10s`"));
        check("--namespace --embedded", Err("write `--namespace default`"));
        check("--namespace Web", Err("small letters"));
        check("--embedded=yes", Err("`--embedded` alone"));
        check("--embeded", Err("unknown option \"--embeded\""));
        check("--debug-port 65536", Err("write a number up to 65535"));
        check("pods", Err("--help"));
    }

    #[test]
    fn a_program_has_only_its_own_flags() {
        check_with(&[], "--selector a=b", Err("unknown option"));
        check_with(&[Flag::Selector], "--debug-port 1", Err("unknown option"));
        let none = help("x", "Does x.", &[]);
        assert!(!none.contains("--selector") && !none.contains("--debug-port"));
        let all = help("x", "Does x.", &[Flag::Selector, Flag::DebugPort]);
        assert!(all.contains("--selector LABELS") && all.contains("--debug-port PORT"));
    }
}
