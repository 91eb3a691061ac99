package main

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// connect returns the configuration of $KUBECONFIG without the client-side limit of requests, and a client to write with.
func connect() (*rest.Config, kubernetes.Interface, error) {
	config, err := clientcmd.NewDefaultClientConfigLoadingRules().Load()
	if err != nil {
		return nil, nil, err
	}
	rested, err := clientcmd.NewDefaultClientConfig(*config, nil).ClientConfig()
	if err != nil {
		return nil, nil, err
	}
	rested.QPS = -1
	clients, err := kubernetes.NewForConfig(rested)
	return rested, clients, err
}

// run runs a controller of ConfigMaps with one worker until the context ends. A reconcile reads the object from the cache, calls
// started with it and the time at which the reconcile began, and sleeps for the given time.
func run(ctx context.Context, config *rest.Config, namespace string, work time.Duration, started func(*corev1.ConfigMap, time.Time)) error {
	ctrl.SetLogger(logr.Discard())
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Cache:   cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		Metrics: server.Options{BindAddress: "0"},
	})
	if err != nil {
		return err
	}
	reader := manager.GetClient()
	reconcile := func(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
		now := time.Now()
		var configMap corev1.ConfigMap
		if err := reader.Get(ctx, request.NamespacedName, &configMap); err != nil {
			return ctrl.Result{}, client.IgnoreNotFound(err)
		}
		started(&configMap, now)
		time.Sleep(work)
		return ctrl.Result{}, nil
	}
	err = ctrl.NewControllerManagedBy(manager).
		For(&corev1.ConfigMap{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: 1}).
		Complete(reconcileFunc(reconcile))
	if err != nil {
		return err
	}
	go func() {
		if err := manager.Start(ctx); err != nil {
			fail(err)
		}
	}()
	return nil
}

type reconcileFunc func(context.Context, ctrl.Request) (ctrl.Result, error)

func (f reconcileFunc) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	return f(ctx, request)
}
