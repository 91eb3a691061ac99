//! The requests a reflector makes.

use tracing::Span;

use crate::resource_version::ResourceVersion;
use crate::scope::Scope;
use crate::source::{ListFrom, WatchListFrom};

/// The next request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) enum Phase {
    /// Reads the whole state through a watch, and then follows it.
    WatchList { from: WatchListFrom },
    /// Reads the whole state by LIST.
    List { from: ListFrom },
    /// Watches for changes after a version.
    Watch { from: ResourceVersion },
    /// Reads the server's version, to check that it has reached the watched version.
    Probe { from: ResourceVersion },
}

impl Phase {
    /// The version the request carries.
    pub(super) fn version(&self) -> Option<&ResourceVersion> {
        match self {
            Self::WatchList {
                from: WatchListFrom::NotOlderThan(version),
            }
            | Self::List {
                from: ListFrom::NotOlderThan(version) | ListFrom::Exactly(version),
            }
            | Self::Watch { from: version } => Some(version),
            _ => None,
        }
    }

    /// The span of this request, from sending it to the end of its response. Does nothing below `DEBUG`.
    pub(in super::super) fn span(&self, resource: &str, scope: &Scope) -> Span {
        let rv = self.version().map(tracing::field::display);
        match self {
            Self::WatchList { .. } => tracing::debug_span!("watch_list", resource, %scope, rv),
            Self::List { .. } => tracing::debug_span!("list", resource, %scope, rv),
            Self::Watch { .. } => tracing::debug_span!("watch", resource, %scope, rv),
            Self::Probe { .. } => tracing::debug_span!("probe", resource, %scope, rv),
        }
    }

    /// A short name for the simulation's coverage.
    pub(in super::super) const fn name(&self) -> &'static str {
        match self {
            Self::WatchList {
                from: WatchListFrom::MostRecent,
            } => "WatchList(newest)",
            Self::WatchList { .. } => "WatchList(not older)",
            Self::List {
                from: ListFrom::MostRecent,
            } => "List(newest)",
            Self::List {
                from: ListFrom::AnyCached,
            } => "List(any)",
            Self::List { .. } => "List(not older)",
            Self::Watch { .. } => "Watch",
            Self::Probe { .. } => "Probe",
        }
    }

    /// Whether the newest state is requested, of any version.
    pub(super) const fn is_of_newest(&self) -> bool {
        matches!(
            self,
            Self::WatchList {
                from: WatchListFrom::MostRecent
            } | Self::List {
                from: ListFrom::MostRecent
            }
        )
    }
}
