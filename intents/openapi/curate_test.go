package openapi_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/intents/openapi"
)

// kinds is a document with operations of each kind.
const kinds = `
openapi: 3.0.3
info: {title: T, version: 1.0.0}
servers: [{url: 'https://s.example'}]
paths:
  /things: {get: {operationId: listThings, tags: [a], responses: {'200': {description: ok}}},
            post: {operationId: createThing, tags: [a], responses: {'201': {description: ok}}}}
  /things/{id}: {parameters: [{name: id, in: path, required: true, schema: {type: string}}],
                 get: {operationId: getThing, responses: {'200': {description: ok}}},
                 delete: {operationId: dropThing, responses: {'204': {description: ok}}}}
  /things/search: {post: {operationId: searchThings, responses: &list {'200': {description: ok, content: {application/json: {schema: {type: object}}}}}}}
  /things/list: {post: {operationId: things, responses: *list}}
  /things/export: {post: {operationId: searchAndPublish, responses: *list}}
  /jobs/search: {post: {operationId: searchJobs, responses: {'202': {description: later}}}}
  /jobs/run: {get: {operationId: jobsRun, responses: {'200': {description: ok}}}}
  /user/login: {get: {operationId: loginUser, responses: {'200': {description: ok}}}}
  /oauth/token: {post: {operationId: getToken, responses: *list}}
  /apps/uninstall: {post: {x-read-only: true, operationId: apps, responses: *list}}
  /reports: {post: {x-read-only: true, operationId: makeReport, responses: *list}}
  /cheap: {get: {x-read-only: false, operationId: getCheap, responses: *list}}
  /unnamed: {get: {responses: {'200': {description: ok}}}}
`

