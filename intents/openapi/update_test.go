package openapi_test

import (
	"bytes"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/intents/openapi"
)

const before = `
openapi: 3.0.3
info: {title: T, version: 1.0.0, description: A}
servers: [{url: 'https://s.example'}]
paths:
  /a: {get: {operationId: a, summary: Does a, parameters: [{name: x, in: query, schema: {type: string}}], responses: {'200': ` +
	`{description: ok}}}}
  /b: {get: {operationId: b, summary: Does b, responses: {'200': {description: ok}}}}
  /c: {post: {operationId: c, summary: Does c, responses: {'200': {description: ok}}}}
  /d: {get: {operationId: d, summary: Does d, responses: {'200': {description: ok}}}}
`

// directory writes a result into a directory as the command does.
func directory(old map[string][]byte, r *openapi.Result) map[string][]byte {
	out := maps.Clone(old)
	if out == nil {
		out = map[string][]byte{}
	}
	maps.Copy(out, r.Write)
	return out
}

func rerun(t *testing.T, dir map[string][]byte, text string, o openapi.Options) (map[string][]byte, *openapi.Result) {
	t.Helper()
	var err error
	if o.Curation, err = openapi.Curate(dir, false); err != nil {
		t.Fatal(err)
	}
	r := update(t, convert(t, []byte(text), o), dir)
	return directory(dir, r), r
}

func intentsOf(t *testing.T, dir map[string][]byte) map[string]map[string]any {
	t.Helper()
	out := map[string]map[string]any{}
	for _, v := range tree(t, string(dir[openapi.AgentsFile]))["intents"].([]any) {
		in := v.(map[string]any)
		out[strings.TrimPrefix(in["intent_uid"].(string), namespace+":")] = in
	}
	return out
}

func edit(t *testing.T, dir map[string][]byte, name, old, with string) {
	t.Helper()
	if !bytes.Contains(dir[name], []byte(old)) {
		t.Fatalf("%s lacks %q:\n%s", name, old, dir[name])
	}
	dir[name] = bytes.Replace(dir[name], []byte(old), []byte(with), 1)
}

