//! Projects every field of Kubernetes 1.37 whose JSON name is not camelCase of its Rust name, and compares it
//! with the full type.

use std::collections::BTreeSet;

use informer_gen::inventory::fields::unusual;
use informers::Projection;
use informers::projection::{Projection, verify};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1 as apiextensions;
use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;

/// Declares projections, and `named`, which verifies them and returns the Rust and JSON names of all their
/// fields.
macro_rules! projections {
    ($($name:ident of $($segment:ident)::+ { $($field:ident: $type:ty,)+ })+) => {
        $(
            #[derive(Projection)]
            #[projection(of = k8s_openapi::$($segment)::+)]
            #[allow(dead_code, reason = "only the names are compared")]
            struct $name {
                $($field: $type,)+
            }
        )+

        fn named() -> Vec<(&'static str, &'static str)> {
            [$(verified::<$name>()),+].concat()
        }
    };
}

fn verified<P: Projection>() -> Vec<(&'static str, &'static str)> {
    verify::<P>().unwrap();
    P::FIELDS.iter().map(|field| (field.rust, field.json)).collect()
}

#[test]
fn every_name_in_the_table_is_the_one_the_full_types_read() {
    let named = named();
    assert_eq!(named.len(), 73, "fields of Kubernetes 1.37");
    let named: BTreeSet<_> = named.into_iter().collect();
    let table: BTreeSet<_> = unusual()
        .iter()
        .map(|row| (row.field.as_str(), row.json.as_str()))
        .collect();
    assert_eq!(named, table);
}

/// The two Rust names whose JSON name is irregular in one type only.
#[derive(Projection)]
#[projection(of = core::ServicePort)]
#[allow(dead_code, reason = "only the names are compared")]
struct OfMany {
    port: i32,
}

#[test]
fn a_name_that_is_irregular_in_one_type_is_regular_in_others() {
    assert_eq!(verified::<OfMany>(), [("port", "port")]);
    assert_eq!(verified::<DaemonEndpoint>(), [("port", "Port")]);
}

