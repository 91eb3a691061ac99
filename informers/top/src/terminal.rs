//! The terminal: reads keys, updates the rows, and draws.

use std::io;
use std::pin::pin;
use std::time::Duration;

use informers::controller::terminated;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event};
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::app::{App, Next};
use crate::caches::Caches;
use crate::row::{Column, Health};
use crate::view::{draw, summary, text};

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// How long the reader of keys waits before it checks whether the program has ended.
const POLL: Duration = Duration::from_millis(100);
/// How many events of the terminal may wait; further ones wait in the terminal.
const EVENTS: usize = 64;
/// How long `--once` waits for the caches.
const ONCE: Duration = Duration::from_secs(10);

/// Draws until the user quits, or a signal arrives. Restores the terminal in any case.
///
/// # Errors
/// If the terminal cannot be used.
pub(crate) async fn run(app: App, mut caches: Caches, every: Duration) -> Result {
    // Also restores the terminal after a panic.
    let mut terminal = ratatui::try_init()?;
    let outcome = follow(&mut terminal, app, &mut caches, every).await;
    let restored = ratatui::try_restore();
    caches.shutdown().await;
    outcome?;
    Ok(restored?)
}

async fn follow(
    terminal: &mut DefaultTerminal,
    mut app: App,
    caches: &mut Caches,
    every: Duration,
) -> Result {
    let mut events = events();
    let mut end = pin!(terminated());
    let mut ticks = interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            // The signals first, so that they are observed before anything is drawn.
            biased;
            () = &mut end => return Ok(()),
            event = events.recv() => match event {
                Some(Ok(Event::Key(key))) => match app.key(key) {
                    Next::Quit => return Ok(()),
                    Next::Continue => {}
                },
                // A resize draws again.
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(error.into()),
                // The terminal was closed.
                None => return Ok(()),
            },
            _ = ticks.tick() => app.set_rows(caches.update()),
            () = caches.estimated() => continue,
        }
        terminal.draw(|frame| draw(frame, &mut app))?;
    }
}

/// Reads the events of the terminal on a thread, until the receiver is dropped.
fn events() -> mpsc::Receiver<io::Result<Event>> {
    let (sender, receiver) = mpsc::channel(EVENTS);
    std::thread::spawn(move || {
        while !sender.is_closed() {
            let event = match event::poll(POLL) {
                Ok(false) => continue,
                Ok(true) => event::read(),
                Err(error) => Err(error),
            };
            let is_last = event.is_err();
            if sender.blocking_send(event).is_err() || is_last {
                return;
            }
        }
    });
    receiver
}

/// Prints the table once, when every kind was read or refused and its size was estimated, or after 10 s.
///
/// # Errors
/// If standard output is closed.
pub(crate) async fn print_once(mut app: App, mut caches: Caches) -> Result {
    let end = Instant::now() + ONCE;
    let is_open = |row: &crate::row::Row| {
        row.health == Health::Starting
            || (row.health == Health::Good && row.objects > 0 && row.bytes.is_none())
    };
    loop {
        app.set_rows(caches.update());
        if !app.rows.iter().any(is_open) || Instant::now() > end {
            break;
        }
        tokio::select! {
            () = caches.estimated() => {}
            () = tokio::time::sleep(Duration::from_millis(50)) => {}
        }
    }
    caches.shutdown().await;
    write_table(&mut io::stdout().lock(), &app)?;
    Ok(())
}

/// Writes the table as text, and then the errors in full.
fn write_table(out: &mut impl io::Write, app: &App) -> io::Result<()> {
    writeln!(out, "{}", summary(app))?;
    let longest = app
        .rows
        .iter()
        .map(|row| row.kind.len())
        .max()
        .unwrap_or(0)
        .max(4);
    let titles = Column::ALL.map(|column| column.title().to_owned());
    let rows = app
        .rows
        .iter()
        .map(|row| Column::ALL.map(|column| text(column, row)));
    for [kind, objects, rate, changes, size, age, errors, state] in std::iter::once(titles).chain(rows) {
        writeln!(
            out,
            "{kind:<longest$} {objects:>8} {rate:>9} {changes:>8} {size:>8} {age:>5} {errors:>6} {state}"
        )?;
    }
    for row in app.rows.iter().filter(|row| row.health == Health::Bad) {
        writeln!(out, "{}: {}", row.kind, row.note)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Row;

    #[test]
    fn the_printed_table_ends_with_the_errors_in_full() {
        let mut app = App::new("demo".to_owned(), 0);
        app.set_rows(vec![Row::forbidden()]);
        let mut out = Vec::new();
        write_table(&mut out, &app).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "\
demo: 1 kinds, 0 objects, ~0 B, 0.0 changes/s, 1 failing
KIND     OBJECTS CHANGES/S  CHANGES    ~SIZE   AGE ERRORS STATE
secrets        0       0.0        0        -     -      7 forbidden
secrets: forbidden: grant it
"
        );
    }
}
