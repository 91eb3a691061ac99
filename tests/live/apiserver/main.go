//go:build tools

// Package apiserver pins the servers that the live tests run against: `cargo xtask apiserver` builds them from this module.
// It has no program of its own, only what makes Go resolve theirs.
//
// k8s.io/kubernetes is published for its own build only: its go.mod asks for v0.0.0 of each of its staging modules, so go.mod
// replaces each by its published release. A new release of Kubernetes is a new number in all of these lines, `go mod tidy`,
// and the number in ../src/binaries.rs.
package apiserver

import (
	_ "go.etcd.io/etcd/server/v3"
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kubectl"
)
