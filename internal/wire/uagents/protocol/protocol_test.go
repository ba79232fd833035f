package protocol_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/uimgate/uimgate/internal/wire/uagents/envelope"
	"github.com/uimgate/uimgate/internal/wire/uagents/protocol"
)

type vectors struct {
	Models    []struct{ Name, Digest, Canonical string }
	Manifests []json.RawMessage
}

func read(t *testing.T) vectors {
	t.Helper()
	text, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var v vectors
	if err := json.Unmarshal(text, &v); err != nil || len(v.Models) == 0 || len(v.Manifests) == 0 {
		t.Fatalf("the vectors: %v", err)
	}
	return v
}

func TestModelVectors(t *testing.T) {
	t.Parallel()
	for _, v := range read(t).Models {
		// The order and the spaces of the schema differ from its canonical form.
		var tree any
		if err := json.Unmarshal([]byte(v.Canonical), &tree); err != nil {
			t.Fatal(err)
		}
		spaced, err := json.MarshalIndent(tree, "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		m, err := protocol.NewModel(spaced)
		if err != nil || m.Name != v.Name || string(m.Digest) != v.Digest || string(m.Schema) != v.Canonical {
			t.Errorf("%s: %+v, %v\n%s\nwant %s\n%s", v.Name, m.Digest, err, m.Schema, v.Digest, v.Canonical)
		}
	}
}

// The canonical form is that of Python's json.dumps with sorted keys.
func TestCanonicalForm(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		`{"type":"object","title":"T"}`:                                              `{"title": "T", "type": "object"}`,
		`{"type":"object","title":"T","a":[]}`:                                       `{"a": [], "title": "T", "type": "object"}`,
		`{"type":"object","title":"T","a":[ {} ,1]}`:                                 `{"a": [{}, 1], "title": "T", "type": "object"}`,
		`{"title":"T","type":"object","ﬀ":1,"😀":2}`:                                  `{"title": "T", "type": "object", "\ufb00": 1, "\ud83d\ude00": 2}`,
		`{"a":1.0,"b":1e-05,"title":"T","type":"object"}`:                            `{"a": 1.0, "b": 1e-05, "title": "T", "type": "object"}`,
		`{"a":"\u0001\b\f\n\r\t\"\\\/<>&\u007f\u2028é","title":"T","type":"object"}`: `{"a": "\u0001\b\f\n\r\t\"\\/<>&\u007f\u2028\u00e9", "title": "T", "type": "object"}`,
		`{"a":[true,false,null],"title":"T","type":"object"}`:                        `{"a": [true, false, null], "title": "T", "type": "object"}`,
		`{"b":1,"B":2,"a b":3,"a":4,"title":"T","type":"object"}`:                    `{"B": 2, "a": 4, "a b": 3, "b": 1, "title": "T", "type": "object"}`,
	} {
		if m, err := protocol.NewModel([]byte(schema)); err != nil || string(m.Schema) != want {
			t.Errorf("%s: %s, %v; want %s", schema, m.Schema, err, want)
		}
	}
}

func TestInvalidModels(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{
		"", "null", "[]", `{}`, `{"type":"object"}`, `{"title":"T"}`, `{"title":"T","type":"string"}`, `{"title":1,"type":"object"}`,
		`{"title":"T","title":"T","type":"object"}`, `{"title":"T","type":"object"} {}`,
		`{"title":"` + strings.Repeat("T", 201) + `","type":"object"}`,
		`{"title":"T","type":"object","a":[` + strings.Repeat("0,", 5000) + `0]}`,
		`{"title":"T","type":"object","a":"` + strings.Repeat("a", protocol.MaxSchema) + `"}`,
	} {
		if m, err := protocol.NewModel([]byte(schema)); !errors.Is(err, protocol.ErrModel) || m.Digest != "" {
			t.Errorf("%.60s: %+v, %v; want %v and Digest empty", schema, m, err, protocol.ErrModel)
		}
	}
}

func TestManifestVectors(t *testing.T) {
	t.Parallel()
	for _, raw := range read(t).Manifests {
		m, err := protocol.ParseManifest(raw)
		if err != nil {
			t.Errorf("%.200s: %v", raw, err)
			continue
		}
		written, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		var came, ours struct {
			Version              string
			Metadata             map[string]any
			Models, Interactions []map[string]any
		}
		if json.Unmarshal(raw, &came) != nil || json.Unmarshal(written, &ours) != nil {
			t.Fatal("no JSON")
		}
		if diff := cmp.Diff(came, ours, cmpopts.SortSlices(func(a, b map[string]any) bool { return fmt.Sprint(a) < fmt.Sprint(b) })); diff != "" {
			t.Errorf("%s (-parsed +published):\n%s", m.Name, diff)
		}
	}
}

