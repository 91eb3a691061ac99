package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// objects is the number of objects that are updated in turn.
const objects = 100

// observed is the number of an update and the time at which a reconcile or a handler saw it.
type observed struct {
	number int
	start  time.Time
}

// latency measures the time from a change on the server to the start of its reconcile, or to the call of a handler.
// See ../src/latency.rs.
func latency(ctx context.Context, o options) (figures, error) {
	config, clients, err := connect()
	if err != nil {
		return nil, err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: o.namespace}}
	if _, err := clients.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	api := clients.CoreV1().ConfigMaps(o.namespace)
	for i := range objects {
		configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("object-%05d", i)}}
		if _, err = api.Create(ctx, configMap, metav1.CreateOptions{}); err != nil {
			return nil, err
		}
	}
	seen := make(chan observed, 10*objects+2*o.updates)
	observe := func(configMap *corev1.ConfigMap, start time.Time) {
		number, _ := strconv.Atoi(configMap.Data["number"])
		seen <- observed{number, start}
	}
	switch o.to {
	case "reconcile":
		err = run(ctx, config, o.namespace, 0, observe)
	case "handler":
		if err = format(config, o.format); err != nil {
			return nil, err
		}
		if clients, err = kubernetes.NewForConfig(config); err != nil {
			return nil, err
		}
		err = runHandler(ctx, clients, o.namespace, func(object any) { observe(object.(*corev1.ConfigMap), time.Now()) })
	default:
		err = fmt.Errorf("unknown end %q", o.to)
	}
	if err != nil {
		return nil, err
	}
	for range objects {
		<-seen
	}
	writer := exec.Command(os.Getenv("BENCH_WRITER"), "server", "touch", "--namespace", o.namespace,
		"--updates", strconv.Itoa(o.updates))
	writer.Stderr = os.Stderr
	output, err := writer.Output()
	if err != nil {
		return nil, err
	}
	firstSeen := map[int]int64{}
	for firstSeen[o.updates] == 0 {
		last := <-seen
		if firstSeen[last.number] == 0 {
			firstSeen[last.number] = last.start.UnixNano()
		}
	}
	var fromRequest, fromAnswer []float64
	lines := bufio.NewScanner(bytes.NewReader(output))
	for update := 1; lines.Scan(); update++ {
		var requested, answered int64
		if _, err := fmt.Sscan(lines.Text(), &requested, &answered); err != nil {
			return nil, err
		}
		if firstSeen[update] == 0 {
			return nil, fmt.Errorf("change %d was not seen", update)
		}
		fromRequest = append(fromRequest, float64(firstSeen[update]-requested)/1e3)
		fromAnswer = append(fromAnswer, float64(firstSeen[update]-answered)/1e3)
	}
	return figures{
		"from_request_median": quantile(fromRequest, 0.5),
		"from_request_p99":    quantile(fromRequest, 0.99),
		"from_answer_median":  quantile(fromAnswer, 0.5),
		"from_answer_p99":     quantile(fromAnswer, 0.99),
	}, nil
}

// runHandler runs an informer of the ConfigMaps of one namespace whose handler calls seen with every state.
func runHandler(ctx context.Context, clients kubernetes.Interface, namespace string, seen func(any)) error {
	factory := informers.NewSharedInformerFactoryWithOptions(clients, 0, informers.WithNamespace(namespace))
	_, err := factory.Core().V1().ConfigMaps().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    seen,
		UpdateFunc: func(_, object any) { seen(object) },
	})
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return nil
}

func microseconds(duration time.Duration) float64 {
	return float64(duration) / float64(time.Microsecond)
}
