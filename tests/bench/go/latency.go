package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// objects is the number of objects that are updated in turn.
const objects = 100

// observed is the number of an update and the start of the reconcile that saw it.
type observed struct {
	number int
	start  time.Time
}

// latency measures the time from a change on the server to the start of its reconcile. See ../src/latency.rs.
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
	configMaps := make([]*corev1.ConfigMap, objects)
	for i := range configMaps {
		configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("object-%05d", i)}}
		if configMaps[i], err = api.Create(ctx, configMap, metav1.CreateOptions{}); err != nil {
			return nil, err
		}
	}
	seen := make(chan observed, 10*objects)
	err = run(ctx, config, o.namespace, 0, func(configMap *corev1.ConfigMap, start time.Time) {
		number, _ := strconv.Atoi(configMap.Data["number"])
		seen <- observed{number, start}
	})
	if err != nil {
		return nil, err
	}
	for range objects {
		<-seen
	}
	var fromRequest, fromAnswer []float64
	for update := 1; update <= o.updates; update++ {
		configMap := configMaps[update%objects]
		configMap.Data = map[string]string{"number": strconv.Itoa(update)}
		requested := time.Now()
		if configMaps[update%objects], err = api.Update(ctx, configMap, metav1.UpdateOptions{}); err != nil {
			return nil, err
		}
		answered := time.Now()
		last := <-seen
		for last.number != update {
			last = <-seen
		}
		fromRequest = append(fromRequest, microseconds(last.start.Sub(requested)))
		fromAnswer = append(fromAnswer, microseconds(last.start.Sub(answered)))
	}
	return figures{
		"from_request_median": quantile(fromRequest, 0.5),
		"from_request_p99":    quantile(fromRequest, 0.99),
		"from_answer_median":  quantile(fromAnswer, 0.5),
		"from_answer_p99":     quantile(fromAnswer, 0.99),
	}, nil
}

func microseconds(duration time.Duration) float64 {
	return float64(duration) / float64(time.Microsecond)
}
