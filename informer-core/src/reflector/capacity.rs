//! Checks that the cache stays within the limits on objects and bytes.

use super::{Reflector, ReflectorConfig};
use crate::delta::ReplaceBuilder;
use crate::key::ObjectKey;
use crate::object::Object;
use crate::source::{SourceError, SourceObject};
use crate::storage::Stored;

/// What the scopes of an informer hold, except for the one that is being read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Others {
    objects: u64,
    bytes: u64,
}

impl<K: Object> Reflector<K> {
    /// Measures the other scopes, before the whole state of this one is read.
    pub(super) fn others(&self) -> Others {
        let Some(snapshot) = self.queue.stored() else {
            return Others::default();
        };
        let mut others = Others {
            objects: snapshot.len() as u64,
            bytes: snapshot.bytes(),
        };
        for stored in snapshot.stored_of(self.queue.scope()) {
            others.objects -= 1;
            others.bytes -= u64::from(stored.bytes());
        }
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
            check(&self.config, others.objects + objects, others.bytes + bytes)
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
        let Some(snapshot) = self.queue.stored() else {
            return Ok(());
        };
        let (objects, bytes) = (snapshot.len() as u64, snapshot.bytes());
        // Without a look-up where neither limit is near.
        let size = u64::from(object.bytes());
        let Err(error) = check(&self.config, objects + 1, bytes + size) else {
            return Ok(());
        };
        let key = ObjectKey::of(object.meta());
        match key
            .as_ref()
            .and_then(|key| snapshot.stored(key))
            .map(Stored::bytes)
        {
            Some(before) if u64::from(before) >= size => Ok(()),
            Some(before) => check(&self.config, objects, bytes - u64::from(before) + size),
            None => Err(error),
        }
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
