//! What the program shows, and what keys do.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::widgets::TableState;

use crate::row::{Column, Row};

/// What the program shows.
#[derive(Clone, Debug)]
pub(crate) struct App {
    /// The name of the cluster.
    pub(crate) server: String,
    /// How many kinds exist but are not watched.
    pub(crate) left_out: usize,
    /// The rows, in the order in which they are shown.
    pub(crate) rows: Vec<Row>,
    /// The column that determines the order.
    pub(crate) sort: Column,
    /// Whether that order is reversed.
    pub(crate) direction: Direction,
    /// The selected row, and the first one that is shown.
    pub(crate) table: TableState,
}

/// How many rows a page has.
const PAGE: usize = 10;

/// The direction of the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// What is usually of interest comes first.
    Usual,
    /// It comes last.
    Reversed,
}

/// What follows a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// The program continues.
    Continue,
    /// The program ends.
    Quit,
}

impl App {
    /// Creates an app without rows.
    pub(crate) fn new(server: String, left_out: usize) -> Self {
        Self {
            server,
            left_out,
            rows: Vec::new(),
            sort: Column::Rate,
            direction: Direction::Usual,
            table: TableState::new(),
        }
    }

    /// Sets the rows.
    pub(crate) fn set_rows(&mut self, rows: Vec<Row>) {
        self.rows = rows;
        self.order();
    }

    fn order(&mut self) {
        let column = self.sort;
        self.rows.sort_by(|a, b| column.compare(a, b));
        if self.direction == Direction::Reversed {
            self.rows.reverse();
        }
        self.select(self.table.selected().unwrap_or_default());
    }

    /// The selected row.
    pub(crate) fn selected(&self) -> Option<&Row> {
        self.rows.get(self.table.selected()?)
    }

    /// Selects a row, or the last one if there are fewer.
    fn select(&mut self, place: usize) {
        let last = self.rows.len().checked_sub(1);
        self.table.select(last.map(|last| place.min(last)));
    }

    /// Handles a key.
    pub(crate) fn key(&mut self, key: KeyEvent) -> Next {
        if key.kind == KeyEventKind::Release {
            return Next::Continue;
        }
        let at = self.table.selected().unwrap_or_default();
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('q') | KeyCode::Esc => return Next::Quit,
            // Raw mode disables the signal.
            KeyCode::Char('c') if is_control => return Next::Quit,
            KeyCode::Right | KeyCode::Tab | KeyCode::Char('l' | '>') => self.move_sort(1),
            KeyCode::Left | KeyCode::BackTab | KeyCode::Char('h' | '<') => {
                self.move_sort(Column::ALL.len() - 1);
            }
            KeyCode::Char('r') => {
                self.direction = match self.direction {
                    Direction::Usual => Direction::Reversed,
                    Direction::Reversed => Direction::Usual,
                };
            }
            KeyCode::Char(digit @ '1'..='8') => {
                let place = usize::try_from(u32::from(digit) - u32::from('1')).unwrap_or_default();
                self.sort = Column::ALL[place];
            }
            KeyCode::Down | KeyCode::Char('j') => self.select(at + 1),
            KeyCode::Up | KeyCode::Char('k') => self.select(at.saturating_sub(1)),
            KeyCode::PageDown | KeyCode::Char(' ') => self.select(at + PAGE),
            KeyCode::PageUp => self.select(at.saturating_sub(PAGE)),
            KeyCode::Home | KeyCode::Char('g') => self.select(0),
            KeyCode::End | KeyCode::Char('G') => self.select(usize::MAX),
            _ => {}
        }
        self.order();
        Next::Continue
    }

    fn move_sort(&mut self, by: usize) {
        let place = Column::ALL.iter().position(|column| *column == self.sort);
        self.sort = Column::ALL[(place.unwrap_or_default() + by) % Column::ALL.len()];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(app: &mut App, code: KeyCode) -> Next {
        app.key(KeyEvent::new(code, KeyModifiers::NONE))
    }

    fn order(app: &App) -> String {
        app.rows.iter().map(|row| row.kind.as_str()).collect()
    }

    #[test]
    fn keys_choose_the_column_and_the_direction() {
        let mut app = App::new("test".to_owned(), 0);
        let row = |kind: &str, objects, rate| Row {
            kind: kind.to_owned(),
            objects,
            rate,
            ..Row::default()
        };
        app.set_rows(vec![row("a", 1, 0.0), row("b", 2, 9.0), row("c", 3, 1.0)]);
        assert_eq!((app.sort, order(&app).as_str()), (Column::Rate, "bca"));
        press(&mut app, KeyCode::Left);
        assert_eq!((app.sort, order(&app).as_str()), (Column::Objects, "cba"));
        press(&mut app, KeyCode::Char('r'));
        assert_eq!(order(&app), "abc");
        press(&mut app, KeyCode::Char('3'));
        assert_eq!((app.sort, order(&app).as_str()), (Column::Rate, "acb"));
        for _ in 0..Column::ALL.len() {
            press(&mut app, KeyCode::Right);
        }
        assert_eq!(app.sort, Column::Rate, "around");
    }

    #[test]
    fn the_selection_ends_at_the_first_and_the_last_row() {
        let mut app = App::new("test".to_owned(), 0);
        app.set_rows(vec![Row::default(); 30]);
        let mut after = |code| {
            press(&mut app, code);
            app.table.selected()
        };
        assert_eq!(after(KeyCode::Up), Some(0));
        assert_eq!(after(KeyCode::Down), Some(1));
        assert_eq!(after(KeyCode::PageDown), Some(11));
        assert_eq!(after(KeyCode::End), Some(29));
        assert_eq!(after(KeyCode::PageDown), Some(29));
        assert_eq!(after(KeyCode::Home), Some(0));
        app.set_rows(Vec::new());
        assert!(app.selected().is_none());
    }

    #[test]
    fn q_escape_and_control_c_quit() {
        let mut app = App::new("test".to_owned(), 0);
        assert_eq!(press(&mut app, KeyCode::Char('q')), Next::Quit);
        assert_eq!(press(&mut app, KeyCode::Esc), Next::Quit);
        let control_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(app.key(control_c), Next::Quit);
        assert_eq!(press(&mut app, KeyCode::Char('c')), Next::Continue);
    }
}
