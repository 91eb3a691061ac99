//! The command line: which flags exist, and what to write instead of a flag that cannot be read.

use std::time::Duration;

/// The flags a program accepts beside those that all of them have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Selection {
    /// `--namespace`.
    ByNamespace,
    /// `--namespace` and `--selector`.
    ByNamespaceAndLabels,
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
}

impl Default for Options {
    fn default() -> Self {
        Self {
            server: Server::Configured,
            duration: None,
            timeout: Duration::from_secs(60),
            namespaces: Vec::new(),
            selector: String::new(),
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
pub(super) fn help(name: &str, about: &str, selection: Selection) -> String {
    let selector = match selection {
        Selection::ByNamespace => "",
        Selection::ByNamespaceAndLabels => {
            "  --selector LABELS   Show only objects with these labels, such as app=cart\n"
        }
    };
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
{selector}  --help              Print this

The cluster is that of $KUBECONFIG or ~/.kube/config, or the one this program runs in. NO_COLOR turns
colours off. RUST_LOG sets which logs are printed, such as RUST_LOG=debug; the default is warn.
"
    )
}

/// Reads the arguments, without the name of the program. The error says what to write.
pub(super) fn parse(
    selection: Selection,
    arguments: impl IntoIterator<Item = String>,
) -> Result<Command, String> {
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
            "--selector" | "-l" if selection == Selection::ByNamespaceAndLabels => {
                options.selector = value("app=cart")?;
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

    fn check_with(selection: Selection, line: &str, expected: Result<Options, &str>) {
        let parsed = parse(selection, line.split_whitespace().map(str::to_owned));
        match expected {
            Ok(options) => assert_eq!(parsed, Ok(Command::Run(options)), "{line:?}"),
            Err(part) => {
                let error = parsed.expect_err(line);
                assert!(error.contains(part), "{line:?}: {error}");
            }
        }
    }

    fn check(line: &str, expected: Result<Options, &str>) {
        check_with(Selection::ByNamespaceAndLabels, line, expected);
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
        };
        check(
            "--embedded --for 10s --timeout 2s --namespace web --namespace db --selector app=cart",
            Ok(all()),
        );
        check(
            "--for=10s --namespace=web -n db --embedded -n web --timeout=2s --selector=app=cart",
            Ok(all()),
        );
    }

    #[test]
    fn help_wins_over_what_follows() {
        let parsed = parse(
            Selection::ByNamespace,
            ["--help", "--nonsense"].map(str::to_owned),
        );
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
        check("pods", Err("--help"));
    }

    #[test]
    fn a_program_without_label_selection_has_no_such_flag() {
        check_with(Selection::ByNamespace, "--selector a=b", Err("unknown option"));
        assert!(!help("x", "Does x.", Selection::ByNamespace).contains("--selector"));
        assert!(help("x", "Does x.", Selection::ByNamespaceAndLabels).contains("--selector LABELS"));
    }
}
