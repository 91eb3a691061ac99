package main

import (
	"context"
	"time"
)

// relist measures the memory that a relist of an unchanged set takes. See ../src/relist.rs.
func relist(ctx context.Context, o options) (figures, error) {
	p, err := startPods(ctx, o)
	if err != nil {
		return nil, err
	}
	time.Sleep(2 * time.Second)
	steady := megabytes("VmRSS")
	if err := forgetPeak(); err != nil {
		return nil, err
	}
	begin, cpuBefore := time.Now(), cpu()
	for i := 1; i <= o.relists; i++ {
		if err := replay("/replay/expire"); err != nil {
			return nil, err
		}
		if err := changePods(o, 1); err != nil {
			return nil, err
		}
		until(&p.updated, i)
	}
	each := float64(o.relists)
	return figures{
		"steady_rss":       steady,
		"peak_over_steady": megabytes("VmHWM") / steady,
		"wall":             time.Since(begin).Seconds() * 1000 / each,
		"cpu":              (cpu() - cpuBefore) * 1000 / each,
	}, nil
}
