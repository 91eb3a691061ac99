//! A folder to run the program in, and definitions to run it on.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// A folder that is gone at the end of the test.
pub(crate) struct Folder {
    folder: TempDir,
    /// Where `--cluster` finds a cluster, if there is one.
    kubeconfig: Option<PathBuf>,
}

/// What came of one run.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) output: String,
    pub(crate) errors: String,
}

impl Folder {
    /// An empty folder.
    pub(crate) fn new() -> Self {
        Self {
            folder: TempDir::new().unwrap(),
            kubeconfig: None,
        }
    }

    /// A folder with files in it.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let folder = Self::new();
        for (path, text) in files {
            folder.write(path, text);
        }
        folder
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// From now on there is a cluster.
    #[cfg(feature = "cluster")]
    pub(crate) fn use_cluster(&mut self, kubeconfig: &str) {
        self.write("kubeconfig", kubeconfig);
        self.kubeconfig = Some(self.path("kubeconfig"));
    }

    /// Every file below the folder, with its text.
    pub(crate) fn files(&self) -> BTreeMap<String, String> {
        let mut files = BTreeMap::new();
        let mut folders = vec![self.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let name = path.strip_prefix(self.folder.path()).unwrap();
                    // A link that leads nowhere has no content.
                    let text =
                        String::from_utf8_lossy(&std::fs::read(&path).unwrap_or_default()).into_owned();
                    files.insert(name.display().to_string(), text);
                }
            }
        }
        files
    }

    /// Every folder below this one, so that an empty one that was left behind is seen.
    pub(crate) fn folders(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut folders = vec![self.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            let entries = std::fs::read_dir(&folder)
                .unwrap()
                .map(|entry| entry.unwrap().path());
            folders.extend(entries.filter(|path| path.is_dir()));
            found.push(folder);
        }
        found.sort();
        found
    }

    /// Runs `informer-gen crd` with these arguments in this folder.
    pub(crate) fn run(&self, arguments: &str) -> Ran {
        self.run_with_input(arguments, "")
    }

    pub(crate) fn run_with_input(&self, arguments: &str, input: &str) -> Ran {
        let nowhere = self.path("no-kubeconfig");
        let mut child = Command::new(env!("CARGO_BIN_EXE_informer-gen"))
            .arg("crd")
            .args(arguments.split_whitespace())
            .current_dir(self.folder.path())
            .env("KUBECONFIG", self.kubeconfig.as_deref().unwrap_or(&nowhere))
            .env("HOME", self.folder.path())
            .env_remove("KUBERNETES_SERVICE_HOST")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // The program need not read it.
        let _read = child.stdin.take().unwrap().write_all(input.as_bytes());
        let ended = child.wait_with_output().unwrap();
        Ran {
            code: ended.status.code().unwrap_or(-1),
            output: String::from_utf8(ended.stdout).unwrap(),
            errors: String::from_utf8(ended.stderr).unwrap(),
        }
    }
}

impl Ran {
    /// It succeeded, and this is part of what it said.
    #[track_caller]
    pub(crate) fn says(&self, parts: &[&str]) {
        assert_eq!((self.code, self.errors.as_str()), (0, ""), "{self:?}");
        expect_parts(&self.output, parts);
    }

    /// It failed with this code, and this is part of the error and of what was said before.
    #[track_caller]
    pub(crate) fn fails(&self, code: i32, error: &[&str], output: &[&str]) {
        assert_eq!(self.code, code, "{self:?}");
        assert!(self.errors.starts_with("error: "), "{}", self.errors);
        expect_parts(&self.errors, error);
        expect_parts(&self.output, output);
    }
}

#[track_caller]
fn expect_parts(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no `{part}` in:\n{text}");
    }
}

/// A definition of one version, with a spec of one field.
pub(crate) fn definition(group: &str, kind: &str, plural: &str) -> String {
    format!(
        "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{ name: {plural}.{group} }}
spec:
  group: {group}
  names: {{ kind: {kind}, plural: {plural} }}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              required: [size]
              properties:
                size: {{ type: integer, format: int32 }}
"
    )
}

pub(crate) fn foo() -> String {
    definition("example.com", "Foo", "foos")
}

pub(crate) fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}
