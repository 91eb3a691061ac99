//! Checks that the cache stays within the limits on objects and bytes.

use super::{Reflector, ReflectorConfig};
use crate::delta::ReplaceBuilder;
use crate::key::ObjectKey;
use crate::object::Object;
use crate::resource_version::ResourceVersion;
use crate::source::{SourceError, SourceObject};
use crate::storage::Stored;

/// What the scopes of an informer hold, except for the one that is being read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Others {
    objects: u64,
    bytes: u64,
    /// The bytes of the scope that is being read, which the new state replaces.
    replaced: u64,
}

impl<K: Object> Reflector<K> {
    /// Measures the other scopes, before the whole state of this one is read, and begins to count what is
    /// read.
    pub(super) fn begin_read(&mut self) -> Others {
        let share = self.share.as_ref();
        self.reservation = share.map(|share| share.reserve(self.queue.scope()));
        self.others()
    }

    /// Ends the count of what was read and never queued.
    pub(super) fn release(&mut self) {
        self.reservation = None;
        if let Some(share) = &self.share {
            drop(share.reserve(self.queue.scope()));
        }
    }

    /// Counts what was read until the store has it. It is queued next.
    pub(super) fn queues(&mut self, version: &ResourceVersion) {
        if let Some(reservation) = self.reservation.take() {
            reservation.until(self.queue.scope(), version);
        }
    }

    fn others(&self) -> Others {
        let Some(snapshot) = self.queue.stored() else {
            return Others::default();
        };
        let mut others = Others {
            objects: snapshot.len() as u64,
            bytes: snapshot.bytes(),
            replaced: 0,
        };
        for stored in snapshot.stored_of(self.queue.scope()) {
            others.objects -= 1;
            others.replaced += u64::from(stored.bytes());
        }
        others.bytes -= others.replaced;
        others
    }

    /// Rejects a state that is larger than configured, so that a server cannot fill the memory.
    pub(super) async fn check_state(
        &self,
        builder: &mut ReplaceBuilder<K>,
        others: Others,
    ) -> Result<(), SourceError> {
        let check = |builder: &ReplaceBuilder<K>| {
            let (objects, bytes) = (builder.seen() as u64, builder.bytes());
            check(&self.config, others.objects + objects, others.bytes + bytes)?;
            match &self.reservation {
                Some(counted) if !counted.set(bytes.saturating_sub(others.replaced)) => {
                    Err(self.total_reached())
                }
                _ => Ok(()),
            }
        };
        if check(builder).is_err() {
            // Objects that wait for their transform may be updates of earlier ones, and are not packed.
            builder.apply_pending().await;
        }
        check(builder)
    }

    /// Rejects an object of a watch if the cache would be larger than configured with it. An object that gets
    /// smaller is always accepted.
    pub(super) fn check_change(&self, object: &SourceObject<K>) -> Result<(), SourceError> {
        let Some((objects, bytes)) = self.queue.stored_size() else {
            return Ok(());
        };
        // Without a look-up where neither limit is near.
        let size = u64::from(object.bytes());
        let near = check(&self.config, objects + 1, bytes + size).and_then(|()| self.check_total(size));
        let Err(error) = near else {
            return Ok(());
        };
        let (key, snapshot) = (ObjectKey::of(object.meta()), self.queue.stored());
        let held = snapshot.as_ref().zip(key.as_ref());
        let held = held.and_then(|(snapshot, key)| snapshot.stored(key));
        match held.map(Stored::bytes) {
            Some(before) if u64::from(before) >= size => Ok(()),
            Some(before) => {
                let growth = size - u64::from(before);
                check(&self.config, objects, bytes + growth)?;
                self.check_total(growth)
            }
            None => Err(error),
        }
    }

    /// Rejects a change by which all informers of the factory together would be larger than configured.
    fn check_total(&self, growth: u64) -> Result<(), SourceError> {
        match &self.share {
            Some(share) if !share.total().has_room_for(growth) => Err(self.total_reached()),
            _ => Ok(()),
        }
    }

    fn total_reached(&self) -> SourceError {
        let limit = self.share.as_ref().map_or(0, |share| share.total().limit());
        SourceError::TotalReached { limit }
    }
}

fn check(config: &ReflectorConfig, objects: u64, bytes: u64) -> Result<(), SourceError> {
    if objects > config.max_objects as u64 {
        return Err(SourceError::LimitReached {
            limit: config.max_objects as u64,
            unit: "objects",
            setting: "max_objects",
        });
    }
    match config.max_bytes {
        Some(limit) if bytes > limit => Err(SourceError::LimitReached {
            limit,
            unit: "bytes",
            setting: "max_bytes",
        }),
        _ => Ok(()),
    }
}
