//! How long to wait for a server that refuses, and what to say when that is over.

use std::time::Duration;

use informers::{SourceError, State};
use tokio::time::Instant;

/// How long refusals that will not pass by themselves are waited out: no right, no such resource, nobody there. The first two
/// are known to `wait_for_sync`, which is told of this limit.
pub(crate) const REFUSED: Duration = Duration::from_secs(4);
/// How long all else is waited out: a server that is busy, or that does not answer at all.
const TROUBLED: Duration = Duration::from_secs(20);

/// Watches an informer that is not in sync yet. An unreachable server would be waited for for ever, as it should be in a program
/// that nobody sits in front of.
pub(crate) struct Patience {
    /// Since when nothing but trouble was seen.
    since: Instant,
    /// The last trouble; `None` while the server has simply not answered.
    trouble: Option<State>,
}

/// What to do next.
#[derive(Debug)]
pub(crate) enum Verdict {
    Wait,
    /// Give up, for this reason; `None` if the server never answered.
    GiveUp(Option<State>),
}

impl Patience {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            since: now,
            trouble: None,
        }
    }

    /// Judges the state an informer is in.
    pub(crate) fn judge(&mut self, state: &State, now: Instant) -> Verdict {
        match state {
            State::Listing { received: 0, .. } | State::NotStarted => {}
            State::Listing { .. } | State::Live => *self = Self::new(now),
            trouble => self.trouble = Some(trouble.clone()),
        }
        let limit = match &self.trouble {
            Some(State::BackingOff { error, .. }) if is_refusal(error) => REFUSED,
            _ => TROUBLED,
        };
        match now.duration_since(self.since) >= limit {
            true => Verdict::GiveUp(self.trouble.take()),
            false => Verdict::Wait,
        }
    }
}

fn is_refusal(error: &SourceError) -> bool {
    match error {
        SourceError::Connect(_) | SourceError::Request(_) => true,
        SourceError::Status { status } => status.code == 401,
        _ => false,
    }
}

/// Says why the pods cannot be listed, and what can be done about it.
pub(crate) fn explain(trouble: Option<&State>, address: &str, namespaces: &[String]) -> String {
    match trouble {
        None => format!("{address} did not answer within {TROUBLED:?}."),
        Some(State::Forbidden { error }) => {
            let place = match namespaces {
                [] => "a ClusterRole that is bound to you by a ClusterRoleBinding".to_owned(),
                [one] => format!("a Role in the namespace {one} that is bound to you"),
                several => format!(
                    "a Role in each of the namespaces {} that is bound to you",
                    several.join(", ")
                ),
            };
            format!(
                "{address} does not let you list pods: {error}\n\nThis rule is needed, in {place}:\n\n  \
                 - apiGroups: [\"\"]\n    resources: [\"pods\"]\n    verbs: [\"list\", \"watch\"]\n"
            )
        }
        Some(State::NotFound { error }) => {
            format!("{address} has no pods to list, so it may not be a Kubernetes API server: {error}.")
        }
        Some(State::BackingOff { error, .. }) => match error {
            SourceError::Connect(why) => format!("{address} cannot be reached: {why}."),
            SourceError::Status { status } if status.code == 401 => {
                format!("{address} does not accept your credentials: {error}.")
            }
            other => format!("{address} does not answer as it should: {other}."),
        },
        Some(other) => format!("{address} does not answer as it should: {other}."),
    }
}

#[cfg(test)]
mod tests {
    use informers::source::ServerStatus;

    use super::*;

    fn backing_off(error: SourceError) -> State {
        State::BackingOff {
            error,
            retry_in: Duration::from_secs(1),
        }
    }

    fn status(code: u16) -> SourceError {
        let status = ServerStatus {
            code,
            ..ServerStatus::default()
        };
        SourceError::Status { status }
    }

    const LISTING: State = State::Listing {
        received: 0,
        expected: None,
    };

    /// Shows a state every 100 ms, a new try in between, and says after how many seconds it is given up.
    fn given_up_after(state: &State) -> Option<u64> {
        let start = Instant::now();
        let mut patience = Patience::new(start);
        (0..600).find_map(|tick| {
            let now = start + Duration::from_millis(100) * tick;
            let shown = if tick % 2 == 0 { &LISTING } else { state };
            match patience.judge(shown, now) {
                Verdict::Wait => None,
                Verdict::GiveUp(_) => Some(u64::from(tick) / 10),
            }
        })
    }

    #[test]
    fn refusals_are_given_up_soon_and_other_trouble_later() {
        let refused = || SourceError::Connect("Connection refused".to_owned());
        assert_eq!(given_up_after(&backing_off(refused())), Some(4));
        assert_eq!(given_up_after(&backing_off(status(401))), Some(4));
        assert_eq!(given_up_after(&backing_off(status(500))), Some(20));
        assert_eq!(given_up_after(&LISTING), Some(20));
    }

    #[test]
    fn a_list_that_moves_is_never_given_up() {
        let moving = State::Listing {
            received: 10,
            expected: Some(20),
        };
        assert_eq!(given_up_after(&moving), None);
    }

    #[test]
    fn a_forbidden_list_names_the_rule_that_is_missing() {
        let state = State::Forbidden { error: status(403) };
        let text = explain(Some(&state), "https://host", &[]);
        assert!(text.contains("ClusterRole"), "{text}");
        assert!(text.contains("resources: [\"pods\"]"), "{text}");
        assert!(text.contains("verbs: [\"list\", \"watch\"]"), "{text}");
        let text = explain(Some(&state), "https://host", &["web".to_owned()]);
        assert!(text.contains("Role in the namespace web"), "{text}");
    }

    #[test]
    fn every_reason_names_the_address() {
        let states = [
            None,
            Some(State::NotFound { error: status(404) }),
            Some(State::Stalled),
            Some(backing_off(SourceError::Connect("refused".to_owned()))),
            Some(backing_off(status(401))),
            Some(backing_off(status(500))),
        ];
        for state in states {
            let text = explain(state.as_ref(), "https://host", &[]);
            assert!(text.starts_with("https://host "), "{text}");
        }
    }
}
