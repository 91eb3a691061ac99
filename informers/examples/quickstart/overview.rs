//! The cache at one moment: pods per namespace and phase, and per node.

use informers::{Index, Selector, Snapshot};
use k8s_openapi::api::core::v1::Pod;

use super::shared::pod;

/// The phases in the order they are shown. The first three always have a column, the others if there are such pods.
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

/// Pods counted, all of one snapshot.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Overview {
    namespaces: Vec<Row>,
    total: Row,
    nodes: Vec<(String, usize)>,
    unscheduled: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    name: String,
    pods: usize,
    by_phase: [usize; PHASES.len()],
}

impl Row {
    fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            pods: 0,
            by_phase: [0; PHASES.len()],
        }
    }

    fn count(&mut self, phase: &str) {
        let known = PHASES.iter().position(|known| *known == phase);
        self.pods += 1;
        self.by_phase[known.unwrap_or(PHASES.len() - 1)] += 1;
    }
}

impl Overview {
    /// Counts the selected pods of a snapshot. Namespaces and the index are read at the same moment, so the sums agree.
    pub(crate) fn of(snapshot: &Snapshot<Pod>, by_node: &Index<Pod, String>, selector: &Selector) -> Self {
        let mut total = Row::new("all");
        let mut namespaces: Vec<Row> = snapshot
            .namespaces()
            .into_iter()
            .map(|namespace| {
                let mut row = Row::new(namespace);
                for (_, object) in snapshot.select_namespace(namespace, selector) {
                    row.count(pod::phase(&object));
                    total.count(pod::phase(&object));
                }
                row
            })
            .filter(|row| row.pods > 0)
            .collect();
        if namespaces.len() > MOST_NAMESPACES {
            // Too many to show: the fullest ones, which are the interesting ones.
            namespaces.sort_by(|a, b| b.pods.cmp(&a.pods).then_with(|| a.name.cmp(&b.name)));
        }
        let by_node = snapshot.index(by_node);
        let mut nodes: Vec<(String, usize)> = by_node
            .values()
            .into_iter()
            .map(|node| {
                let there = by_node.get(&node);
                let selected = there.iter().filter(|pod| selector.matches_object(&***pod));
                let pods = selected.count();
                (node, pods)
            })
            .filter(|(_, pods)| *pods > 0)
            .collect();
        let scheduled: usize = nodes.iter().map(|(_, pods)| pods).sum();
        if nodes.len() > MOST_NODES {
            nodes.sort_by(|(a_name, a), (b_name, b)| b.cmp(a).then_with(|| a_name.cmp(b_name)));
        }
        Self {
            namespaces,
            unscheduled: total.pods - scheduled,
            total,
            nodes,
        }
    }

    /// The table: a heading, a line per namespace, their sum.
    pub(crate) fn table(&self) -> Vec<String> {
        let shown = &self.namespaces[..self.namespaces.len().min(MOST_NAMESPACES)];
        let columns: Vec<usize> = (0..PHASES.len())
            .filter(|&column| column < ALWAYS_SHOWN || self.total.by_phase[column] > 0)
            .collect();
        let width = shown.iter().map(|row| row.name.len()).max().unwrap_or(0);
        let width = width.max("namespace".len());
        let mut heading = format!("{:width$}  {:>6}", "namespace", "pods");
        for &column in &columns {
            heading += &format!("  {:>w$}", PHASES[column], w = PHASES[column].len().max(6));
        }
        let line = |row: &Row| {
            let mut line = format!("{:width$}  {:>6}", row.name, row.pods);
            for &column in &columns {
                let pods = match row.by_phase[column] {
                    0 => "-".to_owned(),
                    pods => pods.to_string(),
                };
                line += &format!("  {pods:>w$}", w = PHASES[column].len().max(6));
            }
            line
        };
        let mut lines = vec![heading];
        lines.extend(shown.iter().map(line));
        if self.namespaces.len() > shown.len() {
            lines.push(format!(
                "and {} more namespaces",
                self.namespaces.len() - shown.len()
            ));
        }
        lines.push(line(&self.total));
        lines
    }

