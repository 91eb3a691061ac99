//! The rights that a program needs, as roles to apply.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};

use informer_core::Scope;
use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule, Role};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::{Inner, SharedInformerFactory};

/// What an informer requests.
const READ: [&str; 2] = ["list", "watch"];

/// The least rights for the informers of a factory, and for the leader election of its manager.
///
/// [`Display`](fmt::Display) writes YAML for `kubectl apply -f -`: a ClusterRole for what is read in all
/// namespaces, and a Role in each namespace that is read or has a Lease. With a
/// [service account](Self::bound_to) it writes the bindings too.
///
/// ```no_run
/// # fn example(factory: informers::SharedInformerFactory) {
/// println!("{}", factory.rights().named("my-operator").bound_to("operators", "my-operator"));
/// # }
/// ```
///
/// It does not contain what the program requests by itself, such as the writes of a reconciler. Looking up
/// resources by name ([`find`](SharedInformerFactory::find)) needs no rule: every account may read the API's
/// discovery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rights {
    name: String,
    subject: Option<(String, String)>,
    /// The rules of each scope.
    rules: BTreeMap<Scope, BTreeSet<Rule>>,
}

/// One rule: verbs on one resource, or on some objects of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rule {
    group: String,
    resource: String,
    verbs: Vec<&'static str>,
    names: Vec<String>,
}

/// A Lease of a leader election.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UsedLease {
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl SharedInformerFactory {
    /// Returns the least rights for the informers that were requested so far, and for the leader election of
    /// a [`Manager`](crate::controller::Manager) of this factory: `list` and `watch` on each kind, in the
    /// namespaces of its informer. Sends no request. With the feature `rbac`, `factory.rbac()` prints the
    /// same.
    pub fn rights(&self) -> Rights {
        self.inner.rights()
    }

    pub(crate) fn uses_lease(&self, lease: UsedLease) {
        let leases = self.inner.leases.lock();
        leases
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .push(lease);
    }
}

impl Inner {
    fn rights(&self) -> Rights {
        let mut rules: BTreeMap<Scope, BTreeSet<Rule>> = BTreeMap::new();
        for (resource, scopes) in self.registry.resources() {
            for scope in scopes {
                rules.entry(scope).or_default().insert(Rule {
                    group: resource.group.clone(),
                    resource: resource.resource.clone(),
                    verbs: READ.to_vec(),
                    names: Vec::new(),
                });
            }
        }
        // A Role is not needed for what the ClusterRole grants.
        let everywhere = rules.get(&Scope::All).cloned().unwrap_or_default();
        for (scope, own) in &mut rules {
            if *scope != Scope::All {
                own.retain(|rule| !everywhere.contains(rule));
            }
        }
        let leases = self.leases.lock();
        let leases = leases.unwrap_or_else(std::sync::PoisonError::into_inner);
        for UsedLease { namespace, name } in leases.iter() {
            let rule = |verbs: &[&'static str], names: Vec<String>| Rule {
                group: "coordination.k8s.io".to_owned(),
                resource: "leases".to_owned(),
                verbs: verbs.to_vec(),
                names,
            };
            let own = rules.entry(Scope::of(Some(namespace.as_str()))).or_default();
            // The server does not know the name of an object that is being created, so that cannot be
            // limited.
            own.insert(rule(&["create"], Vec::new()));
            own.insert(rule(&["get", "update"], vec![name.clone()]));
        }
        rules.retain(|_, rules| !rules.is_empty());
        Rights {
            name: "informers".to_owned(),
            subject: None,
            rules,
        }
    }
}

impl Rights {
    /// Sets the name of the roles and bindings. Default: `informers`.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Adds bindings for a service account, by its namespace and name.
    #[must_use]
    pub fn bound_to(mut self, namespace: impl Into<String>, service_account: impl Into<String>) -> Self {
        self.subject = Some((namespace.into(), service_account.into()));
        self
    }

    /// Returns the ClusterRole; `None` if everything is limited to namespaces.
    pub fn cluster_role(&self) -> Option<ClusterRole> {
        let rules = self.rules.get(&Scope::All)?;
        Some(ClusterRole {
            metadata: self.metadata(None),
            rules: Some(policy(rules)),
            ..ClusterRole::default()
        })
    }

