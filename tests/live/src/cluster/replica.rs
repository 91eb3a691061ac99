//! A second kube-apiserver over the etcd of a cluster, for tests in which one server lags behind the other.

use super::server::Server;
use super::{ADMIN, Cluster, ClusterError, apiserver_flags, free_ports, is_ready, uri, wait_until_ready};
use crate::binaries::Binaries;

/// A second kube-apiserver. It ends with this value, and in any case with its cluster.
pub struct Replica<'a> {
    cluster: &'a Cluster,
    server: Server,
    port: u16,
}

impl Cluster {
    /// Starts a second server, which reaches etcd through a port of this machine: etcd's own, or that of a
    /// [`TcpRelay`](crate::TcpRelay) that can hold it up. Waits until it is ready, as [`start`](Self::start)
    /// does.
    pub async fn replica(&self, etcd_port: u16) -> Result<Replica<'_>, ClusterError> {
        let binaries = match &self.options.binaries {
            Some(binaries) => binaries.clone(),
            None => Binaries::find()?,
        };
        let [port] = free_ports()?;
        let flags = apiserver_flags(&self.options, &self.access, port, etcd_port);
        let log = self.folder.join("replica.log");
        let mut replica = Replica {
            cluster: self,
            server: Server::new(binaries.kube_apiserver(), flags, log),
            port,
        };
        replica.server.start(&self.guard)?;
        let client = informer_core::client::from_config(replica.config()?).map_err(ClusterError::client)?;
        wait_until_ready(&mut replica.server, self.options.ready_within, async || {
            is_ready(&client).await
        })
        .await?;
        Ok(replica)
    }
}

impl Replica<'_> {
    /// What a client of the admin is made from.
    pub fn config(&self) -> Result<kube::Config, ClusterError> {
        self.cluster.access.config(ADMIN, &uri("https", self.port))
    }
}

impl Drop for Replica<'_> {
    fn drop(&mut self) {
        self.server.kill(&self.cluster.guard);
    }
}
