package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
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

// pods is a cache of Pods with one handler, which counts.
type pods struct {
	factory        informers.SharedInformerFactory
	added, updated atomic.Int64
	// synced is what it took until the handler had received every Pod.
	synced figures
}

// startPods reads all Pods, or those of a namespace, into a cache, and returns when its handler has received them.
func startPods(ctx context.Context, o options) (*pods, error) {
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
	begin, cpuBefore, userBefore := time.Now(), cpu(), user()
	// Without a namespace: all of them.
	p := &pods{factory: informers.NewSharedInformerFactoryWithOptions(clients, 0, informers.WithNamespace(o.namespace))}
	_, err = p.factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { p.added.Add(1) },
		UpdateFunc: func(_, _ any) { p.updated.Add(1) },
	})
	if err != nil {
		return nil, err
	}
	p.factory.Start(ctx.Done())
	for _, done := range p.factory.WaitForCacheSync(ctx.Done()) {
		if !done {
			return nil, fmt.Errorf("not synced")
		}
	}
	until(&p.added, o.objects)
	p.synced = figures{
		"wall":     time.Since(begin).Seconds() * 1000,
		"cpu":      (cpu() - cpuBefore) * 1000,
		"user":     (user() - userBefore) * 1000,
		"peak_rss": megabytes("VmHWM"),
	}
	return p, nil
}

func until(count *atomic.Int64, expected int) {
	for count.Load() < int64(expected) {
		time.Sleep(time.Millisecond)
	}
}

// initialSync reads all Pods into a cache with one handler, then counts their changes. See ../src/sync.rs.
func initialSync(ctx context.Context, o options) (figures, error) {
	p, err := startPods(ctx, o)
	if err != nil {
		return nil, err
	}
	p.synced["heap_per_object"] = float64(heap()) / float64(o.objects)
	if o.updates > 0 {
		cpuBefore := cpu()
		if err := changePods(o, o.updates); err != nil {
			return nil, err
		}
		until(&p.updated, o.updates)
		p.synced["cpu_per_event"] = (cpu() - cpuBefore) * 1e6 / float64(o.updates)
	}
	return p.synced, nil
}

// changePods has Pods changed: by the replay server, if there is one, else by another process.
func changePods(o options, updates int) error {
	if os.Getenv("BENCH_REPLAY") != "" {
		return replay(fmt.Sprintf("/replay/change/%d", updates))
	}
	writer := exec.Command(os.Getenv("BENCH_WRITER"), "server", "update", "--namespace", o.namespace,
		"--updates", strconv.Itoa(updates), "--run", strconv.Itoa(os.Getpid()))
	writer.Stderr = os.Stderr
	return writer.Run()
}

// replay sends a command to the replay server.
func replay(path string) error {
	response, err := http.Get("http://" + os.Getenv("BENCH_REPLAY") + path)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the replay server refused %s", path)
	}
	return nil
}
