//! The settings in a ConfigMap, and what is done with a version of them that is no good.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;

/// What the program is set to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) greeting: String,
    pub(crate) workers: u16,
    pub(crate) timeout: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            greeting: "hello".to_owned(),
            workers: 1,
            timeout: Duration::from_secs(30),
        }
    }
}

impl Settings {
    /// Reads the settings. A key that is missing has its default; one that is unknown or cannot be read is an error, since
    /// whoever wrote it meant something. The error names keys only: values may be nobody's business.
    pub(crate) fn parse(data: &BTreeMap<String, String>) -> Result<Self, String> {
        let mut settings = Self::default();
        for (key, value) in data {
            match key.as_str() {
                "greeting" => settings.greeting = value.clone(),
                "workers" => settings.workers = number(key, value, 1..=64)?,
                "timeout-seconds" => {
                    settings.timeout = Duration::from_secs(number(key, value, 1..=3600)?);
                }
                _ => return Err(format!("there is no setting {key:?}")),
            }
        }
        Ok(settings)
    }
}

/// A number within bounds.
fn number<N>(key: &str, value: &str, bounds: std::ops::RangeInclusive<N>) -> Result<N, String>
where
    N: FromStr + PartialOrd + fmt::Display,
{
    let number = value.trim().parse().ok().filter(|number| bounds.contains(number));
    number.ok_or_else(|| {
        let (first, last) = bounds.into_inner();
        format!("{key:?} is not a whole number from {first} to {last}")
    })
}

/// The last good settings, and what is wrong with what came after them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Loaded {
    pub(crate) settings: Settings,
    /// The version they are of; `None` for the defaults.
    version: Option<String>,
    problem: Option<String>,
}

impl Loaded {
    /// Takes the settings of a new version, if they are good.
    pub(crate) fn take(&mut self, map: &ConfigMap) {
        let nothing = BTreeMap::new();
        match Settings::parse(map.data.as_ref().unwrap_or(&nothing)) {
            Ok(settings) => {
                *self = Self {
                    settings,
                    version: map.metadata.resource_version.clone(),
                    problem: None,
                };
            }
            Err(problem) => self.reject(problem),
        }
    }

    /// Keeps the settings there are.
    pub(crate) fn reject(&mut self, problem: impl Into<String>) {
        self.problem = Some(problem.into());
    }
}

impl fmt::Display for Loaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Settings {
            greeting,
            workers,
            timeout,
        } = &self.settings;
        match &self.problem {
            None => f.write_str("settings")?,
            Some(problem) => write!(f, "kept, because {problem}")?,
        }
        match &self.version {
            None => f.write_str(", the defaults")?,
            Some(version) => write!(f, ", version {version}")?,
        }
        write!(f, ": {greeting:?}, {workers} workers, timeout {timeout:?}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(version: &str, data: &[(&str, &str)]) -> ConfigMap {
        let mut map = ConfigMap::default();
        map.metadata.resource_version = Some(version.to_owned());
        map.data = Some(
            data.iter()
                .map(|&(key, value)| (key.to_owned(), value.to_owned()))
                .collect(),
        );
        map
    }

    fn check(data: &[(&str, &str)], expected: Result<u16, &str>) {
        let parsed = Settings::parse(map("1", data).data.as_ref().unwrap());
        let workers = parsed.map(|settings| settings.workers);
        assert_eq!(workers, expected.map_err(str::to_owned), "{data:?}");
    }

    #[test]
    fn a_setting_that_is_wrong_is_named_without_its_value() {
        check(&[], Ok(1));
        check(&[("workers", " 8\n"), ("timeout-seconds", "5")], Ok(8));
        check(
            &[("workers", "0")],
            Err("\"workers\" is not a whole number from 1 to 64"),
        );
        check(
            &[("workers", "hunter2")],
            Err("\"workers\" is not a whole number from 1 to 64"),
        );
        check(&[("wokers", "8")], Err("there is no setting \"wokers\""));
    }

    #[test]
    fn bad_settings_leave_the_last_good_ones() {
        let mut loaded = Loaded::default();
        loaded.take(&map("7", &[("workers", "8")]));
        loaded.take(&map("8", &[("workers", "many")]));
        assert_eq!(loaded.settings.workers, 8);
        assert!(
            loaded.to_string().starts_with("kept, because \"workers\""),
            "{loaded}"
        );
        assert!(loaded.to_string().contains("version 7"), "{loaded}");
        loaded.take(&map("9", &[("workers", "9")]));
        assert_eq!(
            loaded.to_string(),
            "settings, version 9: \"hello\", 9 workers, timeout 30s"
        );
    }
}
