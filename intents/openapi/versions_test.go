package openapi_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/intents/openapi"
)

var ends = time.Date(2026, 12, 28, 0, 0, 0, 0, time.UTC)

const offered = `
openapi: 3.0.3
info: {title: T, version: 1.0.0}
servers: [{url: 'https://s.example'}]
paths:
  /a: {get: {operationId: a, summary: Does a, parameters: [{name: x, in: query, schema: {type: string, maxLength: 9}}],
    responses: {'200': {description: ok, content: {application/json: {schema: {type: object, properties: {n: {type: integer}, m: {type: string}}}}}}}}}
  /b: {get: {operationId: b, summary: Does b, responses: {'200': {description: ok}}}}
`

func changesOf(r *openapi.Result) (out []string) {
	for _, c := range r.Changes {
		out = append(out, strings.TrimPrefix(c.UID, namespace+":")+" "+string(c.Kind))
	}
	return out
}

// priced sets a price and an agreement rule in the curation.
func priced(t *testing.T, dir map[string][]byte) {
	t.Helper()
	edit(t, dir, openapi.CurationFile, "a: {hidden: false,", "a: {hidden: false, price: 0.50 EUR, agreement: fresh,")
}

// The next version has the price and the agreement rule of the operation, and so has the previous version, which continues.
func TestBreakingChangeAddsAVersion(t *testing.T) {
	dir, _ := rerun(t, nil, offered, openapi.Options{})
	priced(t, dir)
	dir, _ = rerun(t, dir, offered, openapi.Options{})
	edit(t, dir, openapi.AgentsFile, `"description": "Does a"`, `"description": "Mine"`)
	broken := strings.Replace(offered, "maxLength: 9}}", "maxLength: 9}}, {name: y, in: query, required: true, schema: {type: string}}", 1)
	o := openapi.Options{Replaced: ends}
	dir, r := rerun(t, dir, broken, o)
	got := intentsOf(t, dir)
	v1, v2 := got["a:v1"], got["a:v2"]
	if v1["retire_after"] != "2026-12-28T00:00:00Z" || v1["replaced_by"] != namespace+":a:v2" || v1["retired"] != nil ||
		len(v1["input_parameters"].([]any)) != 1 {
		t.Errorf("v1: %s", asJSON(t, v1))
	}
	if v2 == nil ||
		v2["retire_after"] != nil || v2["replaced_by"] != nil || len(v2["input_parameters"].([]any)) != 2 || v2["description"] != "Mine" {
		t.Errorf("v2: %s", asJSON(t, v2))
	}
	if list := strings.Join(changesOf(r), ", "); list != "a:v1 replaced, a:v2 added" ||
		strings.Join(r.Changes[0].Details, "") != `the new parameter "y" is required` {
		t.Errorf("changes: %s: %v", list, r.Changes)
	}
	for _, uid := range []string{":a:v1", ":a:v2"} {
		if !bytes.Contains(dir[openapi.PolicyFile], []byte(uid)) || !bytes.Contains(dir[openapi.ConfigFile], []byte(uid+`": {agreement: fresh}`)) {
			t.Errorf("%s lacks its terms: %s\n%s", uid, dir[openapi.PolicyFile], dir[openapi.ConfigFile])
		}
	}
	if strings.Count(string(dir[openapi.PolicyFile]), `"price-1`) > 0 || !bytes.Contains(dir[openapi.PolicyFile], []byte(
		"\"target\": [\n        \""+namespace+":a:v1\",\n        \""+namespace+":a:v2\"\n      ]")) {
		t.Errorf("the two versions have different prices: %s", dir[openapi.PolicyFile])
	}
	later := openapi.Options{Replaced: ends.AddDate(0, 1, 0)}
	again, r := rerun(t, dir, broken, later)
	for name, data := range again {
		if !bytes.Equal(data, dir[name]) {
			t.Errorf("the same document again changes %s", name)
		}
	}
	if len(r.Changes) > 0 {
		t.Errorf("the same document again: %v, want no changes", r.Changes)
	}
	third := strings.Replace(broken, "n: {type: integer}, ", "", 1)
	dir, r = rerun(t, dir, third, later)
	got = intentsOf(t, dir)
	if got["a:v3"] == nil || got["a:v2"]["replaced_by"] != namespace+":a:v3" || got["a:v1"]["retire_after"] != "2026-12-28T00:00:00Z" {
		t.Errorf("the third version: %v, %s", changesOf(r), asJSON(t, got))
	}
	if n := strings.Count(string(dir[openapi.ConfigFile]), "agreement: fresh"); n != 3 {
		t.Errorf("%d versions require a fresh agreement, want 3", n)
	}
	dir, _ = rerun(t, dir, strings.Replace(third, "version: 1.0.0", "version: 2.0.0", 1), later)
	if got = intentsOf(t, dir); got["a:v3"]["replaced_by"] != nil || got["b:v2"] == nil || got["a:v4"] != nil {
		t.Errorf("after version 2 of the document: %s", asJSON(t, got))
	}
}

