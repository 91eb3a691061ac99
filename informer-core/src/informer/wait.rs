//! Waits until the cache shows a version, a write or a deletion.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::{NeverShown, SharedInformer, WaitError, WaitForError};
use crate::key::ObjectKey;
use crate::object::Object;
use crate::resource_version::ResourceVersion;
use crate::scope::Scope;
use crate::status::State;
use crate::store::{Progress, Snapshot};

impl<K: Object> SharedInformer<K> {
    /// Waits until the cache holds everything up to a version, such as the one a write returned. Afterwards
    /// no read returns an older state. Namespaces that were added and selectors that were changed before this
    /// call count.
    ///
    /// # Cost
    /// Events and bookmarks advance the version of the cache. A write that the informer receives as an event
    /// advances the version of its namespace immediately. An informer over several namespaces, or whose
    /// selectors do not match the written object, waits for the next bookmark of every other scope, which the
    /// API server sends about once a minute. [`wait_for`](Self::wait_for) needs only the object's own
    /// namespace.
    ///
    /// # Errors
    /// [`WaitError::NotComparable`] if the versions are not numbers and the cache is not exactly at that
    /// version; [`WaitError::Stopped`] if the informer stops first.
    pub async fn wait_until(&self, version: &ResourceVersion) -> Result<(), WaitError> {
        let look = |snapshot: &Snapshot<K>| match snapshot.versions().is_at_least(version) {
            Progress::Reached => Some(Ok(())),
            Progress::Unknown => Some(Err(WaitError::NotComparable {
                version: version.clone(),
            })),
            Progress::Behind if crate::mutant::is("I13") => Some(Ok(())),
            Progress::Behind => None,
        };
        let outcome = self.when(|_| true, look);
        outcome.await.unwrap_or(Err(WaitError::Stopped))
    }

    /// Waits until the cache shows every change of namespaces and selectors that was made before this call:
    /// added namespaces and new selectors are listed, removed namespaces are gone. Returns at once if nothing
    /// was changed and the informer is in sync. While the informer is paused, this waits.
    ///
    /// ```no_run
    /// # async fn example(
    /// #     informer: informer_core::SharedInformer<k8s_openapi::api::core::v1::Pod>,
    /// # ) -> Result<(), Box<dyn std::error::Error>> {
    /// informer.add_namespace("team-7")?;
    /// informer.settled().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`WaitError::Stopped`] if the informer stops first.
    pub async fn settled(&self) -> Result<(), WaitError> {
        let board = &self.shared.board;
        let look = |snapshot: &Snapshot<K>| {
            let is_listed = |(scope, version): (&Scope, Option<&ResourceVersion>)| {
                version.is_some() && board.has_scope(scope)
            };
            (self.has_synced() && snapshot.versions().iter().all(is_listed)).then_some(())
        };
        self.when(|_| true, look).await.ok_or(WaitError::Stopped)
    }

    /// Like [`wait_until`](Self::wait_until), for at most `time`.
    ///
    /// # Errors
    /// Also [`WaitError::Timeout`], which names the scopes that are behind, with the reason.
    pub async fn wait_until_within(
        &self,
        version: &ResourceVersion,
        time: Duration,
    ) -> Result<(), WaitError> {
        match tokio::time::timeout(time, self.wait_until(version)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(WaitError::Timeout {
                version: version.clone(),
                after: time,
                why: self.delay(|_, own| own.is_none_or(|own| !own.is_at_least(version))),
            }),
        }
    }

    /// Waits until the cache shows a write or a newer state: read your writes.
    ///
    /// `object` is what the server returned for the write. The wait ends when the cache has the object at
    /// that version or a later one, or when it no longer has the object because it was deleted or replaced
    /// after the write. Only the object's own namespace counts, so the wait is not longer over several
    /// namespaces. If the server's versions are not numbers, only the exact version of the write is
    /// recognised.
    ///
    /// ```no_run
    /// # async fn example(
    /// #     api: kube::Api<k8s_openapi::api::core::v1::ConfigMap>,
    /// #     informer: informer_core::SharedInformer<k8s_openapi::api::core::v1::ConfigMap>,
    /// #     wanted: k8s_openapi::api::core::v1::ConfigMap,
    /// # ) -> Result<(), Box<dyn std::error::Error>> {
    /// let written = api.create(&Default::default(), &wanted).await?;
    /// informer.wait_for(&written).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`WaitForError::NeverShown`] immediately if the informer cannot show the write: it does not cover the
    /// namespace, or its label selector does not match the written labels. (If the object matched before the
    /// write, this waits until it has left the cache.) Field selectors are not evaluated here: for an object
    /// they exclude, this waits until a later event or bookmark of its namespace arrives.
    /// [`WaitForError::Stopped`] if the informer stops first.
    pub async fn wait_for(&self, object: &impl Object) -> Result<(), WaitForError> {
        self.wait_for_write(object.meta()).await
    }