// again runs init as the command does. Unlike rerun, it does not offer writing operations.
func again(t *testing.T, dir map[string][]byte, text string, o openapi.Options) (map[string][]byte, *openapi.Result) {
	t.Helper()
	curated, err := openapi.Curate(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	o.Curation, o.Namespace = curated, namespace
	found, err := openapi.Convert(t.Context(), []byte(text), o)
	if err != nil {
		t.Fatal(err)
	}
	r := update(t, found, dir)
	return directory(dir, r), r
}

// names returns the UIDs of the intents without the namespace. A minus precedes retired ones.
func names(t *testing.T, dir map[string][]byte) []string {
	t.Helper()
	var out []string
	for uid, in := range intentsOf(t, dir) {
		if in["retired"] == true {
			uid = "-" + uid
		}
		out = append(out, uid)
	}
	slices.Sort(out)
	return out
}

func wantNames(t *testing.T, dir map[string][]byte, want ...string) {
	t.Helper()
	if diff := cmp.Diff(sorted(want), names(t, dir)); diff != "" {
		t.Errorf("differs (-want +got):\n%s", diff)
	}
}

var reading = []string{"get-thing:v1", "get-unnamed:v1", "list-things:v1", "make-report:v1", "search-things:v1", "things:v1"}

func TestOnlyReadsAreOfferedByDefault(t *testing.T) {
	dir, r := again(t, nil, kinds, openapi.Options{})
	wantNames(t, dir, reading...)
	if len(r.Messages) > 0 || r.Added != len(reading) {
		t.Errorf("got %+v", r.Messages)
	}
	if got := intentsOf(t, dir); got["search-things:v1"]["safe"] != true || got["list-things:v1"]["safe"] != nil {
		t.Error("a search by POST is not marked as safe")
	}
	curated := string(dir[openapi.CurationFile])
	for _, want := range []string{
		"  createThing: {hidden: true, uid: api.example.com:create-thing:v1} # POST /things, writes\n",
		"  searchThings: {hidden: false, uid: api.example.com:search-things:v1} # POST /things/search, reads\n",
		"  loginUser: {hidden: true,", "  getToken: {hidden: true,", "  apps: {hidden: true,", "  getCheap: {hidden: true,",
		"  \"GET /unnamed\": {hidden: false, uid: api.example.com:get-unnamed:v1} # reads\n",
	} {
		if !strings.Contains(curated, want) {
			t.Errorf("%q is missing:\n%s", want, curated)
		}
	}
	if policy := string(dir[openapi.PolicyFile]); strings.Contains(policy, "create-thing") || strings.Contains(policy, "#writes") {
		t.Errorf("the policy permits an operation that was not chosen: %s", policy)
	}
	edit(t, dir, openapi.CurationFile, "createThing: {hidden: true,", "createThing: {hidden: false,")
	dir, _ = again(t, dir, kinds, openapi.Options{})
	wantNames(t, dir, append(reading, "create-thing:v1")...)
	if policy := string(dir[openapi.PolicyFile]); !strings.Contains(policy, "create-thing") || !strings.Contains(policy, "#writes") {
		t.Errorf("the policy: %s", policy)
	}
	all, _ := again(t, nil, kinds, openapi.Options{All: true})
	if got := names(t, all); len(got) != 15 {
		t.Errorf("all: %v, want length 15", got)
	}
}

func TestDecisionsSurviveDocumentChanges(t *testing.T) {
	dir, _ := again(t, nil, kinds, openapi.Options{})
	file := tree(t, string(dir[openapi.AgentsFile]))
	var kept []any
	for _, v := range file["intents"].([]any) {
		switch in := v.(map[string]any); in["intent_uid"] {
		case namespace + ":get-thing:v1": // deleted
			continue
		case namespace + ":list-things:v1": // renamed, with another description
			in["intent_uid"], in["description"] = namespace+":find-things:v1", "Use it first."
		case namespace + ":search-things:v1":
			in["intent_name"] = "Search"
		}
		kept = append(kept, v)
	}
	file["intents"] = kept
	dir[openapi.AgentsFile] = []byte(asJSON(t, file))
	edit(t, dir, openapi.CurationFile, "  makeReport: {hidden: false,", "  # too slow\n  makeReport: {hidden: true,")
	next := strings.NewReplacer("version: 1.0.0", "version: 2.0.0", "/things: {get", "/things: {summary: New, get").Replace(kinds) +
		"  /more: {get: {operationId: getMore, responses: {'200': {description: ok}}}}\n"
	dir, r := again(t, dir, next, openapi.Options{})
	wantNames(t, dir, "-find-things:v1", "-get-unnamed:v1", "-search-things:v1", "-things:v1",
		"find-things:v2", "get-more:v2", "get-unnamed:v2", "search-things:v2", "things:v2")
	got := intentsOf(t, dir)
	if got["find-things:v2"]["description"] != "Use it first." || got["search-things:v2"]["intent_name"] != "Search" ||
		got["find-things:v1"]["replaced_by"] != namespace+":find-things:v2" {
		t.Errorf("got %v", got["find-things:v2"])
	}
	for _, want := range []string{"get-thing:v1 was deleted", "list-things:v1 is called"} {
		if !strings.Contains(strings.Join(r.Messages, "\n"), want) {
			t.Errorf("%q is not reported: %q", want, r.Messages)
		}
	}
	if list := strings.Join(changesOf(r), ", "); !strings.Contains(list, "make-report:v1 withdrawn") {
		t.Errorf("changes: %s, want that make-report:v1 is withdrawn", list)
	}
	curated := string(dir[openapi.CurationFile])
	for _, want := range []string{
		"  # too slow\n  makeReport: {hidden: true, uid: api.example.com:make-report:v2}", "getThing: {hidden: true,",
		`listThings: {hidden: false, uid: api.example.com:find-things:v2, description: "Use it first."}`,
	} {
		if !strings.Contains(curated, want) {
			t.Errorf("%q is missing:\n%s", want, curated)
		}
	}
	same, r := again(t, dir, next, openapi.Options{})
	if string(same[openapi.CurationFile]) != curated || len(r.Messages) > 0 || r.Added+r.Changed+r.Retired+r.Hidden > 0 {
		t.Errorf("once more: %+v", r.Messages)
	}
}

func TestSelectionIsRemembered(t *testing.T) {
	dir, _ := again(t, nil, kinds, openapi.Options{Include: []string{"*Thing*", "createThing"}, Exclude: []string{"getThing"}})
	wantNames(t, dir, "list-things:v1", "search-things:v1", "create-thing:v1")
	more := kinds + "  /a: {get: {operationId: listMore, responses: {'200': {description: ok}}}}\n" +
		"  /b: {get: {operationId: listThingParts, responses: {'200': {description: ok}}}}\n"
	dir, _ = again(t, dir, more, openapi.Options{})
	wantNames(t, dir, "list-things:v1", "search-things:v1", "create-thing:v1", "list-thing-parts:v1")
	if curated := string(dir[openapi.CurationFile]); !strings.Contains(curated, "listMore: {hidden: true,") {
		t.Errorf("a new operation is not listed: %s, want a text that contains %q", curated, "listMore: {hidden: true,")
	}
	// Another selection adds intents. Intents that a person hid stay hidden, even if the same flags are used again.
	edit(t, dir, openapi.CurationFile, "searchThings: {hidden: false,", "searchThings: {hidden: true,")
	for range 2 {
		dir, _ = again(t, dir, more, openapi.Options{Include: []string{"*Thing*", "listMore"}})
		wantNames(t, dir, "list-things:v1", "create-thing:v1", "list-thing-parts:v1", "list-more:v1")
	}
	dir, _ = again(t, dir, more, openapi.Options{Tags: []string{"a"}, Exclude: []string{"create*", "getThing"}})
	wantNames(t, dir, "list-things:v1", "list-thing-parts:v1", "list-more:v1")
}

func TestOnlyPicksAreOffered(t *testing.T) {
	dir, _ := again(t, nil, kinds, openapi.Options{})
	dir, r := again(t, dir, kinds, openapi.Options{Pick: []string{"createThing", namespace + ":get-thing:v1", "GET /unnamed"}})
	wantNames(t, dir, "create-thing:v1", "get-thing:v1", "get-unnamed:v1")
	if r.Hidden != 4 || r.Added != 1 {
		t.Errorf("got %+v; want Hidden 4 and Added 1", r)
	}
	more := kinds + "  /b: {get: {operationId: listMore, responses: {'200': {description: ok}}}}\n"
	dir, _ = again(t, dir, more, openapi.Options{})
	wantNames(t, dir, "create-thing:v1", "get-thing:v1", "get-unnamed:v1")
	o := openapi.Options{Namespace: namespace, Pick: []string{"createThing", "listThing"}}
	_, err := openapi.Convert(t.Context(), []byte(kinds), o)
	if !errors.Is(err, openapi.ErrOptions) || !strings.Contains(err.Error(), `"listThing"; did you mean listThings?`) {
		t.Errorf("err = %v; want %v and an error that contains %q", err, openapi.ErrOptions, `"listThing"; did you mean listThings?`)
	}
}

// A uid that a person wrote is kept, whatever its namespace. Generated uids follow --namespace.
func TestUIDOfOtherNamespaceIsKept(t *testing.T) {
	dir, _ := again(t, nil, kinds, openapi.Options{})
	file := string(dir[openapi.CurationFile])
	dir[openapi.CurationFile] = []byte(strings.Replace(file, namespace+":get-thing:v1", "other.example:thing:v1", 1))
	for range 2 {
		dir, _ = again(t, dir, kinds, openapi.Options{})
		all := intentsOf(t, dir)
		if all["other.example:thing:v1"] == nil || all["list-things:v1"] == nil || all["get-thing:v1"]["retired"] != true {
			t.Fatalf("got %s", dir[openapi.CurationFile])
		}
	}
	curated, err := openapi.Curate(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	found, err := openapi.Convert(t.Context(), []byte(kinds), openapi.Options{Namespace: "moved.example", Curation: curated})
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range found.Intents {
		if uid := in.UID.String(); strings.HasPrefix(uid, namespace) || uid == "moved.example:thing:v1" {
			t.Errorf("got %s", uid)
		}
	}
}

// A directory of an earlier version has no curation file: its intents are kept, and deleted ones are not added again.
func TestDirectoriesOfEarlierVersions(t *testing.T) {
	dir, _ := rerun(t, nil, before, openapi.Options{})
	delete(dir, openapi.CurationFile)
	record := tree(t, string(dir[openapi.RecordFile]))
	for _, member := range []string{"document_version", "selection", "texts"} {
		delete(record, member)
	}
	dir[openapi.RecordFile] = []byte(asJSON(t, record))
	file := tree(t, string(dir[openapi.AgentsFile]))
	file["intents"] = file["intents"].([]any)[1:] // without the first intent
	dir[openapi.AgentsFile] = []byte(asJSON(t, file))
	dir, _ = again(t, dir, before, openapi.Options{})
	wantNames(t, dir, "b:v1", "c:v1", "d:v1")
	if curated := string(dir[openapi.CurationFile]); !strings.Contains(curated, "  a: {hidden: true, uid: api.example.com:a:v1}") {
		t.Errorf("got %s, want a text that contains %q", curated, "  a: {hidden: true, uid: api.example.com:a:v1}")
	}
}

// Lines of a new curation file have no white space at their ends, so that the next run does not change them.
func TestCurationHasNoTrailingSpace(t *testing.T) {
	first, _ := rerun(t, nil, offered, openapi.Options{})
	for line := range strings.Lines(string(first[openapi.CurationFile])) {
		if text := strings.TrimSuffix(line, "\n"); strings.TrimRight(text, " ") != text {
			t.Errorf("%q ends with a space", text)
		}
	}
}
