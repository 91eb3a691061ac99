// Writes what the Go types of the Kubernetes API say about protobuf, for `cargo xtask codegen --protobuf`.
//
//	go run . fields          one line per type and field, for informer-gen/inventory/protobuf.txt.txt
//	go run . corpus <n>      n random objects of each kind, as JSON and protobuf, for the equality tests
package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

func main() {
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	switch {
	case len(os.Args) == 2 && os.Args[1] == "fields":
		writeFields(out, allTypes())
	case len(os.Args) == 3 && os.Args[1] == "corpus":
		count, err := strconv.Atoi(os.Args[2])
		check(err)
		writeCorpus(out, allTypes(), count)
	default:
		fmt.Fprintln(os.Stderr, "usage: fields | corpus <objects per kind>")
		os.Exit(2)
	}
}

// allTypes returns a scheme with every built-in kind. client-go registers all groups of k8s.io/api.
func allTypes() *runtime.Scheme {
	check(apiextensions.AddToScheme(scheme.Scheme))
	check(apiregistration.AddToScheme(scheme.Scheme))
	return scheme.Scheme
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
