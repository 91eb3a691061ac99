//! The program `informer-gen`; the library of this package implements it.

use std::io;
use std::process::ExitCode;

fn main() -> ExitCode {
    let (mut input, mut output, mut errors) = (io::stdin(), io::stdout(), io::stderr());
    let mut console = informer_gen_cli::Console {
        input: &mut input,
        output: &mut output,
        errors: &mut errors,
    };
    informer_gen_cli::run(std::env::args_os(), &mut console).into()
}
