package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync/atomic"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// format sets what the client asks for. client-go reads built-in kinds as protobuf unless told otherwise.
func format(config *rest.Config, name string) error {
	switch name {
	case "protobuf":
		config.ContentType = "application/vnd.kubernetes.protobuf"
		config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	case "json":
		config.ContentType = "application/json"
		config.AcceptContentTypes = "application/json"
	default:
		return fmt.Errorf("unknown format %q", name)
	}
	return nil
}

// initialSync reads all Pods into a cache with one handler, then counts their changes. See ../src/sync.rs.
func initialSync(ctx context.Context, o options) (figures, error) {
	config, _, err := connect()
	if err != nil {
		return nil, err
	}
	if err := format(config, o.format); err != nil {
		return nil, err
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	begin, cpuBefore := time.Now(), cpu()
	factory := informers.NewSharedInformerFactory(clients, 0)
	informer := factory.Core().V1().Pods().Informer()
	var added, updated atomic.Int64
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { added.Add(1) },
		UpdateFunc: func(_, _ any) { updated.Add(1) },
	})
	if err != nil {
		return nil, err
	}
	factory.Start(ctx.Done())
	for _, done := range factory.WaitForCacheSync(ctx.Done()) {
		if !done {
			return nil, fmt.Errorf("not synced")
		}
	}
	for added.Load() < int64(o.objects) {
		time.Sleep(time.Millisecond)
	}
	results := figures{
		"wall":     time.Since(begin).Seconds() * 1000,
		"cpu":      (cpu() - cpuBefore) * 1000,
		"peak_rss": megabytes("VmHWM"),
	}
	results["heap_per_object"] = float64(heap()) / float64(o.objects)
	if o.updates == 0 {
		return results, nil
	}
	writer := exec.Command(os.Getenv("BENCH_WRITER"), "server", "update", "--namespace", o.namespace,
		"--updates", strconv.Itoa(o.updates), "--run", strconv.Itoa(os.Getpid()))
	writer.Stderr = os.Stderr
	cpuBefore = cpu()
	if err := writer.Run(); err != nil {
		return nil, err
	}
	for updated.Load() < int64(o.updates) {
		time.Sleep(time.Millisecond)
	}
	results["cpu_per_event"] = (cpu() - cpuBefore) * 1e6 / float64(o.updates)
	return results, nil
}
