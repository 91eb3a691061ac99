//! Measures one row of `cargo xtask bench` and prints its figures as one line of JSON.
//!
//! `informer-bench <library> <row> [--option value ..]`. The program in `go` has the same rows and options
//! for the libraries in Go, so a change here needs the same change there.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line program")]

mod arguments;
mod churn;
mod controllers;
pub mod feed;
mod growth;
mod idle;
mod informer;
mod latency;
mod memory;
#[path = "../../custom/memory/pods.rs"]
#[allow(dead_code, reason = "the tests of memory use more of it")]
mod pods;
mod process;
mod queue;
mod relist;
mod replay;
mod server;
mod start;
mod sync;
pub mod template;
mod typical;
mod writer;

use std::error::Error;
use std::process::ExitCode;

use arguments::Arguments;

/// Errors are only printed, so one boxed type is enough.
type Result<T, E = Box<dyn Error + Send + Sync>> = std::result::Result<T, E>;

/// The figures of one run, by name.
type Figures = Vec<(&'static str, f64)>;

/// Runs the row of the command line. The programs differ in their allocators only.
pub fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    };
    match runtime.block_on(dispatch(&arguments)) {
        Ok(figures) => {
            let figures: serde_json::Map<_, _> = figures
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value.into()))
                .collect();
            if !figures.is_empty() {
                println!("{}", serde_json::Value::Object(figures));
            }
            // At once: the controllers are still running, and a runtime that ends makes kube's panic.
            std::process::exit(0)
        }
        Err(error) => {
            eprintln!("error: {error}");
            std::process::exit(1)
        }
    }
}

async fn dispatch(arguments: &[String]) -> Result<Figures> {
    let [library, row, options @ ..] = arguments else {
        return Err("usage: informer-bench <library> <row> [--option value ..]".into());
    };
    let options = Arguments::new(options)?;
    match (library.as_str(), row.as_str()) {
        ("server", "run") => server::run().await.map(|()| Figures::new()),
        ("server", "replay") => replay::run(&options).await.map(|()| Figures::new()),
        ("server", "fill") => server::fill(&options).await.map(|()| Figures::new()),
        ("server", "fill-pods") => server::fill_pods(&options).await.map(|()| Figures::new()),
        ("server", "update") => writer::update_pods(&options).await.map(|()| Figures::new()),
        ("server", "touch") => writer::touch(&options).await.map(|()| Figures::new()),
        ("server", "pod") => {
            println!("{}", template::source(options.get("pod")?));
            Ok(Figures::new())
        }
        ("informers", "updates") => informer::measure(&options).await,
        ("informers", "queue") => queue::measure(&options).await,
        ("informers", "memory") => memory::measure(&options),
        ("informers", "growth") => growth::measure(&options).await,
        (library, "sync") => sync::measure(library.parse()?, &options).await,
        (library, "churn") => churn::measure(library.parse()?, &options).await,
        (library, "relist") => relist::measure(library.parse()?, &options).await,
        (library, "idle") => idle::measure(library.parse()?, &options).await,
        (library, "latency") => latency::measure(library.parse()?, &options).await,
        (library, "start") => start::measure(library.parse()?, &options).await,
        (library, row) => Err(format!("{library} has no row \"{row}\"").into()),
    }
}

/// The value below which this part of the values is.
fn quantile(values: &mut [f64], quantile: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * quantile).round() as usize]
}
