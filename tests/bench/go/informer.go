package main

import (
	"context"
	"fmt"
	"math/rand"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

const podNamespace = "bench"

// withoutWatchList makes the reflector list, because a fake watch does not send initial events.
type withoutWatchList struct{ *cache.ListWatch }

func (withoutWatchList) IsWatchListSemanticsUnSupported() bool { return true }

// newPod returns a Pod with metadata only.
func newPod(name string, version int) corev1.Pod {
	return corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: podNamespace, Name: name, UID: "u", ResourceVersion: strconv.Itoa(version),
	}}
}

// updates sends changes of small Pods through an informer without a server. See ../src/informer.rs.
func updates(ctx context.Context, o options) (figures, error) {
	names := make([]string, o.objects)
	pods := make([]corev1.Pod, o.objects)
	for i := range pods {
		names[i] = fmt.Sprintf("pod-%07d", i)
		pods[i] = newPod(names[i], 1)
	}
	watcher := watch.NewFakeWithChanSize(o.inFlight, false)
	informer := cache.NewSharedIndexInformerWithOptions(
		withoutWatchList{&cache.ListWatch{
			ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
				return &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: pods}, nil
			},
			WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
				return watcher, nil
			},
		}},
		&corev1.Pod{},
		cache.SharedIndexInformerOptions{Indexers: cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}},
	)
	inFlight := make(chan struct{}, o.inFlight)
	for handler := range o.handlers {
		isFirst := handler == 0
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, _ any) {
			if isFirst {
				<-inFlight
			}
		}})
		if err != nil {
			return nil, err
		}
	}
	go informer.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return nil, fmt.Errorf("not synced")
	}

	stop := make(chan struct{})
	var readers sync.WaitGroup
	var reads atomic.Int64
	for range o.readers {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				count := 0
				err := cache.ListAllByNamespace(informer.GetIndexer(), podNamespace, labels.Everything(), func(any) { count++ })
				if err != nil || count != len(pods) {
					fail(fmt.Errorf("%d pods, %v", count, err))
				}
				reads.Add(1)
			}
		})
	}
	var gets []float64
	var lock sync.Mutex
	for range o.getters {
		readers.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				case <-time.After(time.Millisecond):
				}
				key := podNamespace + "/" + pods[i%len(pods)].Name
				begin := time.Now()
				_, exists, err := informer.GetIndexer().GetByKey(key)
				took := microseconds(time.Since(begin))
				lock.Lock()
				gets = append(gets, took)
				lock.Unlock()
				if err != nil || !exists {
					fail(fmt.Errorf("%s is missing: %v", key, err))
				}
			}
		})
	}

	version, writes, cpuBefore := 1, 0, cpu()
	start := time.Now()
	end := start.Add(time.Duration(o.milliseconds) * time.Millisecond)
	for time.Now().Before(end) {
		version++
		pod := newPod(names[rand.Intn(len(names))], version)
		inFlight <- struct{}{}
		watcher.Modify(&pod)
		writes++
	}
	for range o.inFlight {
		inFlight <- struct{}{}
	}
	elapsed, used := time.Since(start).Seconds(), cpu()-cpuBefore
	close(stop)
	readers.Wait()
	results := figures{
		"writes_per_second": float64(writes) / elapsed,
		"reads_per_second":  float64(reads.Load()) / elapsed,
		"cpu_per_write":     used * 1e6 / float64(writes),
		"cpu_per_call":      used * 1e6 / float64(writes*o.handlers),
	}
	if o.getters > 0 {
		results["get_median"] = quantile(gets, 0.5)
		results["get_p99"] = quantile(gets, 0.99)
	}
	return results, nil
}
