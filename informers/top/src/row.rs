//! One line of the table: what is known of a kind, its rate of change, and the order of lines.

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::time::Duration;

/// How many updates of the screen the rate is computed over.
const WINDOW: usize = 10;

/// What is known of a kind at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Row {
    /// `pods`, `deployments.apps`.
    pub(crate) kind: String,
    /// The number of objects.
    pub(crate) objects: u64,
    /// Additions, modifications and deletions per second.
    pub(crate) rate: f64,
    /// All changes since the start.
    pub(crate) changes: u64,
    /// The estimated size of all objects, as JSON; `None` if it is unknown.
    pub(crate) bytes: Option<u64>,
    /// The age of the data; `None` before the first commit.
    pub(crate) age: Option<Duration>,
    /// Failed lists and watches.
    pub(crate) errors: u64,
    /// In a few words.
    pub(crate) state: String,
    /// Whether the state needs attention.
    pub(crate) health: Health,
    /// The state in full, with what to do if it is an error.
    pub(crate) note: String,
}

/// Whether a state needs attention.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Health {
    /// The cache is current.
    Good,
    /// The initial state is being read.
    #[default]
    Starting,
    /// Requests fail, or nothing arrives.
    Bad,
}

/// A column of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Column {
    /// The name of the kind.
    Kind,
    /// The number of objects.
    Objects,
    /// Changes per second.
    Rate,
    /// Changes since the start.
    Changes,
    /// The estimated size.
    Size,
    /// The age of the data.
    Age,
    /// Failed requests.
    Errors,
    /// The state.
    State,
}

impl Column {
    /// All columns, from left to right.
    pub(crate) const ALL: [Self; 8] = [
        Self::Kind,
        Self::Objects,
        Self::Rate,
        Self::Changes,
        Self::Size,
        Self::Age,
        Self::Errors,
        Self::State,
    ];

    /// How many columns of the terminal it takes. Names take what is left, and at least this.
    pub(crate) const fn width(self) -> u16 {
        match self {
            Self::Kind => 24,
            Self::Objects | Self::Changes | Self::Size => 8,
            Self::Rate => 10,
            Self::Age => 5,
            Self::Errors => 7,
            Self::State => 12,
        }
    }

    /// The columns that fit into a width, with one space between two of them. The least important ones are
    /// left out first; names and the column that is sorted by stay.
    pub(crate) fn fitting(width: u16, sort: Self) -> Vec<Self> {
        let mut columns = Self::ALL.to_vec();
        for expendable in [
            Self::Changes,
            Self::Age,
            Self::Errors,
            Self::Size,
            Self::Rate,
            Self::State,
            Self::Objects,
        ] {
            let needed: u16 = columns.iter().map(|column| column.width() + 1).sum();
            if needed > width + 1 && expendable != sort {
                columns.retain(|column| *column != expendable);
            }
        }
        columns
    }

    /// The text in the header.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Kind => "KIND",
            Self::Objects => "OBJECTS",
            Self::Rate => "CHANGES/S",
            Self::Changes => "CHANGES",
            Self::Size => "~SIZE",
            Self::Age => "AGE",
            Self::Errors => "ERRORS",
            Self::State => "STATE",
        }
    }

    /// Compares two rows so that what is usually of interest comes first: names from A, numbers from the
    /// largest, states from the worst.
    pub(crate) fn compare(self, a: &Row, b: &Row) -> Ordering {
        let by_column = match self {
            Self::Kind => Ordering::Equal,
            Self::Objects => b.objects.cmp(&a.objects),
            Self::Rate => b.rate.total_cmp(&a.rate).then(b.changes.cmp(&a.changes)),
            Self::Changes => b.changes.cmp(&a.changes),
            Self::Size => b.bytes.cmp(&a.bytes),
            Self::Age => b.age.cmp(&a.age),
            Self::Errors => b.errors.cmp(&a.errors),
            Self::State => (b.health as u8)
                .cmp(&(a.health as u8))
                .then(a.state.cmp(&b.state)),
        };
        by_column.then_with(|| a.kind.cmp(&b.kind))
    }
}

/// The rate of a counter over the last updates.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rate(VecDeque<(Duration, u64)>);