    pub(super) async fn wait_for_write(&self, written: &ObjectMeta) -> Result<(), WaitForError> {
        let write = Write::of(written)?;
        self.check_namespace(&write.key)?;
        let selector = self.shared.scopes.selector();
        let is_selected = match &written.labels {
            Some(labels) => selector.matches(labels),
            None => selector.matches(&BTreeMap::new()),
        };
        let look = |snapshot: &Snapshot<K>| match write.shown_by(snapshot) {
            Shown::Yes => Some(Ok(())),
            Shown::Never(reason) => Some(Err(reason)),
            Shown::NotYet if !is_selected && !snapshot.contains(&write.key) => {
                Some(Err(NeverShown::LabelSelector(selector.to_string())))
            }
            Shown::NotYet => None,
        };
        let outcome = self.when(|scope| scope.contains(&write.key), look);
        match outcome.await {
            Some(outcome) => outcome.map_err(|reason| WaitForError::NeverShown {
                key: write.key.clone(),
                reason,
            }),
            None => Err(WaitForError::Stopped { key: write.key }),
        }
    }

    /// Like [`wait_for`](Self::wait_for), for at most `time`.
    ///
    /// # Errors
    /// Also [`WaitForError::Timeout`], with the reason.
    pub async fn wait_for_within(&self, object: &impl Object, time: Duration) -> Result<(), WaitForError> {
        self.wait_for_write_within(object.meta(), time).await
    }

    pub(crate) async fn wait_for_write_within(
        &self,
        written: &ObjectMeta,
        time: Duration,
    ) -> Result<(), WaitForError> {
        let Write { key, .. } = Write::of(written)?;
        self.limited(key, time, self.wait_for_write(written)).await
    }

    /// Waits until the cache no longer shows an object: it was deleted, or replaced by another of the same
    /// name.
    ///
    /// It waits for the first list, because before that every object is absent. It cannot know about a
    /// creation that the cache has not received yet: after creating and deleting an object, [wait for the
    /// write](Self::wait_for) first.
    ///
    /// # Errors
    /// [`WaitForError::NeverShown`] immediately if the informer does not cover the namespace;
    /// [`WaitForError::Stopped`] if the informer stops first.
    pub async fn wait_for_deletion(&self, key: &ObjectKey, uid: &str) -> Result<(), WaitForError> {
        self.check_namespace(key)?;
        let look = |snapshot: &Snapshot<K>| {
            snapshot.versions().of_key(key)?;
            let is_shown = snapshot
                .get(key)
                .is_some_and(|object| object.meta().uid.as_deref().is_none_or(|own| own == uid));
            (!is_shown).then_some(())
        };
        self.when(|scope| scope.contains(key), look)
            .await
            .ok_or_else(|| WaitForError::Stopped { key: key.clone() })
    }

    /// Like [`wait_for_deletion`](Self::wait_for_deletion), for at most `time`.
    ///
    /// # Errors
    /// Also [`WaitForError::Timeout`], with the reason.
    pub async fn wait_for_deletion_within(
        &self,
        key: &ObjectKey,
        uid: &str,
        time: Duration,
    ) -> Result<(), WaitForError> {
        self.limited(key.clone(), time, self.wait_for_deletion(key, uid))
            .await
    }

    async fn limited(
        &self,
        key: ObjectKey,
        time: Duration,
        wait: impl Future<Output = Result<(), WaitForError>>,
    ) -> Result<(), WaitForError> {
        match tokio::time::timeout(time, wait).await {
            Ok(outcome) => outcome,
            Err(_) => Err(WaitForError::Timeout {
                why: self.delay(|scope, _| scope.contains(&key)),
                key,
                after: time,
            }),
        }
    }

    fn check_namespace(&self, key: &ObjectKey) -> Result<(), WaitForError> {
        match self.shared.board.covers(key) {
            true => Ok(()),
            false => Err(WaitForError::NeverShown {
                key: key.clone(),
                reason: NeverShown::Namespace,
            }),
        }
    }

    /// Calls `look` with the newest snapshot after every commit, until it returns a value; `None` if the
    /// informer stops first. Not before the changes of the scopes that `counts` selects were committed.
    async fn when<T>(
        &self,
        counts: impl Fn(&Scope) -> bool,
        look: impl Fn(&Snapshot<K>) -> Option<T>,
    ) -> Option<T> {
        let look = || {
            // Before the snapshot is taken, so that it has what is settled.
            let is_settled = self.shared.board.is_settled(&counts);
            let snapshot = self.shared.indexer.peek();
            is_settled.then(|| look(&snapshot)).flatten()
        };
        loop {
            let mut committed = pin!(self.shared.commits.notified());
            // Before the look, so that no commit after it is missed.
            committed.as_mut().enable();
            if let Some(answer) = look() {
                return Some(answer);
            }
            tokio::select! {
                biased;
                () = committed => {}
                // The last commit may contain it.
                () = self.shared.ended() => return look(),
            }
        }
    }