// The digests of the standard protocols are those that all agents use. ParseManifest computes them again from the schemas.
func TestStandardProtocols(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		m                     protocol.Manifest
		name, version, digest string
		requests              string
	}{
		{protocol.Chat(), "AgentChatProtocol", "0.3.0", "30a801ed3a83f9a0ff0a9f1e6fe958cb91da1fc2218b153df7b6cbf87bd33d62", "ChatMessage ChatAcknowledgement"},
		{protocol.Health(), "HealthProtocol", "0.1.0", "507abfddc932972a02d92fbdeee7d0767a7bd1033adcc84e6cd82d377fb90007", "HealthCheck"},
		{protocol.MCP(), "MCPProtocol", "0.1.0", "bc7aed33dbd44a2a415c513666b6f2504ba7ab63ba326dbe63efd86921c629dc", "CallTool ListTools"},
		{protocol.UIM(), "UIMProtocol", "1.0.0", "85d96f71613cb3a70e0a2c7314122d82cf87d943636f776c8c53dca30dc62b29", "UIMExecute UIMRenew UIMAgree UIMSearch UIMPolicyRequest"},
	} {
		if c.m.Name != c.name || c.m.Version != c.version || string(c.m.Digest) != "proto:"+c.digest {
			t.Errorf("got %s %s %s", c.m.Name, c.m.Version, c.m.Digest)
		}
		var requests []string
		for _, i := range c.m.Interactions {
			name, ok := protocol.NameOf(i.Request)
			if !ok {
				t.Errorf("%s: %s has no name", c.name, i.Request)
			}
			requests = append(requests, name)
		}
		if strings.Join(requests, " ") != c.requests {
			t.Errorf("%s accepts %q", c.name, requests)
		}
	}
}

