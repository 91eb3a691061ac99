// Command client-go runs one shared informer of client-go over the ConfigMaps of a namespace and writes what it tells, for the
// differential test: a JSON line for each event, and, whenever a line comes in, a JSON line for each object in the store and one that
// ends them. It ends with its input.
//
// With -identity it campaigns for a lease instead; see campaign.go.
//
// Whether the initial state is streamed or listed is client-go's own feature gate, KUBE_FEATURE_WatchListClient.
package main

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// line is one line of output. Type is add, update, delete, store or end.
type line struct {
	Type    string `json:"type"`
	Key     string `json:"key,omitempty"`
	RV      string `json:"rv,omitempty"`
	UID     string `json:"uid,omitempty"`
	Initial bool   `json:"initial,omitempty"`
	Missed  bool   `json:"missed,omitempty"`
}

// writer writes whole lines, from any goroutine.
type writer struct {
	lock sync.Mutex
	out  *bufio.Writer
}

func (w *writer) write(lines ...line) {
	w.lock.Lock()
	defer w.lock.Unlock()
	encoder := json.NewEncoder(w.out)
	for _, line := range lines {
		if err := encoder.Encode(line); err != nil {
			fail(err)
		}
	}
	if err := w.out.Flush(); err != nil {
		fail(err)
	}
}

func of(kind string, object *corev1.ConfigMap) line {
	return line{
		Type: kind,
		Key:  object.Namespace + "/" + object.Name,
		RV:   object.ResourceVersion,
		UID:  string(object.UID),
	}
}

func (w *writer) OnAdd(object any, isInInitialList bool) {
	added := of("add", object.(*corev1.ConfigMap))
	added.Initial = isInInitialList
	w.write(added)
}

func (w *writer) OnUpdate(_, object any) {
	w.write(of("update", object.(*corev1.ConfigMap)))
}

func (w *writer) OnDelete(object any) {
	missed := false
	if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object, missed = tombstone.Obj, true
	}
	deleted := of("delete", object.(*corev1.ConfigMap))
	deleted.Missed = missed
	w.write(deleted)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "client-go:", err)
	os.Exit(1)
}

func main() {
	url := flag.String("url", "", "where the server is")
	namespace := flag.String("namespace", "", "the namespace to watch")
	identity := flag.String("identity", "", "campaign for the lease under this name, and run no informer")
	flag.Parse()

	config := &rest.Config{Host: *url, BearerToken: os.Getenv("TOKEN"), QPS: -1}
	// The fault proxy can tell an event twice only where it can tell events apart.
	config.ContentType, config.AcceptContentTypes = "application/json", "application/json"
	if authority := os.Getenv("CA_DATA"); authority != "" {
		data, err := base64.StdEncoding.DecodeString(authority)
		if err != nil {
			fail(err)
		}
		config.CAData = data
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		fail(err)
	}
	if *identity != "" {
		campaign(client, *namespace, *identity)
		return
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(*namespace))
	informer := factory.Core().V1().ConfigMaps().Informer()
	output := &writer{out: bufio.NewWriter(os.Stdout)}
	if _, err := informer.AddEventHandler(output); err != nil {
		fail(err)
	}
	stop := make(chan struct{})
	factory.Start(stop)

	questions := bufio.NewScanner(os.Stdin)
	for questions.Scan() {
		lines := []line{}
		for _, object := range informer.GetStore().List() {
			lines = append(lines, of("store", object.(*corev1.ConfigMap)))
		}
		output.write(append(lines, line{Type: "end"})...)
	}
	close(stop)
	factory.Shutdown()
}
