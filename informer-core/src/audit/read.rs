//! Reads the list of an audit, page by page, at one version.

use std::sync::Arc;

use futures::StreamExt as _;
use futures::future::BoxFuture;

use super::compare::Comparison;
use crate::object::Object;
use crate::resource_version::ResourceVersion;
use crate::source::{
    IdentityEvent, IdentityStream, ListFrom, ListMetadata, ListRequest, ListWatch, SourceError,
};
use crate::status::AuditSkipped;

/// The source, independent of its kind.
pub(crate) trait Identities: Send + Sync {
    fn page(&self, request: ListRequest) -> BoxFuture<'_, Result<IdentityStream, SourceError>>;
}

/// The source of one kind.
pub(crate) struct IdentitiesOf<K>(pub(crate) Arc<dyn ListWatch<K>>);

impl<K: Object> Identities for IdentitiesOf<K> {
    fn page(&self, request: ListRequest) -> BoxFuture<'_, Result<IdentityStream, SourceError>> {
        self.0.list_identities(request)
    }
}

/// Reads everything the server had at `version` into the comparison.
pub(super) async fn all_pages(
    list: &dyn Identities,
    version: &ResourceVersion,
    page_size: u32,
    comparison: &mut Comparison,
) -> Result<(), AuditSkipped> {
    let mut token: Option<String> = None;
    loop {
        let request = ListRequest {
            from: ListFrom::Exactly(version.clone()),
            limit: Some(page_size),
            continue_token: token.clone(),
            answer_within: None,
        };
        let metadata = one_page(list, request, comparison).await?;
        let answered = metadata
            .resource_version
            .ok_or_else(|| broken("a list has no resourceVersion"))?;
        if answered != *version {
            return Err(AuditSkipped::OtherVersion {
                requested: version.clone(),
                answered,
            });
        }
        match metadata.continue_token {
            None => return Ok(()),
            next if next == token => return Err(broken("a list repeated its continue token")),
            next => token = next,
        }
    }
}

async fn one_page(
    list: &dyn Identities,
    request: ListRequest,
    comparison: &mut Comparison,
) -> Result<ListMetadata, AuditSkipped> {
    let mut page = list.page(request).await.map_err(AuditSkipped::of)?;
    let mut metadata = None;
    while let Some(event) = page.next().await {
        match event.map_err(AuditSkipped::of)? {
            IdentityEvent::Metadata(read) => metadata = Some(read),
            IdentityEvent::Object(object) => comparison.listed(object)?,
        }
    }
    metadata.ok_or_else(|| broken("a list has no metadata"))
}

pub(super) fn broken(what: &str) -> AuditSkipped {
    AuditSkipped::Failed(SourceError::Protocol(what.to_owned()))
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use futures::FutureExt as _;
    use futures::stream;
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::super::compare::{ScopeStore as _, TypedScopeStore};
    use super::*;
    use crate::scope::Scope;
    use crate::store;

    /// Returns pages with these continue tokens, each list at version 5.
    struct Pages(Mutex<Vec<Option<&'static str>>>);

    impl Identities for Pages {
        fn page(&self, _: ListRequest) -> BoxFuture<'_, Result<IdentityStream, SourceError>> {
            let token = self
                .0
                .lock()
                .unwrap()
                .pop()
                .expect("no page after the last token");
            let metadata = ListMetadata {
                resource_version: Some(ResourceVersion::new("5")),
                continue_token: token.map(str::to_owned),
                ..ListMetadata::default()
            };
            async { Ok(stream::iter([Ok(IdentityEvent::Metadata(metadata))]).boxed()) }.boxed()
        }
    }

    fn read(mut tokens: Vec<Option<&'static str>>) -> Result<(), AuditSkipped> {
        tokens.reverse();
        let (_writer, indexer) = store::new::<ConfigMap>();
        let scope = Scope::All;
        let mut comparison = Comparison::new(TypedScopeStore { indexer, scope }.snapshot());
        let pages = Pages(Mutex::new(tokens));
        all_pages(&pages, &ResourceVersion::new("5"), 500, &mut comparison)
            .now_or_never()
            .expect("the pages are ready")
    }

    #[test]
    fn a_repeated_continue_token_ends_the_list() {
        assert!(read(vec![Some("a"), Some("b"), Some("a"), None]).is_ok());
        let error = read(vec![Some("a"), Some("b"), Some("b"), None]).unwrap_err();
        assert!(
            format!("{error:?}").contains("repeated its continue token"),
            "{error:?}"
        );
    }
}
