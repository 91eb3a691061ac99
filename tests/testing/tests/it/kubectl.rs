//! An unmodified kubectl against the embedded server, over HTTP on loopback.
//!
//! `KUBECTL` is the path of the program. Default: `kubectl` on the PATH. Without kubectl the tests print that
//! they are skipped, and pass.

mod manifests;
mod program;

use informer_testing::{ApiServer, MediaTypes};
use manifests::{config_map, custom_resource, custom_resource_definition, deployment, pod};
use program::Kubectl;

/// Runs a script of kubectl calls against a new server.
async fn with_kubectl(script: fn(&Kubectl)) {
    // kubectl sends protobuf, whatever the format of this run is.
    let mut server = ApiServer::builder().media_types(MediaTypes::All).start();
    server
        .serve_http()
        .await
        .expect("a port of the loopback interface is free");
    let kubeconfig = server.kubeconfig().expect("the server listens");
    let script = move || match Kubectl::find(&kubeconfig) {
        Some(kubectl) => script(&kubectl),
        None => program::say_skipped(),
    };
    tokio::task::spawn_blocking(script)
        .await
        .expect("the script succeeds");
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deployment_is_created_scaled_and_deleted() {
    with_kubectl(|kubectl| {
        kubectl
            .apply(&deployment(2))
            .prints("deployment.apps/web created\n");
        kubectl
            .apply(&deployment(2))
            .prints("deployment.apps/web unchanged\n");
        kubectl
            .apply(&deployment(3))
            .prints("deployment.apps/web configured\n");
        kubectl
            .run("get deployment web -o jsonpath={.spec.replicas}")
            .prints("3");
        kubectl.run("get deployments").mentions(&["NAME", "web"]);
        kubectl
            .run("get deploy/web -o name")
            .prints("deployment.apps/web\n");
        kubectl.run("describe deployment web").mentions(&[
            "Name:",
            "web",
            "Namespace:",
            "nginx:1",
            "3 desired",
        ]);

        let available = r#"{"status":{"conditions":[{"type":"Available","status":"True"}]}}"#;
        kubectl
            .run_with(
                "patch deployment web --subresource=status --type=merge -p",
                &[available],
            )
            .prints("deployment.apps/web patched\n");
        kubectl
            .run("wait --for=condition=Available deployment/web --timeout=20s")
            .prints("deployment.apps/web condition met\n");
        kubectl
            .run("delete deployment web")
            .mentions(&["deployment.apps \"web\" deleted"]);
        kubectl
            .fails("get deployment web")
            .mentions(&["deployments.apps \"web\" not found"]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deployment_is_applied_on_the_server_side() {
    with_kubectl(|kubectl| {
        kubectl
            .apply(&deployment(2))
            .prints("deployment.apps/web created\n");
        kubectl
            .apply_server_side(&deployment(2), &[])
            .prints("deployment.apps/web serverside-applied\n");
        kubectl
            .apply_server_side(&deployment(3), &[])
            .prints("deployment.apps/web serverside-applied\n");
        kubectl
            .run("get deployment web -o jsonpath={.spec.replicas}")
            .prints("3");

        let refused = kubectl.fails_to_apply_server_side(&deployment(5), &["--field-manager=other"]);
        refused.mentions(&["conflict with \"kubectl\"", ".spec.replicas", "--force-conflicts"]);
        kubectl
            .run("get deployment web -o jsonpath={.spec.replicas}")
            .prints("3");
        let forced = ["--field-manager=other", "--force-conflicts"];
        kubectl
            .apply_server_side(&deployment(5), &forced)
            .prints("deployment.apps/web serverside-applied\n");
        kubectl
            .run("get deployment web -o jsonpath={.spec.replicas}")
            .prints("5");
        let owners =
            "get deployment web --show-managed-fields -o jsonpath={.metadata.managedFields[*].manager}";
        kubectl.run(owners).mentions(&["other", "kubectl"]);
        kubectl
            .run("delete deployment web")
            .mentions(&["deployment.apps \"web\" deleted"]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pod_is_watched_while_it_changes() {
    with_kubectl(|kubectl| {
        kubectl.apply(&pod("one")).prints("pod/front created\n");
        let watch = kubectl
            .start("get pods --watch --output-watch-events -o jsonpath={.type}:{.object.metadata.labels.v};");
        watch.waits_for("ADDED:one;");
        kubectl.apply(&pod("two")).prints("pod/front configured\n");
        watch.waits_for("ADDED:one;MODIFIED:two;");
        kubectl.run("get pods -o wide").mentions(&["NAME", "front"]);
        kubectl
            .run("describe pod front")
            .mentions(&["Name:", "front", "Containers:", "nginx:1"]);
        kubectl
            .run("wait --for=jsonpath={.metadata.labels.v}=two pod/front --timeout=20s")
            .prints("pod/front condition met\n");

        let deletion = kubectl.start("wait --for=delete pod/front --timeout=20s");
        kubectl
            .run("delete pod front --grace-period=0 --force")
            .mentions(&["pod \"front\" force deleted"]);
        deletion.ends_well();
        watch.waits_for("MODIFIED:two;DELETED:two;");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_config_map_keeps_fields_of_other_managers() {
    with_kubectl(|kubectl| {
        kubectl
            .apply(&config_map("1"))
            .prints("configmap/settings created\n");
        kubectl
            .run_with(
                "patch configmap settings --type=json -p",
                &[r#"[{"op":"add","path":"/data/other","value":"x"}]"#],
            )
            .prints("configmap/settings patched\n");
        kubectl
            .apply(&config_map("2"))
            .prints("configmap/settings configured\n");
        kubectl
            .run("get configmap settings -o jsonpath={.data}")
            .prints(r#"{"key":"2","other":"x"}"#);
        kubectl
            .run("describe configmap settings")
            .mentions(&["settings", "key:", "other:"]);
        kubectl
            .run("wait --for=jsonpath={.data.key}=2 configmap/settings --timeout=20s")
            .mentions(&["condition met"]);
        kubectl
            .run("delete configmap settings")
            .mentions(&["configmap \"settings\" deleted"]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_custom_resource_works_like_a_built_in_kind() {
    with_kubectl(|kubectl| {
        let name = "customresourcedefinition.apiextensions.k8s.io/widgets.example.com";
        kubectl
            .apply(custom_resource_definition())
            .prints(&format!("{name} created\n"));
        kubectl
            .run("wait --for=condition=Established crd/widgets.example.com --timeout=20s")
            .prints(&format!("{name} condition met\n"));

        kubectl
            .apply(&custom_resource(1))
            .prints("widget.example.com/round created\n");
        kubectl
            .apply(&custom_resource(2))
            .prints("widget.example.com/round configured\n");
        kubectl
            .run("get widget round -o jsonpath={.spec.size}")
            .prints("2");
        kubectl.run("get widgets").mentions(&["NAME", "round"]);
        kubectl
            .run("describe widget round")
            .mentions(&["Name:", "round", "Kind:", "Widget", "Size:"]);
        kubectl
            .apply_server_side(&custom_resource(3), &[])
            .prints("widget.example.com/round serverside-applied\n");
        kubectl
            .run("wait --for=jsonpath={.spec.size}=3 widget/round --timeout=20s")
            .prints("widget.example.com/round condition met\n");
        kubectl
            .run("delete widget round")
            .mentions(&["widget.example.com \"round\" deleted"]);
        kubectl
            .run("delete crd widgets.example.com")
            .mentions(&["\"widgets.example.com\" deleted"]);
        kubectl
            .fails("get widgets")
            .mentions(&["could not find the requested resource"]);
    })
    .await;
}

/// `kubectl create` sends protobuf, and so do `expose`, `autoscale` and `delete` with options.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objects_that_kubectl_sends_as_protobuf_are_created_and_deleted() {
    with_kubectl(|kubectl| {
        kubectl.run("create ns foo").prints("namespace/foo created\n");
        kubectl
            .fails("create ns foo")
            .mentions(&["namespaces \"foo\" already exists"]);
        kubectl.run("label ns foo a=b").prints("namespace/foo labeled\n");
        kubectl
            .run("get ns foo -o jsonpath={.metadata.labels.a}{.status.phase}")
            .prints("bActive");
        kubectl
            .run("create deployment web --image=nginx:1 --replicas=2 -n foo")
            .prints("deployment.apps/web created\n");
        let fields = "{.spec.replicas}{.spec.template.spec.containers[0].image}";
        kubectl
            .run_with("get deployment web -n foo -o", &[&format!("jsonpath={fields}")])
            .prints("2nginx:1");
        kubectl
            .run("expose deployment web --port=80 --target-port=http -n foo")
            .prints("service/web exposed\n");
        kubectl
            .run("get service web -n foo -o jsonpath={.spec.ports[0].targetPort}")
            .prints("http");
        kubectl
            .run("create secret generic s --from-literal=a=b -n foo")
            .prints("secret/s created\n");
        kubectl
            .run("get secret s -n foo -o jsonpath={.data.a}")
            .prints("Yg==");
        kubectl
            .run("delete deployment web -n foo --cascade=foreground --wait=false")
            .mentions(&["deployment.apps \"web\" deleted"]);
        kubectl
            .run("delete ns foo")
            .mentions(&["namespace \"foo\" deleted"]);
        kubectl
            .fails("get ns foo")
            .mentions(&["namespaces \"foo\" not found"]);
    })
    .await;
}
