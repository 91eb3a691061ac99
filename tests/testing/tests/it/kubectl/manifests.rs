//! The manifests that the scripts apply.

pub(crate) fn deployment(replicas: u32) -> String {
    format!(
        "apiVersion: apps/v1
kind: Deployment
metadata: {{name: web, labels: {{app: web}}}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec:
      containers:
      - name: main
        image: nginx:1
        ports: [{{containerPort: 80, protocol: TCP}}]
"
    )
}

pub(crate) fn pod(version: &str) -> String {
    format!(
        "apiVersion: v1
kind: Pod
metadata: {{name: front, labels: {{v: {version}}}}}
spec: {{containers: [{{name: main, image: nginx:1}}]}}
"
    )
}

pub(crate) fn config_map(value: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: settings}}\ndata: {{key: \"{value}\"}}\n")
}

pub(crate) fn custom_resource_definition() -> &'static str {
    "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer}}}
"
}

pub(crate) fn custom_resource(size: u32) -> String {
    format!("apiVersion: example.com/v1\nkind: Widget\nmetadata: {{name: round}}\nspec: {{size: {size}}}\n")
}
