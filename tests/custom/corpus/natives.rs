//! Types that generated code does not declare: each is decoded and encoded by its own implementation.

use informers::crd::{
    Condition, KeySelector, LabelSelector, LabelSelectorRequirement, LocalObjectReference, Quantity,
};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Number, Value};

/// Decodes and encodes with a type.
type Pass = fn(&Value) -> Result<Value, String>;

/// The type at a path.
pub(super) fn native(path: &str) -> Option<Pass> {
    let (module, name) = path.rsplit_once("::").unwrap_or(("", path));
    match module {
        "" | "std::string" => of_rust(name),
        "k8s_openapi::api::core::v1" => of_core(name),
        "k8s_openapi::apimachinery::pkg::apis::meta::v1" => of_meta(name),
        _ => of_others(path),
    }
}

fn of_rust(name: &str) -> Option<Pass> {
    Some(match name {
        "bool" => pass::<bool>,
        "f64" => pass::<f64>,
        "i32" => pass::<i32>,
        "i64" => pass::<i64>,
        "String" => pass::<String>,
        _ => return None,
    })
}

fn of_others(path: &str) -> Option<Pass> {
    Some(match path {
        "informers::crd::Condition" => pass::<Condition>,
        "informers::crd::KeySelector" => pass::<KeySelector>,
        "informers::crd::LabelSelector" => pass::<LabelSelector>,
        "informers::crd::LabelSelectorRequirement" => pass::<LabelSelectorRequirement>,
        "informers::crd::LocalObjectReference" => pass::<LocalObjectReference>,
        "informers::crd::Quantity" => pass::<Quantity>,
        "k8s_openapi::ByteString" => pass::<ByteString>,
        "k8s_openapi::apimachinery::pkg::util::intstr::IntOrString" => pass::<IntOrString>,
        "k8s_openapi::serde_json::Number" => pass::<Number>,
        "k8s_openapi::serde_json::Value" | "serde_json::Value" => pass::<Value>,
        _ => return None,
    })
}

fn of_meta(name: &str) -> Option<Pass> {
    Some(match name {
        "Condition" => pass::<meta::Condition>,
        "MicroTime" => pass::<meta::MicroTime>,
        "ObjectMeta" => pass::<meta::ObjectMeta>,
        "Time" => pass::<meta::Time>,
        _ => return None,
    })
}

fn of_core(name: &str) -> Option<Pass> {
    Some(match name {
        "Capabilities" => pass::<core::Capabilities>,
        "ExecAction" => pass::<core::ExecAction>,
        "FCVolumeSource" => pass::<core::FCVolumeSource>,
        "FlockerVolumeSource" => pass::<core::FlockerVolumeSource>,
        "ImageVolumeSource" => pass::<core::ImageVolumeSource>,
        "LocalObjectReference" => pass::<core::LocalObjectReference>,
        "NodeSwapStatus" => pass::<core::NodeSwapStatus>,
        "ObjectReference" => pass::<core::ObjectReference>,
        "PodDNSConfig" => pass::<core::PodDNSConfig>,
        "PodDNSConfigOption" => pass::<core::PodDNSConfigOption>,
        "SELinuxOptions" => pass::<core::SELinuxOptions>,
        "SecretReference" => pass::<core::SecretReference>,
        "Toleration" => pass::<core::Toleration>,
        "WindowsSecurityContextOptions" => pass::<core::WindowsSecurityContextOptions>,
        _ => return None,
    })
}

fn pass<T: DeserializeOwned + Serialize>(value: &Value) -> Result<Value, String> {
    let typed: T = serde_json::from_value(value.clone()).map_err(|error| error.to_string())?;
    serde_json::to_value(&typed).map_err(|error| error.to_string())
}
