package mrp_test

import (
	"encoding/json"
	"testing"

	"github.com/uimgate/uimgate/bindings/mrp"
)

// A request is decoded as encoding/json decodes it, and its parameters stay as the sender encoded them.
func FuzzReadRequest(f *testing.F) {
	for _, seed := range []string{
		`{"action":"uim:search","params":{"query":"lamp"}}`, `{"action":"a","params":{"a":{"b":[1,2]}},"uim_pat":"t","uim_proof":"p","more":1}`,
		`{"action":"a","action":"b"}`, `{"action":null}`, `{"action":"a","params":null}`, `[]`, ``, `{"action":"a","params":1}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		action, params, token, proof, err := mrp.ReadRequest(body)
		if err != nil {
			if action+params+token+proof != "" {
				t.Error("got both an error and values")
			}
			return
		}
		var same struct {
			Action string          `json:"action"`
			Params json.RawMessage `json:"params"`
		}
		var members map[string]json.RawMessage
		if json.Unmarshal(body, &members) != nil {
			t.Fatalf("%q is not an object", body)
		}
		same.Params = members["params"]
		if err := json.Unmarshal(members["action"], &same.Action); err != nil || same.Action != action {
			t.Errorf("%q, encoding/json reads %q", action, same.Action)
		}
		if absent := len(same.Params) == 0 || string(same.Params) == "null"; !absent && string(same.Params) != params || absent && params != "{}" {
			t.Errorf("%q, encoding/json reads %q", params, same.Params)
		}
	})
}
