//! How revisions are formatted as resourceVersions.

/// Sets the format of resourceVersions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum VersionFormat {
    /// Decimal numbers, as every server backed by etcd prints them. The default.
    #[default]
    Numeric,
    /// Text that is not a number, as some aggregated API servers print it: versions can only be compared for
    /// equality.
    Opaque,
}

impl VersionFormat {
    pub(crate) fn print(self, revision: u64) -> String {
        match self {
            Self::Numeric => revision.to_string(),
            // Reversed digits: neither comparing the text nor its length reveals the order.
            Self::Opaque => format!("v{}x", revision.to_string().chars().rev().collect::<String>()),
        }
    }

    pub(crate) fn parse(self, version: &str) -> Option<u64> {
        match self {
            Self::Numeric => version.parse().ok(),
            Self::Opaque => {
                let digits = version.strip_prefix('v')?.strip_suffix('x')?;
                digits.chars().rev().collect::<String>().parse().ok()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_formats_are_read_back() {
        for format in [VersionFormat::Numeric, VersionFormat::Opaque] {
            assert_eq!(format.parse(&format.print(1230)), Some(1230));
        }
        assert_eq!(VersionFormat::Opaque.print(1230), "v0321x");
    }
}
