package main

import "context"

// together is how many changes arrive together.
const together = 8

// churn measures the memory of a cache after all of its objects have changed. See ../src/churn.rs.
func churn(ctx context.Context, o options) (figures, error) {
	p, err := startPods(ctx, o)
	if err != nil {
		return nil, err
	}
	synced, cpuBefore := megabytes("VmRSS"), cpu()
	for changed := together; changed <= o.updates; changed += together {
		if err := changePods(o, together); err != nil {
			return nil, err
		}
		until(&p.updated, changed)
	}
	used := cpu() - cpuBefore
	return figures{
		"synced_rss":    synced,
		"rss":           megabytes("VmRSS"),
		"cpu_per_event": used * 1e6 / float64(o.updates),
	}, nil
}
