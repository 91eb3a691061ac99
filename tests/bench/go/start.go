package main

import (
	"context"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// fresh is the name of the object that is created meanwhile.
const fresh = "fresh"

// position is the number of a reconcile and its start.
type position struct {
	number int
	start  time.Time
}

// start measures how soon a fresh change is reconciled while the initial objects are. See ../src/start.rs.
func start(ctx context.Context, o options) (figures, error) {
	config, clients, err := connect()
	if err != nil {
		return nil, err
	}
	api := clients.CoreV1().ConfigMaps(o.namespace)
	var count atomic.Int64
	seen := make(chan position, 10)
	err = run(ctx, config, o.namespace, time.Millisecond, func(configMap *corev1.ConfigMap, start time.Time) {
		number := int(count.Add(1))
		if number == o.after || configMap.Name == fresh {
			seen <- position{number, start}
		}
	})
	if err != nil {
		return nil, err
	}
	<-seen
	before, requested := int(count.Load()), time.Now()
	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fresh}}
	if _, err := api.Create(ctx, configMap, metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	last := <-seen
	if err := api.Delete(ctx, fresh, metav1.DeleteOptions{}); err != nil {
		return nil, err
	}
	return figures{
		"position":     float64(last.number - before),
		"milliseconds": float64(last.start.Sub(requested)) / float64(time.Millisecond),
	}, nil
}
