//! Counts the uses of informers, and releases those that nobody uses any more.

use std::any::TypeId;

use kube::core::GroupVersionResource;

use super::{NamespacesOf, OptionsOf, Registered, Registry, Stage};
use crate::informer::{DynInformer, SharedInformer};
use crate::object::{Content, Object};

/// What became of an informer that was released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Released {
    /// It stops, and was forgotten.
    Stopped,
    /// It goes on: this many leases of it exist.
    Leased(usize),
    /// It goes on: it was built with options of its own, which another one would not have.
    HasOptions,
    /// There was none.
    None,
}

/// Who uses an informer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Uses {
    /// How many leases exist.
    pub(super) leases: usize,
    pub(super) others: Others,
}

/// Whether an informer was also requested without a lease.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Others {
    #[default]
    None,
    Unknown,
}

impl Registry {
    /// Like [`get_or_make`](Self::get_or_make), and counts a use of the informer, which
    /// [`end_lease`](Self::end_lease) ends.
    ///
    /// # Errors
    /// The errors of `make`.
    pub fn lease_or_make<K: Object, E>(
        &self,
        resource: &GroupVersionResource,
        make: impl FnOnce() -> Result<SharedInformer<K>, E>,
    ) -> Result<SharedInformer<K>, E> {
        let mut contents = self.inner.contents.lock();
        let is_it = is_entry::<K>(resource);
        let informer = match contents.take(&is_it) {
            Some(present) => present.typed().expect("entries are found by their type"),
            None => contents.make(resource, make)?,
        };
        if let Some(entry) = contents.entries.iter_mut().find(|entry| is_it(entry)) {
            entry.uses.leases += 1;
        }
        drop(contents);
        self.inner.announce();
        Ok(informer)
    }

    /// Ends a use. The last one stops the informer, unless it was also requested without a lease or has
    /// options of its own.
    pub fn end_lease<K: Object>(&self, resource: &GroupVersionResource, informer: &SharedInformer<K>) {
        let mut contents = self.inner.contents.lock();
        let is_it = is_entry::<K>(resource);
        // Another informer may have taken its place.
        let position = contents.entries.iter().position(|entry| {
            is_it(entry)
                && entry
                    .informer
                    .typed::<K>()
                    .is_some_and(|present| present.is_same(informer))
        });
        let Some(position) = position else {
            return;
        };
        let uses = &mut contents.entries[position].uses;
        uses.leases = uses.leases.saturating_sub(1);
        if *uses == Uses::default() && contents.entries[position].options == OptionsOf::Registry {
            let entry = contents.entries.remove(position);
            drop(contents);
            self.forget(&entry);
        }
    }

    /// Stops an informer and forgets it, unless leases of it exist or it has options of its own.
    pub fn release<K: Object>(&self, resource: &GroupVersionResource) -> Released {
        let mut contents = self.inner.contents.lock();
        let is_it = is_entry::<K>(resource);
        let Some(position) = contents.entries.iter().position(is_it) else {
            return Released::None;
        };
        match contents.entries[position].uses.leases {
            0 if contents.entries[position].options == OptionsOf::Informer => Released::HasOptions,
            0 => {
                let entry = contents.entries.remove(position);
                drop(contents);
                self.forget(&entry);
                Released::Stopped
            }
            leases => {
                contents.entries[position].uses.others = Others::None;
                Released::Leased(leases)
            }
        }
    }

    fn forget(&self, entry: &Registered) {
        entry.informer.stop();
        self.inner.announce();
    }

    /// Registers an informer that no request returns. It is started, awaited and stopped with the others.
    pub fn adopt<K: Object>(&self, resource: GroupVersionResource, informer: SharedInformer<K>) {
        /// No informer has objects of this type.
        enum Adopted {}
        let mut entry = Registered::new(resource, &informer, Stage::Created);
        entry.kind = TypeId::of::<Adopted>();
        entry.content = Content::Metadata;
        entry.namespaces = NamespacesOf::Informer;
        self.inner.contents.lock().add(entry);
    }

    /// Every informer that covers the namespaces of the registry, also those that were prepared and not
    /// requested yet.
    pub fn following(&self) -> Vec<DynInformer> {
        let contents = self.inner.contents.lock();
        contents
            .entries
            .iter()
            .filter(|entry| entry.namespaces == NamespacesOf::Registry)
            .map(|entry| entry.informer.clone())
            .collect()
    }
}

fn is_entry<K: Object>(resource: &GroupVersionResource) -> impl Fn(&Registered) -> bool {
    move |entry| entry.kind == TypeId::of::<K>() && entry.resource == *resource
}
