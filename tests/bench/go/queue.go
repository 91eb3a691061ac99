package main

import (
	"fmt"
	"runtime"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
)

func newQueue() workqueue.TypedRateLimitingInterface[types.NamespacedName] {
	return workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[types.NamespacedName]())
}

// queue adds keys from one goroutine while workers take them and mark them as done. See ../src/queue.rs.
func queue(o options) figures {
	keys := newKeys(o.distinct)
	queue := newQueue()
	var workers sync.WaitGroup
	taken := make([]int, o.workers)
	for worker := range o.workers {
		workers.Go(func() {
			count := 0
			for {
				key, shutdown := queue.Get()
				if shutdown {
					taken[worker] = count
					return
				}
				queue.Done(key)
				count++
			}
		})
	}
	start := time.Now()
	for i := range o.additions {
		queue.Add(keys[i%len(keys)])
	}
	queue.ShutDown()
	workers.Wait()
	elapsed := time.Since(start).Seconds()
	sum := 0
	for _, count := range taken {
		sum += count
	}
	return figures{
		// Each key that is taken is also marked as done.
		"operations_per_second": float64(o.additions+2*sum) / elapsed,
		"additions_per_second":  float64(o.additions) / elapsed,
		"taken":                 float64(sum),
	}
}

// memory returns the bytes of the heap per queued key, without the strings. See ../src/memory.rs.
func memory(o options) figures {
	keys := newKeys(o.keys)
	queue := newQueue()
	before := heap()
	for _, key := range keys {
		queue.Add(key)
	}
	held := heap() - before
	runtime.KeepAlive(queue)
	runtime.KeepAlive(keys)
	return figures{"bytes_per_key": float64(held) / float64(o.keys)}
}

func newKeys(count int) []types.NamespacedName {
	keys := make([]types.NamespacedName, count)
	for i := range keys {
		keys[i] = types.NamespacedName{
			Namespace: fmt.Sprintf("namespace-%d", i%10),
			Name:      fmt.Sprintf("object-%07d", i),
		}
	}
	return keys
}
