package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/kubernetes"
)

// idle measures what informers cost that have nothing to do. See ../src/idle.rs.
func idle(ctx context.Context, o options) (figures, error) {
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
	start := func(number int) error {
		return runHandler(ctx, clients, fmt.Sprintf("%s-%d", o.namespace, number), func(any) {})
	}
	if err := start(0); err != nil {
		return nil, err
	}
	const pause = 3 * time.Second
	time.Sleep(pause)
	first := megabytes("VmRSS")
	for number := 1; number < o.informers; number++ {
		if err := start(number); err != nil {
			return nil, err
		}
	}
	time.Sleep(pause)
	cpuBefore := cpu()
	time.Sleep(pause)
	used := cpu() - cpuBefore
	open, err := connections()
	if err != nil {
		return nil, err
	}
	return figures{
		"first":       first,
		"above_first": megabytes("VmRSS") - first,
		"connections": float64(open),
		"cpu":         used * 1000 / pause.Seconds(),
	}, nil
}
