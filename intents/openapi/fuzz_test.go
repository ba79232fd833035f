package openapi_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/intents/openapi"
)

// FuzzConvert: any document is refused with one of our errors, or what is made of it is accepted by the
// strict reader, survives being brought up to date by itself, and is complete.
func FuzzConvert(f *testing.F) {
	paths, err := filepath.Glob("testdata/*.*")
	if err != nil || len(paths) < 7 {
		f.Fatalf("documents: %v, %v", paths, err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"openapi":"3.1.0","paths":{"/a{b}":{"post":{"parameters":[{"in":"path","name":"b","schema":{"$ref":"#/paths"}}],"requestBody":{"content":{"*/*":{"schema":{"oneOf":[{},true]}}}}}}}}`))
	f.Add([]byte("swagger: 2.0\nparameters: {a: {in: {}, name: []}}\npaths: {/x: {get: {parameters: [{$ref: '#/parameters/a'}, {$ref: '#/parameters/a'}]}}}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		found, err := openapi.Convert(ctx, data, openapi.Options{Namespace: namespace})
		if err != nil {
			if found != nil || !errors.Is(err, openapi.ErrDocument) {
				t.Fatalf("%v, %v", found, err)
			}
			return
		}
		result, err := found.Update(nil, false)
		if err != nil {
			if !errors.Is(err, openapi.ErrDocument) || len(found.Intents) > 0 {
				t.Fatal(err)
			}
			return
		}
		c, problems := intents.Parse(result.Write[openapi.AgentsFile], intents.Options{Strict: true})
		if problems.Failed() {
			t.Fatalf("refused: %v\n%s", problems, result.Write[openapi.AgentsFile])
		}
		if len(c.Intents()) != len(found.Intents) {
			t.Fatalf("%d intents of %d", len(c.Intents()), len(found.Intents))
		}
		for _, in := range c.Intents() {
			if !in.UID.Canonical() || in.Endpoint == nil {
				t.Fatalf("%s", in.JSON())
			}
		}
		known, err := openapi.ReadRecord(result.Write[openapi.RecordFile])
		if err != nil {
			t.Fatal(err)
		}
		again, err := openapi.Convert(ctx, data, openapi.Options{Namespace: namespace, Known: known})
		if err != nil {
			t.Fatal(err)
		}
		next, err := again.Update(result.Write, false)
		if err != nil || next.Added+next.Changed+next.Retired != 0 || string(next.Write[openapi.AgentsFile]) != string(result.Write[openapi.AgentsFile]) {
			t.Fatalf("running again: %v, %+v", err, next)
		}
	})
}
