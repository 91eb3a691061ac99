//! The ten longest files and functions, printed for the eye. There is no limit: length is a question, not a fault.

use super::tree::Tree;

const SHOWN: usize = 10;

pub(super) fn print(tree: &Tree) {
    let written = || tree.rust_files().filter(|(file, _)| !file.is_generated());
    let files = written()
        .map(|(file, _)| (file.text.lines().count(), file.path.display().to_string()))
        .collect();
    print_top("longest files", files);
    let functions = written()
        .flat_map(|(file, lexed)| lexed.functions.iter().map(move |function| (file, function)))
        .map(|(file, function)| {
            let place = format!(
                "{} at {}:{}",
                function.name,
                file.path.display(),
                function.first_line
            );
            (function.last_line - function.first_line + 1, place)
        })
        .collect();
    print_top("longest functions", functions);
}

fn print_top(title: &str, mut rows: Vec<(usize, String)>) {
    println!("{title}, in lines:");
    rows.sort_by(|one, other| other.cmp(one));
    for (lines, name) in rows.iter().take(SHOWN) {
        println!("  {lines:>5}  {name}");
    }
}
