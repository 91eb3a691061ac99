//! A table of pods: per namespace and phase, and per node.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Pod;

use super::pod;

/// The phases in the order of their columns. The first three always have one, the others if such pods exist.
const PHASES: [&str; 6] = [
    "Running",
    "Pending",
    "Terminating",
    "Succeeded",
    "Failed",
    "Unknown",
];
const ALWAYS_SHOWN: usize = 3;
/// How many namespaces and nodes are shown.
const MOST_NAMESPACES: usize = 12;
const MOST_NODES: usize = 4;

/// Pods counted by namespace, phase and node, to be shown by [`Demo::table`](super::Demo::table).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodTable {
    heading: String,
    namespaces: BTreeMap<String, Row>,
    nodes: Vec<(String, usize)>,
}

/// The pods of each phase.
type Row = [usize; PHASES.len()];

impl PodTable {
    /// An empty table with a heading.
    pub fn new(heading: impl Into<String>) -> Self {
        Self {
            heading: heading.into(),
            ..Self::default()
        }
    }

    /// Counts a pod in the row of its namespace.
    pub fn add(&mut self, pod: &Pod) {
        let namespace = pod.metadata.namespace.clone().unwrap_or_default();
        let column = PHASES.iter().position(|phase| *phase == pod::phase(pod));
        self.namespaces.entry(namespace).or_default()[column.unwrap_or(PHASES.len() - 1)] += 1;
    }

    /// Adds a node and the number of its pods. A node without pods is not shown.
    pub fn add_node(&mut self, node: impl Into<String>, pods: usize) {
        if pods > 0 {
            self.nodes.push((node.into(), pods));
        }
    }

    /// The heading, the names of the columns, a line per namespace, their sum, and the nodes.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut total = Row::default();
        for row in self.namespaces.values() {
            for (sum, pods) in total.iter_mut().zip(row) {
                *sum += pods;
            }
        }
        let mut rows: Vec<(&str, &Row)> = self.namespaces.iter().map(|(name, row)| (&**name, row)).collect();
        let hidden = rows.len().saturating_sub(MOST_NAMESPACES);
        if hidden > 0 {
            // The sort is stable: of two with the same number, the names decide.
            rows.sort_by_key(|(_, row)| std::cmp::Reverse(row.iter().sum::<usize>()));
            rows.truncate(MOST_NAMESPACES);
        }
        let columns = (0..PHASES.len()).filter(|&column| column < ALWAYS_SHOWN || total[column] > 0);
        let columns = Vec::from_iter(columns);
        let longest = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let width = longest.max("namespace".len());
        let mut names = format!("{:width$}  {:>6}", "namespace", "pods");
        for &column in &columns {
            names += &format!("  {:>6}", PHASES[column]);
        }
        let line = |name: &str, row: &Row| {
            let mut line = format!("{name:width$}  {:>6}", row.iter().sum::<usize>());
            for &column in &columns {
                let pods = match row[column] {
                    0 => "-".to_owned(),
                    pods => pods.to_string(),
                };
                line += &format!("  {pods:>w$}", w = PHASES[column].len().max(6));
            }
            line
        };
        let mut lines = vec![self.heading.clone(), names];
        lines.extend(rows.iter().map(|(name, row)| line(name, row)));
        if hidden > 0 {
            lines.push(format!("and {hidden} more namespaces"));
        }
        lines.push(line("all", &total));
        lines.push(format!("pods per node: {}", self.nodes(total.iter().sum())));
        lines
    }

    fn nodes(&self, pods: usize) -> String {
        let mut nodes = self.nodes.clone();
        let scheduled: usize = nodes.iter().map(|(_, pods)| pods).sum();
        let hidden = nodes.len().saturating_sub(MOST_NODES);
        if hidden > 0 {
            nodes.sort_by_key(|(_, pods)| std::cmp::Reverse(*pods));
            nodes.truncate(MOST_NODES);
        }
        let mut parts: Vec<String> = nodes
            .iter()
            .map(|(node, pods)| format!("{node}: {pods}"))
            .collect();
        if hidden > 0 {
            parts.push(format!("{hidden} more nodes"));
        }
        if pods > scheduled {
            parts.push(format!("no node yet: {}", pods - scheduled));
        }
        match parts.is_empty() {
            true => "none".to_owned(),
            false => parts.join(", "),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The lines of a table of pods, each written as `namespace phase`, without its heading.
    fn lines(pods: &[&str], nodes: &[(&str, usize)]) -> Vec<String> {
        let mut table = PodTable::new("Pods");
        for text in pods {
            let (namespace, phase) = text.split_once(' ').unwrap();
            let pod = json!({ "metadata": { "namespace": namespace }, "status": { "phase": phase } });
            table.add(&serde_json::from_value(pod).unwrap());
        }
        for (node, pods) in nodes {
            table.add_node(*node, *pods);
        }
        assert_eq!(table.lines()[0], "Pods");
        table.lines().split_off(1)
    }

    #[test]
    fn pods_are_counted_per_namespace_phase_and_node() {
        let pods = ["web Running", "web Pending", "db Running", "db Running"];
        assert_eq!(
            lines(&pods, &[("n1", 2), ("n2", 1), ("n3", 0)]),
            [
                "namespace    pods  Running  Pending  Terminating",
                "db              2        2        -            -",
                "web             2        1        1            -",
                "all             4        3        1            -",
                "pods per node: n1: 2, n2: 1, no node yet: 1",
            ]
        );
    }

    #[test]
    fn an_unusual_phase_gets_its_column() {
        assert_eq!(
            lines(&["jobs Failed", "jobs Odd"], &[("n1", 2)]),
            [
                "namespace    pods  Running  Pending  Terminating  Failed  Unknown",
                "jobs            2        -        -            -       1        1",
                "all             2        -        -            -       1        1",
                "pods per node: n1: 2",
            ]
        );
    }

    #[test]
    fn an_empty_cluster_is_shown_as_such() {
        assert_eq!(
            lines(&[], &[]),
            [
                "namespace    pods  Running  Pending  Terminating",
                "all             0        -        -            -",
                "pods per node: none",
            ]
        );
    }

    #[test]
    fn many_namespaces_and_nodes_are_cut_to_the_fullest() {
        let pods: Vec<String> = (0..20)
            .flat_map(|namespace| (0..=namespace).map(move |_| format!("ns-{namespace} Running")))
            .collect();
        let pods: Vec<&str> = pods.iter().map(String::as_str).collect();
        let nodes = [
            ("n0", 10),
            ("n1", 50),
            ("n2", 20),
            ("n3", 30),
            ("n4", 40),
            ("n5", 60),
        ];
        let lines = lines(&pods, &nodes);
        assert_eq!(lines.len(), MOST_NAMESPACES + 4);
        assert!(lines[1].starts_with("ns-19 "), "{lines:#?}");
        assert_eq!(lines[MOST_NAMESPACES + 1], "and 8 more namespaces");
        assert_eq!(
            lines.last().unwrap(),
            "pods per node: n5: 60, n1: 50, n4: 40, n3: 30, 2 more nodes"
        );
    }
}
