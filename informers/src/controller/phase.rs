//! The phases of a manager.

use std::fmt;

/// What a manager is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// It has not been started.
    Created,
    /// The caches are not in sync yet.
    Syncing,
    /// The caches are in sync, and another process is the leader.
    Standby,
    /// The controllers run.
    Running,
    /// It was stopped, and running reconciles finish.
    Stopping,
    /// It has ended.
    Stopped,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Created => "not started",
            Self::Syncing => "the caches are not in sync",
            Self::Standby => "waiting for the leadership",
            Self::Running => "running",
            Self::Stopping => "stopping",
            Self::Stopped => "stopped",
        })
    }
}