func TestSecondRunChangesNothing(t *testing.T) {
	for _, name := range []string{"library.yaml", "legacy.json", "zoo.yaml", "payments.yaml", "secured.json", "awkward.yaml", "shop.yaml"} {
		first, _ := rerun(t, nil, string(document(t, name)), openapi.Options{})
		again, r := rerun(t, first, string(document(t, name)), openapi.Options{})
		for file, data := range again {
			if !bytes.Equal(data, first[file]) {
				t.Errorf("%s: %s changed", name, file)
			}
		}
		if len(again) != len(first) || r.Added+r.Changed+r.Retired != 0 || len(r.Messages) > 0 {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestEditsSurviveDocumentChanges(t *testing.T) {
	dir, _ := rerun(t, nil, before, openapi.Options{})
	edit(t, dir, openapi.AgentsFile, "Does a", "Finds an a by x. Use it first.")
	edit(t, dir, openapi.AgentsFile, `"type": "string"`, `"type": "string", "maxLength": 5`)
	edit(t, dir, openapi.AgentsFile, `"description": "A"`, `"description": "Mine"`)
	after := strings.NewReplacer("Does a", "Does A", "Does b", "Does B", "schema: {type: string}", "schema: {type: string, minLength: 1}",
		"title: T", "title: U",
		"  /d: {get: {operationId: d, summary: Does d", "  /e: {get: {operationId: e, summary: Does e").Replace(before)
	dir, r := rerun(t, dir, after, openapi.Options{})
	got := intentsOf(t, dir)
	if got["a:v1"]["description"] != "Finds an a by x. Use it first." {
		t.Errorf("the edited description: %v, want %q", got["a:v1"]["description"], "Finds an a by x. Use it first.")
	}
	if s := asJSON(t, got["a:v1"]["input_parameters"]); !strings.Contains(s, `"maxLength":5`) || strings.Contains(s, "minLength") {
		t.Errorf("the edited parameters: %s", s)
	}
	if got["b:v1"]["description"] != "Does B" || got["d:v1"]["retired"] != true || got["e:v1"] == nil {
		t.Errorf("the other members do not follow the document: %v", got)
	}
	info := tree(t, string(dir[openapi.AgentsFile]))["service-info"].(map[string]any)
	if info["description"] != "Mine" || info["name"] != "U" {
		t.Errorf("service-info: %v", info)
	}
	if r.Added != 1 || r.Changed != 1 || r.Retired != 1 ||
		!strings.Contains(strings.Join(r.Messages, "\n"), "a:v1: description was edited and is kept") {
		t.Errorf("got %+v", r)
	}
	if policy := string(dir[openapi.PolicyFile]); strings.Contains(policy, ":d:v1") || !strings.Contains(policy, ":e:v1") {
		t.Errorf("the policy: %s", policy)
	}
	dir, r = rerun(t, dir, before, openapi.Options{}) // operation d is in the document again
	got = intentsOf(t, dir)
	if _, retired := got["d:v1"]["retired"]; retired || got["e:v1"]["retired"] != true || r.Retired != 1 {
		t.Errorf("got %v, %+v", got["d:v1"], r)
	}
}

func TestAddedAndDeletedIntentsAreKept(t *testing.T) {
	dir, _ := rerun(t, nil, before, openapi.Options{})
	file := tree(t, string(dir[openapi.AgentsFile]))
	all := file["intents"].([]any) // the intents a, b, c and d
	own := maps.Clone(all[0].(map[string]any))
	own["intent_uid"], own["endpoint"] = namespace+":own:v1", map[string]any{"url": "https://" + namespace + "/own", "method": "GET"}
	file["intents"] = []any{all[0], all[2], all[3], own}
	dir[openapi.AgentsFile] = []byte(asJSON(t, file))
	dir, r := rerun(t, dir, before, openapi.Options{})
	got := intentsOf(t, dir)
	if got["own:v1"] == nil || got["own:v1"]["retired"] != nil || got["b:v1"] != nil ||
		!strings.Contains(strings.Join(r.Messages, "\n"), "b:v1 was deleted") {
		t.Errorf("got %v, %v", got, r.Messages)
	}
}

func TestNewSelectionRetiresNothing(t *testing.T) {
	dir, _ := rerun(t, nil, before, openapi.Options{Include: []string{"a", "b"}})
	dir, r := rerun(t, dir, before, openapi.Options{Include: []string{"c"}})
	if got := intentsOf(t, dir); len(got) != 3 || got["a:v1"]["retired"] != nil || r.Added != 1 || r.Retired != 0 {
		t.Errorf("got %v, %+v", got, r)
	}
	if policy := string(dir[openapi.PolicyFile]); !strings.Contains(policy, ":a:v1") {
		t.Errorf("the policy lacks an offered intent: %s, want a text that contains %q", policy, ":a:v1")
	}
}

func TestOperationsKeepUIDs(t *testing.T) {
	dir, _ := rerun(t, nil, before, openapi.Options{})
	renamed := strings.NewReplacer("operationId: a", "operationId: findA", "version: 1.0.0", "version: 1.4.0").Replace(before)
	dir, r := rerun(t, dir, renamed, openapi.Options{})
	if got := intentsOf(t, dir); len(got) != 4 || got["a:v1"] == nil || r.Retired != 0 {
		t.Errorf("got %v", got)
	}
	dir, r = rerun(t, dir, strings.Replace(before, "version: 1.0.0", "version: 2.0.0", 1), openapi.Options{})
	got := intentsOf(t, dir)
	if len(got) != 8 || got["a:v1"]["retired"] != true || got["a:v1"]["replaced_by"] != namespace+":a:v2" || r.Added != 4 || r.Retired != 4 {
		t.Errorf("got %v, %+v", got["a:v1"], r)
	}
	if c := r.Changes[0]; c.Kind != openapi.Replaced ||
		c.UID != namespace+":a:v1" || c.Successor != namespace+":a:v2" || !c.RetireAfter.IsZero() {
		t.Errorf("got the change %+v, want that a:v2 replaces a:v1", c)
	}
}

func TestEditedFilesAreKept(t *testing.T) {
	dir, _ := rerun(t, nil, before, openapi.Options{})
	edit(t, dir, openapi.PolicyFile, "1000", "5")
	edit(t, dir, openapi.ConfigFile, "https://s.example", "https://other.example")
	more := before + "  /z: {get: {operationId: z, responses: {'200': {description: ok}}}}\n"
	next, r := rerun(t, dir, more, openapi.Options{})
	if !bytes.Equal(next[openapi.PolicyFile], dir[openapi.PolicyFile]) || !bytes.Contains(next[openapi.PolicyFile+".new"], []byte(":z:v1")) {
		t.Errorf("policy: %s", next[openapi.PolicyFile+".new"])
	}
	if !bytes.Equal(next[openapi.ConfigFile], dir[openapi.ConfigFile]) || next[openapi.ConfigFile+".new"] != nil {
		t.Error("the document did not change the configuration, but a new one was written")
	}
	if !strings.Contains(strings.Join(r.Messages, "\n"), "policy.json was edited") {
		t.Errorf("got %v", r.Messages)
	}
	third, _ := rerun(t, next, more, openapi.Options{})
	if !bytes.Equal(third[openapi.PolicyFile], dir[openapi.PolicyFile]) {
		t.Error("the third run overwrote the edited file")
	}
}

func TestForeignFilesAreKept(t *testing.T) {
	found := convert(t, []byte(before), openapi.Options{})
	foreign := map[string][]byte{openapi.AgentsFile: []byte(`{"intents":[]}`)}
	if _, err := found.Update(foreign, false); !errors.Is(err, openapi.ErrNotOurs) {
		t.Errorf("err = %v, want %v", err, openapi.ErrNotOurs)
	}
	r, err := found.Update(foreign, true)
	if err != nil || string(r.Write[openapi.AgentsFile+".old"]) != `{"intents":[]}` ||
		!bytes.Contains(r.Write[openapi.AgentsFile], []byte(":a:v1")) {
		t.Errorf("got %v", err)
	}
	readme := map[string][]byte{openapi.ReadmeFile: []byte("# Mine")}
	r, err = found.Update(readme, false)
	if err != nil || r.Write[openapi.ReadmeFile] != nil || r.Write[openapi.ReadmeFile+".new"] == nil {
		t.Errorf("a README that the operator wrote: %v", err)
	}
	for _, record := range []string{"{", `{"version": 99}`, `{"version": 1, "operations": 5}`} {
		if _, err := openapi.Curate(map[string][]byte{openapi.RecordFile: []byte(record)}, false); err == nil {
			t.Errorf("%s is taken", record)
		}
	}
	dir := directory(nil, update(t, found, nil))
	dir[openapi.AgentsFile] = []byte(`{"intents": [}`)
	if _, err := openapi.Curate(dir, false); err == nil || !strings.Contains(err.Error(), "--force") {
		t.Errorf("err = %v, want an error that contains %q", err, "--force")
	}
}
