package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// campaign campaigns for the lease "lock" until the input ends, with the times and the output of the candidate in src/candidate.rs: a
// line for each event, with the time in microseconds and "acts", "resigned" or "lost".
func campaign(client kubernetes.Interface, namespace, identity string) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	lock := &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: namespace, Name: "lock"},
		Client:     client.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
	}
	leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
		Lock:            lock,
		LeaseDuration:   4 * time.Second,
		RenewDeadline:   3 * time.Second,
		RetryPeriod:     time.Second,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) {
				for ctx.Err() == nil {
					report("acts")
					time.Sleep(5 * time.Millisecond)
				}
			},
			OnStoppedLeading: func() {},
		},
	})
	if ctx.Err() != nil {
		report("resigned")
	} else {
		report("lost")
	}
}

func report(event string) {
	fmt.Println(time.Now().UnixMicro(), event)
}