func TestNextVersionIsFree(t *testing.T) {
	dir, _ := rerun(t, nil, offered, openapi.Options{})
	edit(t, dir, openapi.AgentsFile, `"intents": [`, `"intents": [{"intent_uid": "`+namespace+`:a:v2", "intent_name": "Own", "description": "Own.",
		"endpoint": {"url": "https://`+namespace+`/own", "method": "GET"}},`)
	dir, _ = rerun(t, dir, strings.Replace(offered, "maxLength: 9", "maxLength: 8", 1), openapi.Options{Replaced: ends})
	got := intentsOf(t, dir)
	if got["a:v2"]["intent_name"] != "Own" || got["a:v3"] == nil || got["a:v1"]["replaced_by"] != namespace+":a:v3" {
		t.Errorf("got %s", asJSON(t, got))
	}
}

func TestBreakingChangeInPlace(t *testing.T) {
	dir, _ := rerun(t, nil, offered, openapi.Options{})
	dir, r := rerun(t, dir, strings.Replace(offered, "maxLength: 9", "maxLength: 8", 1), openapi.Options{Replaced: ends, InPlace: true})
	if got := intentsOf(t, dir); got["a:v2"] != nil || strings.Join(changesOf(r), ", ") != "a:v1 breaking" ||
		strings.Join(r.Changes[0].Details, "") != `the parameter "x" has maxLength 8 instead of 9` {
		t.Errorf("got %v", r.Changes)
	}
}

func TestRenamedAndRemovedIntentsEnd(t *testing.T) {
	dir, _ := rerun(t, nil, offered, openapi.Options{})
	edit(t, dir, openapi.CurationFile, namespace+":a:v1", namespace+":find:v1")
	less := offered[:strings.Index(offered, "  /b:")]
	next, r := rerun(t, dir, less, openapi.Options{Replaced: ends})
	got := intentsOf(t, next)
	if got["a:v1"]["retire_after"] == nil || got["a:v1"]["replaced_by"] != namespace+":find:v1" || got["b:v1"]["retired"] != true {
		t.Errorf("got %s", asJSON(t, got))
	}
	if list := strings.Join(changesOf(r), ", "); list != "a:v1 replaced, b:v1 retired, find:v1 added" {
		t.Errorf("changes: %s", list)
	}
	next, _ = rerun(t, dir, less, openapi.Options{Gone: ends})
	if b := intentsOf(t, next)["b:v1"]; b["retired"] != nil || b["retire_after"] != "2026-12-28T00:00:00Z" {
		t.Errorf("an operation that ends later: %s", asJSON(t, b))
	}
	later := ends.AddDate(0, 0, 9)
	revised, r := rerun(t, next, less, openapi.Options{Gone: later, Revise: ends.AddDate(0, 0, -1)})
	if b := intentsOf(t, revised)["b:v1"]; b["retire_after"] != later.Format(time.RFC3339) || !slices.Contains(changesOf(r), "b:v1 revised") {
		t.Errorf("a revised end: %s, %v", asJSON(t, b), changesOf(r))
	}
	revised, _ = rerun(t, revised, less, openapi.Options{Revise: ends})
	if b := intentsOf(t, revised)["b:v1"]; b["retired"] != true || b["retire_after"] != nil {
		t.Errorf("an end at once: %s", asJSON(t, b))
	}
	revised, _ = rerun(t, revised, less, openapi.Options{Gone: later, Revise: ends})
	if b := intentsOf(t, revised)["b:v1"]; b["retired"] != nil || b["retire_after"] == nil {
		t.Errorf("a retired intent that goes on: %s", asJSON(t, b))
	}
	ended, _ := rerun(t, next, less, openapi.Options{Gone: later, Revise: ends})
	if b := intentsOf(t, ended)["b:v1"]; b["retire_after"] != "2026-12-28T00:00:00Z" {
		t.Errorf("an intent whose date is over: %s", asJSON(t, b))
	}
	back, _ := rerun(t, next, offered, openapi.Options{})
	if b := intentsOf(t, back)["b:v1"]; b["retire_after"] != nil {
		t.Errorf("an operation that is back still ends: %s", asJSON(t, b))
	}
}