func TestStandardModels(t *testing.T) {
	t.Parallel()
	for name, digest := range map[string]string{
		"ErrorMessage":        "94cb082f79871c5e80a20637f935d233f0ce11a135d5a3a3c6071e81102a84d5",
		"ChatMessage":         "2601825997203ee07dbb9ff6e7c71ae7bdaf6a7c8b817361f2f88f4b29c68d0c",
		"ChatAcknowledgement": "741eb75692abbeb43c131e364ad939af23f14e8288ba0ec3df130843ef79bd7f",
		"HealthCheck":         "1c73da28ef5414379e1f3b1108e3dc55315932628813fc9e30227a4bd15c56cf",
		"AgentHealth":         "2c0ad6d006972064cccd01d5713580cbb7d134c42711eb0ec9aaa5d6d53e022d",
		"ListTools":           "ebcd0ac6720c049515a2b5da6f744f0cd9ac9070766d6dde8e0b9d70621affa9",
		"ListToolsResponse":   "12f5cb14c6477a0601e40da853236eb24772025e2d9fbb0366e2851fe96e81f8",
		"CallTool":            "4bcd4178c45f68f7ce820d330063d70a4cc9a7e50f499b846748a9bb4404719d",
		"CallToolResponse":    "6a1ab91005d96333668d0e7b479ef07700b7deb4356d68717085cf817043ee0b",
		"UIMSearch":           "eb47084117c763832d47a5eeaad6e81eb54747fb5a7b46a19a0366108f58851e",
		"UIMIntents":          "8a12cc6811be0bb6e60a0e5c165fe38c401a1d8d0b7cb013443b9cd2467c7a20",
		"UIMPolicyRequest":    "fae4d384959a03bd65dfd6e776413c077cdeaa1b2ef2b8ad16e831534fef7a4f",
		"UIMPolicy":           "2877fe8fcbe21d60fb337d59ff768d10a2fdde84b1165071edcb87e6eec23e6f",
		"UIMAgree":            "d45016ec581139739791f56cac9fe6e4ec0e574db5a925892dca6f1340135f33",
		"UIMAgreed":           "24fa0bc8a74bcf06a95b4a4f6194005421ed7c430fb9d89aacb8cfa6680b0eae",
		"UIMRenew":            "5178120a1c5a1170f61734d425c85f30ef310c2b3eebb18c445f390c49fd5037",
		"UIMExecute":          "1c64c7e84c63c82565f41040ad48e39571552897cc2bb7b25e78414bca529523",
		"UIMResult":           "e21c29f99057352fe9d93a1aa9030ed507418f2cdbcab4d0a411652b964f3eeb",
		"UIMFault":            "eb7d6d2c86f8a308a2e1b2d36b5cc5473fff8df2fbdcde77a54578ffe6fdd0a0",
	} {
		m := protocol.Standard(name)
		if again, ok := protocol.NameOf(m.Digest); string(m.Digest) != "model:"+digest || m.Name != name || again != name || !ok {
			t.Errorf("%s: %s, %s", name, m.Digest, again)
		}
		if anew, err := protocol.NewModel(m.Schema); err != nil || anew.Digest != m.Digest {
			t.Errorf("%s: computed again %s, %v; want %v, nil", name, anew.Digest, err, m.Digest)
		}
		if _, err := envelope.ParseModelDigest(string(m.Digest)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if m := protocol.Standard("Message"); m.Digest != "" || m.Name != "" {
		t.Errorf("got %+v; want Digest empty and Name empty", m)
	}
	if name, ok := protocol.NameOf("model:29f75d79d429d3b533c9a956e3592ce146cd77443f6788ba81cb4e6f7f957e05"); ok {
		t.Error(name)
	}
}

func TestInvalidManifests(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal(protocol.MCP())
	if err != nil {
		t.Fatal(err)
	}
	good := string(raw)
	first := protocol.MCP().Models[0]
	call := string(protocol.Standard("CallTool").Digest)
	answer := string(protocol.Standard("CallToolResponse").Digest)
	model := `{"digest":"` + string(first.Digest) + `"`
	zeros := "model:" + strings.Repeat("0", 64)
	for name, c := range map[string]struct{ old, new string }{
		"another description":           {"Request to list available tools.", "Request to list the available tools."},
		"another protocol digest":       {"proto:bc", "proto:bd"},
		"no protocol digest":            {`,"digest":"proto:`, `,"other":"proto:`},
		"another model digest":          {model, `{"digest":"` + zeros + `"`},
		"no model digest":               {model, `{"other":""`},
		"a model that is not an object": {`"models":[`, `"models":[7,`},
		"a model without schema":        {`"models":[`, `"models":[{"digest":"` + zeros + `"},`},
		"the same model twice":          {`"models":[`, `"models":[{"digest":"` + string(first.Digest) + `","schema":` + compact(t, first.Schema) + `},`},
		"no models":                     {`"models":[`, `"models":[],"other":[`},
		"models as text":                {`"models":[`, `"models":"","other":[`},
		"too many models":               {`"models":[`, `"models":[` + strings.Repeat("7,", 300)},
		"an unknown request":            {`"request":"` + call, `"request":"` + zeros},
		"an unknown response":           {`"` + answer + `"]`, `"` + zeros + `"]`},
		"the same response twice":       {`"responses":["` + answer, `"responses":["` + answer + `","` + answer},
		"a response that is not a text": {`"responses":["` + answer, `"responses":[7,"` + answer},
		"an additional response":        {`"responses":["` + answer, `"responses":["` + call + `","` + answer},
		"no responses":                  {`"responses":["` + answer, `"other":["` + answer},
		"another type":                  {`"type":"normal"`, `"type":"signed"`},
		"the same request twice":        {`"interactions":[`, `"interactions":[{"type":"normal","request":"` + call + `","responses":[]},`},
		"an interaction that is null":   {`"interactions":[`, `"interactions":[null,`},
		"another version of the form":   {`"version":"1.0"`, `"version":"1.1"`},
		"no name":                       {`"name":"MCPProtocol"`, `"name":""`},
		"a name that is a number":       {`"name":"MCPProtocol"`, `"name":1`},
		"a long name":                   {"MCPProtocol", strings.Repeat("M", 201)},
		"trailing data":                 {"", ""},
		"too long":                      {"MCPProtocol", strings.Repeat("M", protocol.MaxManifest)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changed := good + "]"
			if c.old != "" {
				if changed = strings.Replace(good, c.old, c.new, 1); changed == good {
					t.Fatal("the test changed nothing")
				}
			}
			if m, err := protocol.ParseManifest([]byte(changed)); !errors.Is(err, protocol.ErrManifest) || m.Name != "" {
				t.Errorf("got %s, %v; want an empty string, %v", m.Name, err, protocol.ErrManifest)
			}
		})
	}
	renamed, err := protocol.ParseManifest([]byte(strings.Replace(good, "MCPProtocol", "Other", 1)))
	if err != nil || renamed.Name != "Other" {
		t.Errorf("the name is not covered: %v", err)
	}
}

func compact(t *testing.T, schema json.RawMessage) string {
	t.Helper()
	out, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func FuzzParseManifest(f *testing.F) {
	raw, err := json.Marshal(protocol.Health())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := protocol.ParseManifest(raw)
		if err != nil {
			if m.Name != "" || !errors.Is(err, protocol.ErrManifest) {
				t.Errorf("got %+v, %v; want Name empty and %v", m, err, protocol.ErrManifest)
			}
			return
		}
		written, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := protocol.ParseManifest(written); err != nil || again.Digest != m.Digest {
			t.Errorf("%s: %v", written, err)
		}
	})
}

func FuzzNewModel(f *testing.F) {
	for _, name := range []string{"UIMExecute", "ChatMessage"} {
		f.Add([]byte(protocol.Standard(name).Schema))
	}
	f.Add([]byte(`{"type":"object","title":"T","a":[1.0,1e-05,"\u007f😀é",null,{}]}`))
	f.Fuzz(func(t *testing.T, schema []byte) {
		m, err := protocol.NewModel(schema)
		if err != nil {
			return
		}
		again, err := protocol.NewModel(m.Schema)
		if len(m.Schema) <= protocol.MaxSchema && (err != nil || again.Digest != m.Digest || string(again.Schema) != string(m.Schema)) {
			t.Errorf("%s is %s again, %v", m.Schema, again.Schema, err)
		}
	})
}
