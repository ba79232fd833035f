package door_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/intents"
)

// FuzzReadExecute checks that ReadExecute returns the same as ParseExecute, and that the result does not refer to the body.
func FuzzReadExecute(f *testing.F) {
	for _, seed := range []string{
		`{"intent_uid":"a:b:v1","parameters":{"q":"é\n","n":1.50,"list":[true,null,{"x":[]}]}}`,
		`{"intent\u005fuid":"\u0061:b:v1","parameters":{},"proof":""}`, `{"proof":"p","parameters":{"a":1},"intent_uid":"a"} `,
		`{"intent_uid":"a","intent_uid":"b","parameters":{}}`, `{"intent_uid":"a","parameters":{"a":1,"a":2}}`,
		`{"intent_uid":"","parameters":{}}`, `{"intent_uid":"a"}`, `{"intent_uid":"a","parameters":null}`,
		`{"intent_uid":1,"parameters":{}}`, `{"intent_uid":"a","parameters":[],"proof":null}`, `{"intent_uid":"a","parameters":{},"x":1}`,
		`{"intent":{"uid":"a","parameters":{"a":1}},"context":{}}`, `[]`, `"a"`, ``, `{"intent_uid":"a","parameters":{}}{}`,
	} {
		f.Add([]byte(seed))
	}
	served := &service.Service{Definition: &service.Definition{Catalog: &intents.Catalog{}}}
	f.Fuzz(func(t *testing.T, body []byte) {
		var want execute.Request
		tree, wantErr := wire.ObjectOf(append([]byte{}, body...))
		if wantErr == nil {
			want, wantErr = door.ParseExecute(tree, served)
		}
		got, err := door.ReadExecute(body, served)
		clear(body)
		if diff := cmp.Diff(want, got); wantErr == nil && diff != "" {
			t.Error(diff)
		}
		if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
			t.Errorf("%v, want %v", err, wantErr)
		}
	})
}