projections! {
    ServerStorageVersion of api::apiserverinternal::v1alpha1::ServerStorageVersion {
        api_server_id: String,
    }
    NonResourceRule of api::authorization::v1::NonResourceRule {
        non_resource_urls: Option<Vec<String>>,
    }
    HorizontalPodAutoscalerSpec of api::autoscaling::v1::HorizontalPodAutoscalerSpec {
        target_cpu_utilization_percentage: Option<i32>,
    }
    HorizontalPodAutoscalerStatus of api::autoscaling::v1::HorizontalPodAutoscalerStatus {
        current_cpu_utilization_percentage: Option<i32>,
    }
    PodCertificateRequestSpec of api::certificates::v1::PodCertificateRequestSpec {
        node_uid: String,
        pod_uid: String,
        service_account_uid: String,
        stub_pkc_s10_request: ByteString,
    }
    PodCertificateRequestSpecV1Beta1 of api::certificates::v1beta1::PodCertificateRequestSpec {
        node_uid: String,
        pod_uid: String,
        service_account_uid: String,
        stub_pkc_s10_request: ByteString,
    }
    AWSElasticBlockStoreVolumeSource of api::core::v1::AWSElasticBlockStoreVolumeSource {
        volume_id: String,
    }
    AzureDiskVolumeSource of api::core::v1::AzureDiskVolumeSource {
        disk_uri: String,
    }
    CinderPersistentVolumeSource of api::core::v1::CinderPersistentVolumeSource {
        volume_id: String,
    }
    CinderVolumeSource of api::core::v1::CinderVolumeSource {
        volume_id: String,
    }
    ContainerPort of api::core::v1::ContainerPort {
        host_ip: Option<String>,
    }
    ContainerStateTerminated of api::core::v1::ContainerStateTerminated {
        container_id: Option<String>,
    }
    ContainerStatus of api::core::v1::ContainerStatus {
        container_id: Option<String>,
        image_id: String,
    }
    DaemonEndpoint of api::core::v1::DaemonEndpoint {
        port: i32,
    }
    FCVolumeSource of api::core::v1::FCVolumeSource {
        target_wwns: Option<Vec<String>>,
    }
    FlockerVolumeSource of api::core::v1::FlockerVolumeSource {
        dataset_uuid: Option<String>,
    }
    NodeSpec of api::core::v1::NodeSpec {
        external_id: Option<String>,
        pod_cidr: Option<String>,
        pod_cidrs: Option<Vec<String>>,
        provider_id: Option<String>,
    }
    NodeSystemInfo of api::core::v1::NodeSystemInfo {
        boot_id: String,
        machine_id: String,
        system_uuid: String,
    }
    PersistentVolumeSpec of api::core::v1::PersistentVolumeSpec {
        scale_io: Option<core::ScaleIOPersistentVolumeSource>,
    }
    PhotonPersistentDiskVolumeSource of api::core::v1::PhotonPersistentDiskVolumeSource {
        pd_id: String,
    }
    PodSpec of api::core::v1::PodSpec {
        host_ipc: Option<bool>,
        host_pid: Option<bool>,
        set_hostname_as_fqdn: Option<bool>,
    }
    PodStatus of api::core::v1::PodStatus {
        host_ip: Option<String>,
        host_ips: Option<Vec<core::HostIP>>,
        pod_ip: Option<String>,
        pod_ips: Option<Vec<core::PodIP>>,
    }
    PortworxVolumeSource of api::core::v1::PortworxVolumeSource {
        volume_id: String,
    }
    ResourceHealth of api::core::v1::ResourceHealth {
        resource_id: String,
    }
    ServiceSpec of api::core::v1::ServiceSpec {
        cluster_ip: Option<String>,
        cluster_ips: Option<Vec<String>>,
        external_ips: Option<Vec<String>>,
        load_balancer_ip: Option<String>,
    }
    SessionAffinityConfig of api::core::v1::SessionAffinityConfig {
        client_ip: Option<core::ClientIPConfig>,
    }
    Volume of api::core::v1::Volume {
        downward_api: Option<core::DownwardAPIVolumeSource>,
        scale_io: Option<core::ScaleIOVolumeSource>,
    }
    VolumeProjection of api::core::v1::VolumeProjection {
        downward_api: Option<core::DownwardAPIProjection>,
    }
    VsphereVirtualDiskVolumeSource of api::core::v1::VsphereVirtualDiskVolumeSource {
        storage_policy_id: Option<String>,
    }
    NonResourcePolicyRule of api::flowcontrol::v1::NonResourcePolicyRule {
        non_resource_urls: Vec<String>,
    }
    PolicyRule of api::rbac::v1::PolicyRule {
        non_resource_urls: Option<Vec<String>>,
    }
    AllocatedDeviceStatus of api::resource::v1::AllocatedDeviceStatus {
        share_id: Option<String>,
    }
    DeviceRequestAllocationResult of api::resource::v1::DeviceRequestAllocationResult {
        share_id: Option<String>,
    }
    AllocatedDeviceStatusV1Beta1 of api::resource::v1beta1::AllocatedDeviceStatus {
        share_id: Option<String>,
    }
    DeviceRequestAllocationResultV1Beta1 of api::resource::v1beta1::DeviceRequestAllocationResult {
        share_id: Option<String>,
    }
    AllocatedDeviceStatusV1Beta2 of api::resource::v1beta2::AllocatedDeviceStatus {
        share_id: Option<String>,
    }
    DeviceRequestAllocationResultV1Beta2 of api::resource::v1beta2::DeviceRequestAllocationResult {
        share_id: Option<String>,
    }
    CSINodeDriver of api::storage::v1::CSINodeDriver {
        node_id: String,
    }
    CustomResourceValidation of
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceValidation {
        open_api_v3_schema: Option<apiextensions::JSONSchemaProps>,
    }
    JSONSchemaProps of apiextensions_apiserver::pkg::apis::apiextensions::v1::JSONSchemaProps {
        ref_path: Option<String>,
        schema: Option<String>,
        x_kubernetes_embedded_resource: Option<bool>,
        x_kubernetes_int_or_string: Option<bool>,
        x_kubernetes_list_map_keys: Option<Vec<String>>,
        x_kubernetes_list_type: Option<String>,
        x_kubernetes_map_type: Option<String>,
        x_kubernetes_preserve_unknown_fields: Option<bool>,
        x_kubernetes_validations: Option<Vec<apiextensions::ValidationRule>>,
    }
    APIGroup of apimachinery::pkg::apis::meta::v1::APIGroup {
        server_address_by_client_cidrs: Option<Vec<meta::ServerAddressByClientCIDR>>,
    }
    APIVersions of apimachinery::pkg::apis::meta::v1::APIVersions {
        server_address_by_client_cidrs: Vec<meta::ServerAddressByClientCIDR>,
    }
    ServerAddressByClientCIDR of apimachinery::pkg::apis::meta::v1::ServerAddressByClientCIDR {
        client_cidr: String,
    }
    APIServiceSpec of kube_aggregator::pkg::apis::apiregistration::v1::APIServiceSpec {
        insecure_skip_tls_verify: Option<bool>,
    }
}