    /// One line: how many pods are on which node.
    pub(crate) fn nodes(&self) -> String {
        let mut parts: Vec<String> = self
            .nodes
            .iter()
            .take(MOST_NODES)
            .map(|(node, pods)| format!("{node}: {pods}"))
            .collect();
        if self.nodes.len() > MOST_NODES {
            parts.push(format!("{} more nodes", self.nodes.len() - MOST_NODES));
        }
        if self.unscheduled > 0 {
            parts.push(format!("no node yet: {}", self.unscheduled));
        }
        match parts.is_empty() {
            true => "none".to_owned(),
            false => parts.join(", "),
        }
    }
}

#[cfg(test)]
mod tests {
    use informers::{Lister, ObjectKey};

    use super::*;

    fn overview(pods: impl IntoIterator<Item = Pod>, selector: &str) -> Overview {
        let lister = Lister::from_objects(pods);
        let by_node = lister
            .indexer()
            .add_index("node", |pod: &Pod| pod::node(pod).map(str::to_owned))
            .unwrap();
        Overview::of(&lister.snapshot(), &by_node, &selector.parse().unwrap())
    }

    /// A pod written as `namespace/name phase node`, with its namespace for a label.
    fn pod(text: &str) -> Pod {
        let mut words = text.split_whitespace();
        let key: ObjectKey = words.next().unwrap().parse().unwrap();
        let namespace = key.namespace().unwrap();
        let mut pod = pod::make(namespace, key.name(), words.next().unwrap(), words.next());
        pod.metadata.labels = Some([("team".to_owned(), namespace.to_owned())].into());
        pod
    }

    /// What is shown of these pods.
    fn check(pods: &[&str], table: &[&str], nodes: &str) {
        let overview = overview(pods.iter().map(|text| pod(text)), "");
        assert_eq!(overview.table(), table);
        assert_eq!(overview.nodes(), nodes);
    }

    #[test]
    fn pods_are_counted_per_namespace_phase_and_node() {
        check(
            &[
                "web/a Running n1",
                "web/b Pending",
                "db/a Running n1",
                "db/b Running n2",
            ],
            &[
                "namespace    pods  Running  Pending  Terminating",
                "db              2        2        -            -",
                "web             2        1        1            -",
                "all             4        3        1            -",
            ],
            "n1: 2, n2: 1, no node yet: 1",
        );
    }

    #[test]
    fn an_unusual_phase_gets_its_column() {
        check(
            &["jobs/a Failed n1", "jobs/b Odd n1"],
            &[
                "namespace    pods  Running  Pending  Terminating  Failed  Unknown",
                "jobs            2        -        -            -       1        1",
                "all             2        -        -            -       1        1",
            ],
            "n1: 2",
        );
    }

    #[test]
    fn an_empty_cluster_is_shown_as_such() {
        check(
            &[],
            &[
                "namespace    pods  Running  Pending  Terminating",
                "all             0        -        -            -",
            ],
            "none",
        );
    }

    #[test]
    fn many_namespaces_and_nodes_are_cut_to_the_fullest() {
        let pods = (0..20).flat_map(|namespace| {
            (0..=namespace).map(move |number| pod(&format!("ns-{namespace}/p{number} Running n{number}")))
        });
        let overview = overview(pods, "");
        let table = overview.table();
        assert_eq!(table.len(), MOST_NAMESPACES + 3);
        assert!(table[1].starts_with("ns-19 "), "{table:#?}");
        assert_eq!(table[MOST_NAMESPACES + 1], "and 8 more namespaces");
        assert_eq!(overview.nodes(), "n0: 20, n1: 19, n2: 18, n3: 17, 16 more nodes");
    }

    #[test]
    fn a_selector_limits_what_is_counted() {
        let pods = ["web/a Running n1", "web/b Running n2", "db/a Running n1"].map(pod);
        let overview = overview(pods, "team in (web)");
        assert_eq!(overview.table().len(), 3);
        assert_eq!(overview.nodes(), "n1: 1, n2: 1");
    }
}
