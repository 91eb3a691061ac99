package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/labels"
)

const (
	gets             = 100_000
	lists            = 2_000
	podsPerNamespace = 200
)

// growth measures time and memory per object, and the time of reads. See ../src/growth.rs.
func growth(ctx context.Context, o options) (figures, error) {
	p, err := startPods(ctx, o)
	if err != nil {
		return nil, err
	}
	rss := megabytes("VmRSS")
	pods := p.factory.Core().V1().Pods()
	number := func(read int) int { return read * 7919 % o.objects }
	namespace := func(number int) string { return fmt.Sprintf("n-%05d", number/podsPerNamespace) }
	keys := make([]string, gets)
	for i := range keys {
		keys[i] = fmt.Sprintf("%s/checkout-39-6d4cf56db9-%07d", namespace(number(i)), number(i))
	}
	indexer := pods.Informer().GetIndexer()
	begin := time.Now()
	for _, key := range keys {
		if _, exists, err := indexer.GetByKey(key); err != nil || !exists {
			return nil, fmt.Errorf("%s is missing: %v", key, err)
		}
	}
	get := float64(time.Since(begin)) / gets
	namespaces := make([]string, lists)
	for i := range namespaces {
		namespaces[i] = namespace(number(i))
	}
	begin = time.Now()
	for _, namespace := range namespaces {
		found, err := pods.Lister().Pods(namespace).List(labels.Everything())
		if err != nil || len(found) != podsPerNamespace {
			return nil, fmt.Errorf("%d pods in %s: %v", len(found), namespace, err)
		}
	}
	list := microseconds(time.Since(begin)) / lists
	perObject := func(name string) float64 { return p.synced[name] * 1000 / float64(o.objects) }
	return figures{
		"wall_per_object": perObject("wall"),
		"cpu_per_object":  perObject("cpu"),
		"user_per_object": perObject("user"),
		"rss_per_object":  rss * 1024 / float64(o.objects),
		"get":             get,
		"list":            list,
	}, nil
}
