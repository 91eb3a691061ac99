//! Reads the output of Rust's test harness, whose structured form is not stable.

/// The number of passed tests, summed over all `test result: ok. 12 passed; ..` lines.
pub(crate) fn passed(output: &str) -> usize {
    let count = |line: &str| {
        let (_, rest) = line.split_once("test result: ok. ")?;
        rest.split_once(" passed")?.0.parse::<usize>().ok()
    };
    output.lines().filter_map(count).sum()
}

/// The names in the lines `test <name><ending>`.
pub(crate) fn with_ending(output: &str, ending: &str) -> Vec<String> {
    let name = |line: &str| Some(line.strip_prefix("test ")?.strip_suffix(ending)?.to_owned());
    output.lines().filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_results_of_several_binaries_are_added() {
        let output = "test result: ok. 2 passed; 0 failed\nx\ntest result: ok. 40 passed; 0 failed\n";
        assert_eq!(passed(output), 42);
        assert_eq!(passed("test result: FAILED. 2 passed; 1 failed"), 0);
    }

    #[test]
    fn names_are_read_from_the_lines_with_the_ending() {
        let output = "test a::b ... ok\ntest a::c ... FAILED\n";
        assert_eq!(with_ending(output, " ... FAILED"), ["a::c"]);
    }
}
