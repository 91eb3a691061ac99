//! Watches Pods with an informer. Its compile time is compared with that of `pods_with_kube.rs`.

#![expect(clippy::print_stdout, reason = "the program prints the events it receives")]

use informers::{Event, Selector, SharedInformerFactory};
use k8s_openapi::api::core::v1::Pod;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let factory = SharedInformerFactory::new(informers::client::try_default().await?);
    let pods = factory.core().v1().pods();
    pods.informer().add_handler(|event: Event<Pod>| {
        if let Event::Added { object, .. } = event {
            println!("added {:?}", object.metadata.name);
        }
    })?;
    factory.start();
    factory.wait_for_sync().await?;
    println!(
        "{} pods",
        pods.lister().pods("default").list(&Selector::everything()).len()
    );
    std::future::pending().await
}
