//! The command line: what may be written, and what to write instead of what was.

use std::time::Duration;

/// What `--help` prints.
pub(crate) const HELP: &str = "\
Follows the pods of a cluster: lists them, watches them, and shows every change and the cache it keeps.

Usage: cargo run --example quickstart -- [OPTIONS]

Options:
  --embedded        Use an API server inside this program, with a small cluster that lives. This is also what happens
                    without a kubeconfig
  --for DURATION    End this long after the first list is in the cache, such as 500ms, 10s or 2m. Without it: at Ctrl-C
  --namespace NS    Only the pods of this namespace; may be given several times
  --help            Print this

The cluster is that of $KUBECONFIG or ~/.kube/config, or the one this program runs in. NO_COLOR turns colours off.
";

/// What the user asked for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Help,
    Run(Options),
}

/// How to run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) server: Server,
    /// How long to follow changes; `None` for until Ctrl-C.
    pub(crate) duration: Option<Duration>,
    /// Empty for all namespaces.
    pub(crate) namespaces: Vec<String>,
}

/// Which server to use.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) enum Server {
    /// The configured cluster, or the embedded server where none is configured.
    #[default]
    Configured,
    Embedded,
}

/// Reads the arguments, without the name of the program. The error says what to write.
pub(crate) fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Command, String> {
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
            "--for" => options.duration = Some(parse_duration(&value("10s")?)?),
            "--namespace" | "-n" => add_namespace(&mut options.namespaces, value("default")?)?,
            "--embedded" if attached.is_some() => {
                return Err("--embedded takes no value: write `--embedded` alone".to_owned());
            }
            "--embedded" => options.server = Server::Embedded,
            _ => {
                return Err(format!(
                    "{argument:?} is not an option: write --embedded, --for DURATION, --namespace NS or --help"
                ));
            }
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
            "--namespace {namespace:?} cannot be one: write small letters, digits and dashes; once per namespace"
        ));
    }
    // Named twice is meant once.
    if !namespaces.contains(&namespace) {
        namespaces.push(namespace);
    }
    Ok(())
}

/// A whole number and its unit.
fn parse_duration(text: &str) -> Result<Duration, String> {
    let problem = || {
        format!(
            "--for {text:?} is not a duration: write a whole number and ms, s, m or h, such as `--for 10s`"
        )
    };
    let digits = text.len() - text.trim_start_matches(|char: char| char.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_| problem())?;
    let millis = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err(problem()),
    };
    let millis = number.checked_mul(millis).ok_or_else(problem)?;
    // Past a year a deadline may not fit the clock any more.
    if millis > 365 * 24 * 3_600_000 {
        return Err(format!(
            "--for {text} is longer than a year: leave --for out to run until Ctrl-C"
        ));
    }
    Ok(Duration::from_millis(millis))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: Result<Options, &str>) {
        let parsed = parse(line.split_whitespace().map(str::to_owned));
        match expected {
            Ok(options) => assert_eq!(parsed, Ok(Command::Run(options)), "{line:?}"),
            Err(part) => {
                let error = parsed.expect_err(line);
                assert!(error.contains(part), "{line:?}: {error}");
            }
        }
    }

    #[test]
    fn options_are_read_in_both_spellings() {
        check("", Ok(Options::default()));
        let all = || Options {
            server: Server::Embedded,
            duration: Some(Duration::from_secs(10)),
            namespaces: vec!["web".to_owned(), "db".to_owned()],
        };
        check("--embedded --for 10s --namespace web --namespace db", Ok(all()));
        check("--for=10s --namespace=web -n db --embedded -n web", Ok(all()));
    }

    #[test]
    fn help_wins_over_what_follows() {
        let parsed = parse(["--help".to_owned(), "--nonsense".to_owned()]);
        assert_eq!(parsed, Ok(Command::Help));
    }

    #[test]
    fn durations_have_a_unit() {
        let lasting = |duration| Options {
            duration: Some(duration),
            ..Options::default()
        };
        check("--for 500ms", Ok(lasting(Duration::from_millis(500))));
        check("--for 2m", Ok(lasting(Duration::from_secs(120))));
        check("--for 1h", Ok(lasting(Duration::from_secs(3600))));
        for wrong in [
            "10",
            "s",
            "1.5s",
            "10 s",
            "10days",
            "99999999999999999999s",
            "-5s",
        ] {
            check(&format!("--for {wrong}"), Err("write"));
        }
        check("--for 9999999h", Err("leave --for out"));
    }

    #[test]
    fn errors_say_what_to_write() {
        check("--for", Err("write `--for 10s`"));
        check("--namespace --embedded", Err("write `--namespace default`"));
        check("--namespace Web", Err("small letters"));
        check("--embedded=yes", Err("`--embedded` alone"));
        check("--embeded", Err("\"--embeded\" is not an option"));
        check("pods", Err("--help"));
    }
}