impl Rate {
    /// Adds a reading of the counter at a time since the start, and returns the rate per second.
    pub(crate) fn update(&mut self, at: Duration, count: u64) -> f64 {
        self.0.push_back((at, count));
        while self.0.len() > WINDOW {
            self.0.pop_front();
        }
        let Some((first_at, first)) = self.0.front() else {
            return 0.0;
        };
        let seconds = at.saturating_sub(*first_at).as_secs_f64();
        match seconds > 0.0 {
            true => count.saturating_sub(*first) as f64 / seconds,
            false => 0.0,
        }
    }
}

/// A number of bytes for people: `950 B`, `1.2 MB`.
pub(crate) fn bytes(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

/// A time for people: `3s`, `5m`, `2h`.
pub(crate) fn age(age: Duration) -> String {
    match age.as_secs() {
        seconds @ 0..120 => format!("{seconds}s"),
        seconds @ 120..7_200 => format!("{}m", seconds / 60),
        seconds => format!("{}h", seconds / 3_600),
    }
}

#[cfg(test)]
impl Row {
    /// A kind that may not be read.
    pub(crate) fn forbidden() -> Self {
        Self {
            kind: "secrets".to_owned(),
            errors: 7,
            state: "forbidden".to_owned(),
            health: Health::Bad,
            note: "forbidden: grant it".to_owned(),
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(kind: &str, objects: u64, rate: f64, bytes: Option<u64>) -> Row {
        Row {
            kind: kind.to_owned(),
            objects,
            rate,
            bytes,
            ..Row::default()
        }
    }

    #[test]
    fn rows_are_sorted_by_each_column_and_then_by_name() {
        let mut bad = row("c", 1, 0.0, None);
        bad.health = Health::Bad;
        bad.errors = 3;
        bad.age = Some(Duration::from_secs(9));
        let rows = [row("b", 5, 0.5, Some(9)), row("a", 5, 2.0, None), bad];
        for (column, expected) in [
            (Column::Kind, "abc"),
            (Column::Objects, "abc"),
            (Column::Rate, "abc"),
            (Column::Size, "bac"),
            (Column::Age, "cab"),
            (Column::Errors, "cab"),
            (Column::State, "cab"),
        ] {
            let mut sorted = rows.to_vec();
            sorted.sort_by(|a, b| column.compare(a, b));
            let order: String = sorted.iter().map(|row| row.kind.as_str()).collect();
            assert_eq!(order, expected, "{column:?}");
        }
    }

    #[test]
    fn narrow_terminals_have_fewer_columns() {
        let titles = |width, sort| {
            let titles = Column::fitting(width, sort).into_iter().map(Column::title);
            titles.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            titles(89, Column::Rate),
            "KIND OBJECTS CHANGES/S CHANGES ~SIZE AGE ERRORS STATE"
        );
        assert_eq!(
            titles(80, Column::Rate),
            "KIND OBJECTS CHANGES/S ~SIZE AGE ERRORS STATE"
        );
        assert_eq!(
            titles(80, Column::Changes),
            "KIND OBJECTS CHANGES/S CHANGES ~SIZE STATE"
        );
        assert_eq!(titles(1, Column::Rate), "KIND CHANGES/S");
        assert_eq!(titles(1, Column::Kind), "KIND");
    }

    #[test]
    fn a_rate_is_that_of_the_last_updates() {
        let mut rate = Rate::default();
        assert_eq!(rate.update(Duration::from_secs(1), 100), 0.0);
        assert_eq!(rate.update(Duration::from_secs(2), 110), 10.0);
        for second in 3..30 {
            rate.update(Duration::from_secs(second), 110);
        }
        assert_eq!(
            rate.update(Duration::from_secs(30), 110),
            0.0,
            "the changes are too long ago"
        );
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(
            [bytes(999), bytes(1_234), bytes(5_600_000)],
            ["999 B", "1.2 kB", "5.6 MB"]
        );
        let ages = [3, 119, 120, 7_200].map(|seconds| age(Duration::from_secs(seconds)));
        assert_eq!(ages, ["3s", "119s", "2m", "2h"]);
    }
}
