//! The command line: what may be written, and what to write instead of what was.

use std::time::Duration;

use informers::Selector;

/// What one example does and takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    /// What it does, in a sentence.
    about: &'static str,
    filters: &'static [Filter],
}

/// An option that limits what is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Filter {
    Namespace,
    Selector,
}

impl Usage {
    /// An example that does this.
    pub(crate) const fn new(about: &'static str) -> Self {
        Self {
            about,
            filters: &[Filter::Namespace],
        }
    }

    /// One that can also show only what has certain labels.
    pub(crate) const fn with_selector(self) -> Self {
        Self {
            filters: &[Filter::Namespace, Filter::Selector],
            ..self
        }
    }

    /// What `--help` prints of the example of this name.
    pub(crate) fn help(self, name: &str) -> String {
        let (about, filters) = (self.about, self.filters.iter());
        let filters: String = filters.map(|filter| filter.help()).collect();
        format!(
            "{about}

Usage: cargo run --example {name} -- [OPTIONS]

Options:
  --embedded        Use an API server inside this program, on which something happens. This is also what is done
                    without a kubeconfig
  --for DURATION    End this long after the first list is in the cache, such as 500ms, 10s or 2m. Without it: at Ctrl-C,
                    or when nothing more happens on the embedded server
{filters}  --help            Print this

The cluster is that of $KUBECONFIG or ~/.kube/config, or the one this program runs in. NO_COLOR turns colours off.
"
        )
    }

    /// Every option, in one line.
    fn spellings(self) -> String {
        let filters: String = self.filters.iter().map(|filter| filter.spelling()).collect();
        format!("--embedded, --for DURATION,{filters} or --help")
    }
}

impl Filter {
    fn spelling(self) -> &'static str {
        match self {
            Self::Namespace => " --namespace NS,",
            Self::Selector => " --selector LABELS,",
        }
    }

    fn help(self) -> &'static str {
        match self {
            Self::Namespace => "  --namespace NS    Only this namespace; may be given several times\n",
            Self::Selector => {
                "  --selector LABELS Show only what has these labels, such as app=cart; the cache has all\n"
            }
        }
    }
}

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
    /// What to show of what the cache has.
    pub(crate) selector: Selector,
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
pub(crate) fn parse(usage: Usage, arguments: impl IntoIterator<Item = String>) -> Result<Command, String> {
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
        let has = |filter| usage.filters.contains(&filter);
        match name {
            "--help" | "-h" => return Ok(Command::Help),
            "--for" => options.duration = Some(parse_duration(&value("10s")?)?),
            "--namespace" | "-n" if has(Filter::Namespace) => {
                add_namespace(&mut options.namespaces, value("default")?)?;
            }
            "--selector" | "-l" if has(Filter::Selector) => {
                options.selector = value("app=cart")?
                    .parse()
                    .map_err(|error| format!("--selector: {error}"))?;
            }
            "--embedded" if attached.is_some() => {
                return Err("--embedded takes no value: write `--embedded` alone".to_owned());
            }
            "--embedded" => options.server = Server::Embedded,
            _ => {
                let options = usage.spellings();
                return Err(format!("{argument:?} is not an option: write {options}"));
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

    const USAGE: Usage = Usage::new("Does something.").with_selector();

    fn check(line: &str, expected: Result<Options, &str>) {
        check_usage(USAGE, line, expected);
    }

    fn check_usage(usage: Usage, line: &str, expected: Result<Options, &str>) {
        let parsed = parse(usage, line.split_whitespace().map(str::to_owned));
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
            selector: "app=cart".parse().unwrap(),
        };
        check(
            "--embedded --for 10s --namespace web --namespace db --selector app=cart",
            Ok(all()),
        );
        check(
            "--for=10s --namespace=web -n db --embedded -n web --selector=app=cart",
            Ok(all()),
        );
    }

    #[test]
    fn help_wins_over_what_follows() {
        let parsed = parse(USAGE, ["--help".to_owned(), "--nonsense".to_owned()]);
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
        check(
            "--selector app=",
            Ok(Options {
                selector: "app=".parse().unwrap(),
                ..Options::default()
            }),
        );
        check("--selector app==/", Err("^"));
    }

    #[test]
    fn an_example_takes_and_names_only_its_own_options() {
        let plain = Usage::new("Does something.");
        check_usage(
            plain,
            "--selector a",
            Err("write --embedded, --for DURATION, --namespace NS, or --help"),
        );
        assert!(!plain.help("plain").contains("--selector"));
        assert!(
            USAGE.help("example").contains("--namespace NS")
                && USAGE.help("example").contains("--selector LABELS")
        );
    }
}
