//! Draws the app.

use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Layout};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Text};
use ratatui::widgets::{Block, Borders, Cell, Paragraph, Row as TableRow, Table, Wrap};

use crate::app::{App, Direction};
use crate::row::{Column, Health, Row, age, bytes};

/// The line at the bottom.
const HELP: &str = "q quit   ←/→ or 1-8 sort column   r reverse   ↑/↓ select";

/// The lines for the state of the selected kind, with the line above them: errors are longer.
const DETAIL: u16 = 3;
const DETAIL_OF_ERROR: u16 = 6;

/// Draws one frame.
pub(crate) fn draw(frame: &mut Frame<'_>, app: &mut App) {
    let is_bad = app.selected().is_some_and(|row| row.health == Health::Bad);
    let lines = if is_bad { DETAIL_OF_ERROR } else { DETAIL };
    let [title, table, detail, help] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Fill(1),
        Constraint::Length(lines),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let dim = Style::new().add_modifier(Modifier::DIM);
    frame.render_widget(Paragraph::new(summary(app)).style(bold), title);
    let rows = rows(app, table.width);
    frame.render_stateful_widget(rows, table, &mut app.table);
    if let Some(row) = app.selected() {
        let rule = Block::new()
            .borders(Borders::TOP)
            .border_style(dim)
            .title(format!(" {} ", row.kind));
        let note = Paragraph::new(row.note.as_str()).wrap(Wrap { trim: true });
        frame.render_widget(note.style(style(row)).block(rule), detail);
    }
    frame.render_widget(Paragraph::new(HELP).style(dim), help);
}

/// The line at the top.
pub(crate) fn summary(app: &App) -> String {
    let objects: u64 = app.rows.iter().map(|row| row.objects).sum();
    let rate: f64 = app.rows.iter().map(|row| row.rate).sum();
    let known: u64 = app.rows.iter().filter_map(|row| row.bytes).sum();
    let bad = app.rows.iter().filter(|row| row.health == Health::Bad).count();
    let mut text = format!(
        "{}: {} kinds, {objects} objects, ~{}, {rate:.1} changes/s",
        app.server,
        app.rows.len(),
        bytes(known)
    );
    if bad > 0 {
        text += &format!(", {bad} failing");
    }
    if app.left_out > 0 {
        text += &format!(", {} more not watched", app.left_out);
    }
    text
}

fn rows(app: &App, width: u16) -> Table<'static> {
    let columns = Column::fitting(width, app.sort);
    let widths = columns.iter().map(|column| match column {
        Column::Kind => Constraint::Fill(1),
        column => Constraint::Length(column.width()),
    });
    let header = columns.iter().map(|&column| {
        let is_sorted = column == app.sort;
        let mark = match (is_sorted, app.direction) {
            (false, _) => "",
            (true, Direction::Usual) => "▼",
            (true, Direction::Reversed) => "▲",
        };
        let style = match is_sorted {
            true => Style::new().add_modifier(Modifier::UNDERLINED),
            false => Style::new(),
        };
        cell(column, format!("{}{mark}", column.title())).style(style)
    });
    let others: u16 = columns.iter().skip(1).map(|column| column.width() + 1).sum();
    let longest = usize::from(width.saturating_sub(others));
    let lines = app.rows.iter().map(|row| {
        let cells = columns.iter().map(|&column| match column {
            Column::Kind => cell(column, shortened(&row.kind, longest)),
            column => cell(column, text(column, row)),
        });
        TableRow::new(cells.collect::<Vec<_>>()).style(style(row))
    });
    Table::new(lines.collect::<Vec<_>>(), widths.collect::<Vec<_>>())
        .header(TableRow::new(header.collect::<Vec<_>>()).style(Style::new().add_modifier(Modifier::BOLD)))
        .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED))
        .column_spacing(1)
}

