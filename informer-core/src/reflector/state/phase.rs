//! The requests a reflector makes.

use crate::resource_version::ResourceVersion;
use crate::source::{ListFrom, WatchListFrom};

/// The next request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) enum Phase {
    /// Read the whole state through a watch, and go on with it.
    WatchList { from: WatchListFrom },
    /// Read the whole state by LIST.
    List { from: ListFrom },
    /// Watch for changes after a version.
    Watch { from: ResourceVersion },
    /// Read the server's version, and watch on if it is not older than the one that is watched.
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

    /// What is requested, and from where.
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

    /// Whether the newest state is requested, whatever its version.
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