    /// Returns the Role of each namespace, in the order of their names.
    pub fn roles(&self) -> Vec<Role> {
        let roles = self.rules.iter().filter_map(|(scope, rules)| {
            Some(Role {
                metadata: self.metadata(Some(namespace_of(scope)?)),
                rules: Some(policy(rules)),
            })
        });
        roles.collect()
    }

    fn metadata(&self, namespace: Option<&str>) -> ObjectMeta {
        ObjectMeta {
            name: Some(self.name.clone()),
            namespace: namespace.map(str::to_owned),
            ..ObjectMeta::default()
        }
    }
}

fn namespace_of(scope: &Scope) -> Option<&str> {
    match scope {
        Scope::Namespace(namespace) => Some(namespace),
        _ => None,
    }
}

/// What rules that are merged have in common: group, verbs and names.
type Common<'r> = (&'r str, &'r [&'static str], &'r [String]);

/// Merges rules that differ in their resource only.
fn policy(rules: &BTreeSet<Rule>) -> Vec<PolicyRule> {
    let mut merged: BTreeMap<Common<'_>, Vec<String>> = BTreeMap::new();
    for rule in rules {
        let key = (rule.group.as_str(), rule.verbs.as_slice(), rule.names.as_slice());
        merged.entry(key).or_default().push(rule.resource.clone());
    }
    let policy = merged
        .into_iter()
        .map(|((group, verbs, names), resources)| PolicyRule {
            api_groups: Some(vec![group.to_owned()]),
            resources: Some(resources),
            verbs: verbs.iter().map(|&verb| verb.to_owned()).collect(),
            resource_names: (!names.is_empty()).then(|| names.to_vec()),
            ..PolicyRule::default()
        });
    policy.collect()
}

impl fmt::Display for Rights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut documents = Vec::new();
        for (scope, rules) in &self.rules {
            let kind = match namespace_of(scope) {
                None => "ClusterRole",
                Some(_) => "Role",
            };
            let head = |kind: &str| {
                let mut text = format!("apiVersion: rbac.authorization.k8s.io/v1\nkind: {kind}\nmetadata:\n");
                let _ = writeln!(text, "  name: {}", Quoted(&self.name));
                if let Some(namespace) = namespace_of(scope) {
                    let _ = writeln!(text, "  namespace: {}", Quoted(namespace));
                }
                text
            };
            let mut role = head(kind);
            role.push_str("rules:\n");
            for rule in policy(rules) {
                let lists = [
                    ("- apiGroups", rule.api_groups),
                    ("  resources", rule.resources),
                    ("  resourceNames", rule.resource_names),
                    ("  verbs", Some(rule.verbs)),
                ];
                for (field, list) in lists {
                    if let Some(list) = list {
                        let items: Vec<String> = list.iter().map(|item| Quoted(item).to_string()).collect();
                        let _ = writeln!(role, "{field}: [{}]", items.join(", "));
                    }
                }
            }
            documents.push(role);
            if let Some((namespace, account)) = &self.subject {
                let mut binding = head(&format!("{kind}Binding"));
                let _ = write!(
                    binding,
                    "roleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: {kind}\n  name: \
                     {}\nsubjects:\n- \
                     kind: ServiceAccount\n  namespace: {}\n  name: {}\n",
                    Quoted(&self.name),
                    Quoted(namespace),
                    Quoted(account)
                );
                documents.push(binding);
            }
        }
        f.write_str(&documents.join("---\n"))
    }
}

/// The accessor of the group `rbac` also prints the rights of the program: `println!("{}", factory.rbac())`.
#[cfg(feature = "rbac")]
impl fmt::Display for crate::rbac::Rbac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.v1().roles().factory().rights().fmt(f)
    }
}

/// A text in double quotes, as YAML and JSON write it: a name such as `true` or `1` stays a text.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for char in self.0.chars() {
            match char {
                '"' | '\\' => write!(f, "\\{char}")?,
                char if char.is_control() => write!(f, "\\u{:04x}", u32::from(char))?,
                char => f.write_char(char)?,
            }
        }
        f.write_char('"')
    }
}