/// A name that is cut off where it is too long.
fn shortened(name: &str, longest: usize) -> String {
    match name.chars().count() > longest {
        true => name
            .chars()
            .take(longest.saturating_sub(1))
            .chain(['…'])
            .collect(),
        false => name.to_owned(),
    }
}

/// What changes is green, what fails is red.
fn style(row: &Row) -> Style {
    match row.health {
        Health::Good if row.rate > 0.0 => Style::new().fg(Color::Green),
        Health::Good => Style::new(),
        Health::Starting => Style::new().add_modifier(Modifier::DIM),
        Health::Bad => Style::new().fg(Color::Red),
    }
}

fn cell(column: Column, text: String) -> Cell<'static> {
    let alignment = match column {
        Column::Kind | Column::State => Alignment::Left,
        _ => Alignment::Right,
    };
    Cell::new(Text::from(Line::from(text).alignment(alignment)))
}

/// The text of one cell.
pub(crate) fn text(column: Column, row: &Row) -> String {
    let unknown = || "-".to_owned();
    match column {
        Column::Kind => row.kind.clone(),
        Column::Objects => row.objects.to_string(),
        Column::Rate => format!("{:.1}", row.rate),
        Column::Changes => row.changes.to_string(),
        Column::Size => row.bytes.map_or_else(unknown, bytes),
        Column::Age => row.age.map_or_else(unknown, age),
        Column::Errors => row.errors.to_string(),
        Column::State => row.state.clone(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::*;

    fn shown(app: &mut App, width: u16) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(width, 11)).unwrap();
        terminal.draw(|frame| draw(frame, app)).unwrap();
        let buffer = terminal.backend().buffer();
        let lines = buffer.content().chunks(usize::from(width));
        lines
            .map(|cells| cells.iter().map(|cell| cell.symbol()).collect::<String>())
            .map(|line| line.trim_end().to_owned())
            .collect()
    }

    fn app() -> App {
        let mut app = App::new("demo".to_owned(), 3);
        let pods = Row {
            kind: "pods".to_owned(),
            objects: 19,
            rate: 4.25,
            changes: 120,
            bytes: Some(12_400),
            age: Some(Duration::from_secs(2)),
            errors: 0,
            state: "live".to_owned(),
            health: Health::Good,
            note: "live; 1 list".to_owned(),
        };
        app.set_rows(vec![Row::forbidden(), pods]);
        app
    }

    #[test]
    fn the_table_has_a_line_for_each_kind() {
        let rule = |kind: &str| format!(" {kind} {}", "─".repeat(88 - kind.len()));
        let mut app = app();
        let mut expected = [
            "demo: 2 kinds, 19 objects, ~12.4 kB, 4.2 changes/s, 1 failing, 3 more not watched".to_owned(),
            "KIND                       OBJECTS CHANGES/S▼  CHANGES    ~SIZE   AGE  ERRORS STATE".to_owned(),
            "pods                            19        4.2      120  12.4 kB    2s       0 live".to_owned(),
            "secrets                          0        0.0        0        -     -       7 forbidden"
                .to_owned(),
            String::new(),
            String::new(),
            String::new(),
            rule("pods"),
            "live; 1 list".to_owned(),
            String::new(),
            HELP.to_owned(),
        ];
        assert_eq!(shown(&mut app, 90), expected);
        app.table.select(Some(1));
        expected[4] = rule("secrets");
        expected[5] = "forbidden: grant it".to_owned();
        expected[7..9].fill(String::new());
        assert_eq!(shown(&mut app, 90), expected);
    }

    #[test]
    fn a_narrow_terminal_shows_what_fits() {
        for width in [1, 20, 60] {
            assert_eq!(shown(&mut app(), width).len(), 11);
        }
        assert_eq!(
            [shortened("abc", 3), shortened("abcd", 3), shortened("a", 0)],
            ["abc", "ab…", "…"]
        );
        let lines = shown(&mut app(), 60);
        assert_eq!(lines[2], "pods                              19        4.2 live");
    }
}
