//! What the embedded server answers otherwise on purpose, and why. Everything else must be equal.

/// One difference that is expected.
pub(super) struct Known {
    /// The name of the request.
    pub(super) step: &'static str,
    /// Where in the answer, as the beginning of a JSON pointer.
    pub(super) at: &'static str,
    /// Why the embedded server differs.
    #[expect(dead_code, reason = "for readers of the table")]
    pub(super) why: &'static str,
}

pub(super) const DIFFERENCES: &[Known] = &[
    Known {
        step: "create from broken JSON",
        at: "/body/message",
        why: "a text of Go's decoder",
    },
    Known {
        step: "create from an array",
        at: "/body/message",
        why: "a text of Go's decoder",
    },
    Known {
        step: "create from nothing",
        at: "/body/message",
        why: "a text of Go's decoder",
    },
    Known {
        step: "delete from broken JSON",
        at: "/body/message",
        why: "a text of Go's decoder",
    },
    Known {
        step: "page with a broken token",
        at: "/body/message",
        why: "a text of Go's decoder",
    },
    Known {
        step: "json: an object",
        at: "/body/message",
        why: "a text of Go's decoder",
    },
    Known {
        step: "merge: an array",
        at: "/body/message",
        why: "a text of Go's decoder",
    },
    Known {
        step: "strategic: an array",
        at: "/body/message",
        why: "a text of Go's decoder",
    },
    Known {
        step: "create another version",
        at: "/body/message",
        why: "a text of Go's decoder",
    },
    Known {
        step: "create from another format",
        at: "/body/message",
        why: "the message lists the formats, and YAML is not one of them here",
    },
    Known {
        step: "read an unknown form",
        at: "/body/message",
        why: "the message lists the formats, and YAML is not one of them here",
    },
    Known {
        step: "read a table",
        at: "/body",
        why: "all tables have two columns: name and age",
    },
    Known {
        step: "list a table",
        at: "/body",
        why: "all tables have two columns: name and age",
    },
    Known {
        step: "list a table without objects",
        at: "/body",
        why: "all tables have two columns: name and age",
    },
    Known {
        step: "watch a table",
        at: "/body",
        why: "all tables have two columns: name and age",
    },
    Known {
        step: "create a pod",
        at: "/body",
        why: "the defaults of pods are not filled in",
    },
    Known {
        step: "delete a pod",
        at: "/body",
        why: "there is no kubelet: pods are deleted at once, without a grace period",
    },
    Known {
        step: "merge: wrong type of a field",
        at: "/",
        why: "built-in kinds are not decoded into types, so a value of another type is stored",
    },
    Known {
        step: "merge: another kind",
        at: "/",
        why: "built-in kinds are not decoded into types, so a value of another type is stored",
    },
    Known {
        step: "apply: an unknown field",
        at: "/",
        why: "built-in kinds are not decoded into types, so an unknown field is stored",
    },
    Known {
        step: "create a widget without a field that has a default",
        at: "/body",
        why: "the defaults of a schema are not filled in",
    },
    Known {
        step: "define",
        at: "/body/status",
        why: "names are accepted at once; the real server does so a moment later",
    },
    Known {
        step: "delete the definition",
        at: "/body",
        why: "a definition is deleted at once, without its finalizer",
    },
];
