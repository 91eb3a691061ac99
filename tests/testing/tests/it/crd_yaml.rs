//! CustomResourceDefinitions from YAML.

use informer_testing::ApiServer;
use serde_json::json;

use crate::support::get;

const TWO: &str = "
# Both kinds of an operator.
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: websites.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Website, plural: websites}
  versions: [{name: v1, served: true, storage: true, subresources: {status: {}}}]
---
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: domains.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {kind: Domain, plural: domains}
  versions: [{name: v1, served: true, storage: true}]
";

fn error(yaml: &str) -> String {
    ApiServer::builder().crd_yaml(yaml).unwrap_err().to_string()
}

#[tokio::test(start_paused = true)]
async fn every_document_is_served_from_the_start() {
    let server = ApiServer::builder().crd_yaml(TWO).unwrap().start();
    for path in ["namespaces/default/websites", "domains"] {
        let list = get(&server, &format!("/apis/example.com/v1/{path}")).await;
        assert_eq!(list.code, 200, "{path}");
    }
    let domain = json!({ "apiVersion": "example.com/v1", "kind": "Domain", "metadata": { "name": "d" } });
    server.create(&domain).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_file_is_read() {
    let missing = ApiServer::builder().crd_file("no/such/file.yaml").unwrap_err();
    assert!(
        missing.to_string().starts_with("cannot read no/such/file.yaml: "),
        "{missing}"
    );
    let path = std::env::temp_dir().join(format!("informer-testing-{}.yaml", std::process::id()));
    std::fs::write(&path, TWO).unwrap();
    let server = ApiServer::builder()
        .crd_file(&path)
        .map(informer_testing::Builder::start);
    std::fs::remove_file(&path).unwrap();
    let list = get(&server.unwrap(), "/apis/example.com/v1/domains").await;
    assert_eq!(list.code, 200);
}

#[tokio::test(start_paused = true)]
async fn what_is_no_definition_is_refused() {
    assert!(
        error("a: [").starts_with("cannot read the YAML text: "),
        "{}",
        error("a: [")
    );
    assert_eq!(
        error(&format!(
            "{TWO}---\napiVersion: v1\nkind: Namespace\nmetadata: {{name: a}}\n"
        )),
        "document 3 of the YAML text has kind \"Namespace\"; only CustomResourceDefinition is accepted"
    );
    let twice = ApiServer::builder()
        .crd_yaml(TWO)
        .unwrap()
        .crd_yaml(TWO)
        .unwrap_err();
    assert_eq!(
        twice.to_string(),
        "the server refuses document 1 of the YAML text: customresourcedefinitions.apiextensions.k8s.io \
         \"websites.example.com\" already exists"
    );
}
