//! Replaces the features of the groups in a manifest, between two marker lines.

use informer_gen::emit::{FEATURES_BEGIN, FEATURES_END};

/// Replaces the lines from [`FEATURES_BEGIN`] to [`FEATURES_END`] by `features`, which includes both.
pub(super) fn with_features(manifest: &str, features: &str) -> Result<String, String> {
    let missing = |line: &str| format!("the line `{line}` is missing below `[features]`");
    let begin = line_start(manifest, FEATURES_BEGIN).ok_or_else(|| missing(FEATURES_BEGIN))?;
    let (before, rest) = manifest.split_at(begin);
    let end = line_start(rest, FEATURES_END).ok_or_else(|| missing(FEATURES_END))?;
    let after = rest[end + FEATURES_END.len()..].trim_start_matches('\n');
    let gap = if after.is_empty() { "" } else { "\n" };
    Ok(format!("{before}{features}{gap}{after}"))
}

/// The position of the whole line `line`.
fn line_start(text: &str, line: &str) -> Option<usize> {
    text.match_indices(line).map(|(start, _)| start).find(|&start| {
        let (before, after) = (&text[..start], &text[start + line.len()..]);
        (before.is_empty() || before.ends_with('\n')) && (after.is_empty() || after.starts_with('\n'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(features: &str) -> String {
        format!("{FEATURES_BEGIN}\n{features}{FEATURES_END}\n")
    }

    #[test]
    fn only_the_text_between_the_markers_is_replaced() {
        let old = format!(
            "[features]\ntls = []\n{}\n[dependencies]\n",
            section("old = []\n")
        );
        let new = format!(
            "[features]\ntls = []\n{}\n[dependencies]\n",
            section("new = []\n")
        );
        assert_eq!(with_features(&old, &section("new = []\n")), Ok(new.clone()));
        assert_eq!(with_features(&new, &section("new = []\n")), Ok(new));
    }

    #[test]
    fn a_missing_marker_is_an_error_that_quotes_it() {
        let error = with_features("[features]\n", &section("")).unwrap_err();
        assert!(error.contains(FEATURES_BEGIN), "{error}");
        let error = with_features(&format!("{FEATURES_BEGIN}\n"), &section("")).unwrap_err();
        assert!(error.contains(FEATURES_END), "{error}");
    }
}
