//! Copies of etcd's data, to go back to an earlier state as an administrator does after an accident.

use std::path::{Path, PathBuf};

use super::{Cluster, ClusterError};

/// A copy of etcd's data. It is in the cluster's folder, and is removed with it.
pub struct Backup(PathBuf);

impl Cluster {
    /// Stops both programs, copies etcd's data, and starts them again.
    pub async fn backup(&mut self) -> Result<Backup, ClusterError> {
        let copy = self.folder.join("etcd-backup");
        self.kill();
        copy_folder(&self.etcd_data(), &copy)?;
        self.revive().await?;
        Ok(Backup(copy))
    }

    /// Stops both programs, goes back to a copy, and starts them again on the same ports. Everything written
    /// since is lost, and its revisions will be used again, as after `etcdctl snapshot restore` without
    /// `--bump-revision`.
    pub async fn restore(&mut self, backup: &Backup) -> Result<(), ClusterError> {
        self.kill();
        let data = self.etcd_data();
        std::fs::remove_dir_all(&data)?;
        copy_folder(&backup.0, &data)?;
        self.revive().await
    }

    fn etcd_data(&self) -> PathBuf {
        self.folder.join("etcd")
    }
}

fn copy_folder(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copy_folder(&entry.path(), &target)?,
            false => drop(std::fs::copy(entry.path(), target)?),
        }
    }
    Ok(())
}