    /// Describes why the cache is behind in the scopes that `is_late` selects.
    fn delay(&self, is_late: impl Fn(&Scope, Option<&ResourceVersion>) -> bool) -> String {
        let versions = self.shared.indexer.versions();
        let late: Vec<String> = self
            .shared
            .board
            .scopes()
            .iter()
            .filter(|status| is_late(&status.scope, versions.get(&status.scope)))
            .map(|status| {
                let at = match versions.get(&status.scope) {
                    Some(version) => format!("at version {version}"),
                    None => "not listed yet".to_owned(),
                };
                let why = match &status.state {
                    State::Live => {
                        "no request failed, and no later event or bookmark has arrived; the server \
                         sends bookmarks about once a minute"
                            .to_owned()
                    }
                    state => state.to_string(),
                };
                format!("{} is {at}: {why}", status.scope)
            })
            .take(10)
            .collect();
        match late.is_empty() {
            true => "the write was not received".to_owned(),
            false => late.join("; "),
        }
    }
}

/// A write, by what identifies it in the cache.
///
/// The UID is not needed: versions grow across a deletion and a new object of the same name, so an object
/// with another UID is later if its version is later, and earlier if not.
struct Write {
    key: ObjectKey,
    version: ResourceVersion,
}

/// Whether a snapshot shows a write.
#[derive(Debug, PartialEq, Eq)]
enum Shown {
    Yes,
    NotYet,
    Never(NeverShown),
}

impl Write {
    fn of(meta: &ObjectMeta) -> Result<Self, WaitForError> {
        let key = ObjectKey::of(meta).ok_or(WaitForError::NotWritten)?;
        let version = ResourceVersion::of(meta).ok_or(WaitForError::NotWritten)?;
        Ok(Self { key, version })
    }

    fn shown_by<K: Object>(&self, snapshot: &Snapshot<K>) -> Shown {
        let is_reached =
            |own: Option<&ResourceVersion>| own.is_some_and(|own| own.is_at_least(&self.version));
        let scope = is_reached(snapshot.versions().of_key(&self.key));
        let Some(object) = snapshot.stored(&self.key) else {
            // It was deleted, or no longer matches the selector.
            return match scope {
                true => Shown::Yes,
                false => Shown::NotYet,
            };
        };
        let own = object.version();
        if is_reached(own.as_ref()) || (own.is_none() && scope) {
            return Shown::Yes;
        }
        match snapshot.stale().get(&self.key) {
            Some(reason) if scope => Shown::Never(NeverShown::Unusable(reason.to_owned())),
            _ => Shown::NotYet,
        }
    }
}

#[cfg(all(test, not(feature = "__model")))]
mod tests {
    use std::sync::Arc;

    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;
    use crate::scope::Scope;
    use crate::store;

    /// Checks what a store at version 9 shows of a write of `web/a` at version 7.
    fn check(stored: Option<Option<&str>>, stale: Option<&str>, expected: &Shown) {
        let key: ObjectKey = ObjectKey::namespaced("web", "a");
        let (mut writer, indexer) = store::new();
        let mut commit = writer.begin();
        if let Some(version) = stored {
            let mut object = ConfigMap::default();
            object.metadata.resource_version = version.map(str::to_owned);
            commit.upsert(key.clone(), Arc::new(object));
        }
        if let Some(reason) = stale {
            commit.mark_stale(&key, reason);
        }
        commit.set_version(&Scope::All, ResourceVersion::new("9"));
        commit.publish();
        let write = Write {
            key,
            version: ResourceVersion::new("7"),
        };
        let shown = write.shown_by(&indexer.snapshot());
        assert_eq!(shown, *expected, "{stored:?}, stale: {stale:?}");
    }

    #[test]
    fn a_write_is_shown_by_its_object_and_by_its_scope_only_where_that_says_enough() {
        check(Some(Some("7")), None, &Shown::Yes);
        check(Some(Some("8")), None, &Shown::Yes);
        // Deleted since, or not selected.
        check(None, None, &Shown::Yes);
        // Without a version of its own the object is as new as its scope.
        check(Some(None), None, &Shown::Yes);
        // The scope has moved on, and the object is of before the write.
        check(Some(Some("6")), None, &Shown::NotYet);
        let unusable = Shown::Never(NeverShown::Unusable("no number".to_owned()));
        check(Some(Some("6")), Some("no number"), &unusable);
    }

    #[test]
    fn a_stale_object_may_still_change_while_its_scope_is_behind_the_write() {
        let key: ObjectKey = "web/a".parse().unwrap();
        let (mut writer, indexer) = store::new();
        let mut commit = writer.begin();
        let mut object = ConfigMap::default();
        object.metadata.resource_version = Some("4".to_owned());
        commit.upsert(key.clone(), Arc::new(object));
        commit.mark_stale(&key, "no number");
        commit.set_version(&Scope::All, ResourceVersion::new("5"));
        commit.publish();
        let write = Write {
            key,
            version: ResourceVersion::new("7"),
        };
        assert_eq!(write.shown_by(&indexer.snapshot()), Shown::NotYet);
    }
}
