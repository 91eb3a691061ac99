package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand"
	"reflect"
	"sort"
	"time"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/randfill"
)

// writeCorpus writes, for every object: `<apiVersion> <kind> <base64 of the enveloped protobuf> <JSON>`.
//
// The JSON is that of the object after a round trip through protobuf, which does not carry empty lists and maps.
// The same count gives the same objects.
func writeCorpus(out *bufio.Writer, scheme *runtime.Scheme, count int) {
	kinds := scheme.AllKnownTypes()
	var listable []schema.GroupVersionKind
	for gvk := range kinds {
		if _, isListable := kinds[gvk.GroupVersion().WithKind(gvk.Kind+"List")]; isListable {
			listable = append(listable, gvk)
		}
	}
	sort.Slice(listable, func(i, j int) bool { return listable[i].String() < listable[j].String() })
	serializer := protobuf.NewSerializer(scheme, scheme)
	for _, gvk := range listable {
		for seed := 0; seed < count; seed++ {
			object := reflect.New(kinds[gvk]).Interface().(runtime.Object)
			filler(int64(seed)).Fill(object)
			object.GetObjectKind().SetGroupVersionKind(gvk)
			var encoded bytes.Buffer
			check(serializer.Encode(object, &encoded))
			again, _, err := serializer.Decode(encoded.Bytes(), nil, nil)
			check(err)
			again.GetObjectKind().SetGroupVersionKind(gvk)
			text, err := json.Marshal(again)
			check(err)
			fmt.Fprintln(out, gvk.GroupVersion(), gvk.Kind, base64.StdEncoding.EncodeToString(encoded.Bytes()), string(text))
		}
	}
}

// filler creates random objects. The first seeds give sparse ones, later seeds fuller ones.
func filler(seed int64) *randfill.Filler {
	nilChance := 0.8 - 0.1*float64(seed%7)
	filler := randfill.NewWithSeed(seed).NilChance(nilChance).NumElements(0, 2).MaxDepth(12)
	random := rand.New(rand.NewSource(seed))
	instant := func() time.Time {
		if random.Intn(4) == 0 {
			return time.Time{}
		}
		return time.Unix(random.Int63n(4_000_000_000)-1_000_000_000, random.Int63n(1_000_000_000)).UTC()
	}
	value := func() []byte {
		texts := []string{`{"a":{"b":[1,-2.5,"c",null,true]}}`, `{}`, `{"x":"ä\n"}`}
		return []byte(texts[random.Intn(len(texts))])
	}
	return filler.Funcs(
		func(text *string, _ randfill.Continue) {
			texts := []string{"", "a", "name-1", "ä€", "with \"quotes\"\n", "0"}
			*text = texts[random.Intn(len(texts))]
		},
		// serde_json reads some long fractions one bit off, so there are none.
		func(number *float64, _ randfill.Continue) { *number = float64(random.Intn(2000)-1000) / 4 },
		func(t *metav1.Time, _ randfill.Continue) { t.Time = instant() },
		func(t *metav1.MicroTime, _ randfill.Continue) { t.Time = instant() },
		func(q *resource.Quantity, _ randfill.Continue) {
			texts := []string{"0", "1", "250m", "1Gi", "-3", "1e6", "0.5"}
			*q = resource.MustParse(texts[random.Intn(len(texts))])
		},
		func(v *intstr.IntOrString, _ randfill.Continue) {
			if random.Intn(2) == 0 {
				*v = intstr.FromInt32(random.Int31() - 1<<30)
			} else {
				*v = intstr.FromString([]string{"", "http", "25%"}[random.Intn(3)])
			}
		},
		func(v *runtime.RawExtension, _ randfill.Continue) {
			if random.Intn(4) > 0 {
				v.Raw = value()
			}
		},
		func(v *apiextensions.JSON, _ randfill.Continue) {
			if random.Intn(4) > 0 {
				v.Raw = value()
			}
		},
		func(v *metav1.FieldsV1, _ randfill.Continue) {
			if random.Intn(4) > 0 {
				v.Raw = value()
			}
		},
		func(v *apiextensions.JSONSchemaPropsOrBool, c randfill.Continue) {
			v.Allows = c.Bool()
			if c.Bool() {
				v.Schema = &apiextensions.JSONSchemaProps{Type: "string"}
			}
		},
		func(v *apiextensions.JSONSchemaPropsOrArray, c randfill.Continue) {
			if c.Bool() {
				v.Schema = &apiextensions.JSONSchemaProps{Type: "string"}
			} else {
				v.JSONSchemas = make([]apiextensions.JSONSchemaProps, random.Intn(3))
			}
		},
		func(v *apiextensions.JSONSchemaPropsOrStringArray, c randfill.Continue) {
			if c.Bool() {
				v.Schema = &apiextensions.JSONSchemaProps{Type: "string"}
			} else {
				v.Property = []string{"a", "b"}[:1+random.Intn(2)]
			}
		},
	)
}
