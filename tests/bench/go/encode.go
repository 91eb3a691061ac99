package main

import (
	"encoding/json"
	"io"
	"os"

	corev1 "k8s.io/api/core/v1"
)

// encode reads a Pod as JSON from the standard input and writes it as protobuf, without the envelope.
func encode() error {
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	var pod corev1.Pod
	if err := json.Unmarshal(text, &pod); err != nil {
		return err
	}
	bytes, err := pod.Marshal()
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(bytes)
	return err
}
