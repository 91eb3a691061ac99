// Command bench measures one row of `cargo xtask bench` with a library in Go and prints its figures as one line of JSON.
//
// bench <library> <row> [--option value ..]: the rows and options of the program in Rust, ../src/main.rs.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"sort"
)

// figures are the results of one run, by name.
type figures map[string]float64

// options are those of all rows.
type options struct {
	additions, distinct, workers, keys, updates, after int
	objects, readers, getters, handlers                int
	inFlight, milliseconds, relists, informers         int
	namespace, format, to                              string
}

func main() {
	if len(os.Args) < 3 {
		fail(fmt.Errorf("usage: bench <library> <row> [--option value ..]"))
	}
	var o options
	flags := flag.NewFlagSet("bench", flag.ExitOnError)
	flags.IntVar(&o.additions, "additions", 0, "how many keys are added")
	flags.IntVar(&o.distinct, "distinct", 0, "how many of them differ")
	flags.IntVar(&o.workers, "workers", 0, "how many goroutines take keys")
	flags.IntVar(&o.keys, "keys", 0, "how many keys are queued")
	flags.IntVar(&o.updates, "updates", 0, "how many objects are updated")
	flags.IntVar(&o.after, "after", 0, "how many reconciles start before the fresh change")
	flags.IntVar(&o.objects, "objects", 0, "how many objects exist")
	flags.IntVar(&o.readers, "readers", 0, "how many goroutines read")
	flags.IntVar(&o.handlers, "handlers", 1, "how many handlers receive each event")
	flags.IntVar(&o.inFlight, "in-flight", 0, "how many events may be on their way")
	flags.IntVar(&o.milliseconds, "milliseconds", 0, "how long to measure")
	flags.IntVar(&o.getters, "getters", 0, "how many goroutines read single objects")
	flags.StringVar(&o.format, "format", "protobuf", "the wire format")
	flags.String("storage", "decoded", "of the program in Rust; client-go has one")
	flags.StringVar(&o.to, "to", "reconcile", "where the time of a change ends")
	flags.IntVar(&o.relists, "relists", 0, "how often the watch expires")
	flags.IntVar(&o.informers, "informers", 0, "how many informers run")
	flags.StringVar(&o.namespace, "namespace", "", "the namespace of the objects")
	if err := flags.Parse(os.Args[3:]); err != nil {
		fail(err)
	}
	if os.Args[2] == "encode" {
		if err := encode(); err != nil {
			fail(err)
		}
		return
	}
	results, err := measure(context.Background(), os.Args[2], o)
	if err != nil {
		fail(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(results); err != nil {
		fail(err)
	}
}

func measure(ctx context.Context, row string, o options) (figures, error) {
	switch row {
	case "queue":
		return queue(o), nil
	case "memory":
		return memory(o), nil
	case "latency":
		return latency(ctx, o)
	case "updates":
		return updates(ctx, o)
	case "sync":
		return initialSync(ctx, o)
	case "relist":
		return relist(ctx, o)
	case "churn":
		return churn(ctx, o)
	case "growth":
		return growth(ctx, o)
	case "idle":
		return idle(ctx, o)
	case "start":
		return start(ctx, o)
	}
	return nil, fmt.Errorf("unknown row %q", row)
}

func quantile(values []float64, quantile float64) float64 {
	sort.Float64s(values)
	return values[int(float64(len(values)-1)*quantile+0.5)]
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "error:", err)
	os.Exit(1)
}
