package admin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"

	"github.com/uimgate/uimgate/gateway/admin"
	"github.com/uimgate/uimgate/gateway/admin/agreements"
	"github.com/uimgate/uimgate/gateway/admin/signin"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// An adminDocument is the part of openapi.json that tests compare with the handlers.
type adminDocument struct {
	Paths map[string]map[string]struct {
		OperationID string `json:"operationId"`
		RequestBody *struct {
			Content map[string]struct {
				Schema struct {
					Ref string `json:"$ref"`
				} `json:"schema"`
			} `json:"content"`
		} `json:"requestBody"`
	} `json:"paths"`
	Components struct {
		Schemas map[string]struct {
			Properties map[string]json.RawMessage `json:"properties"`
			Required   []string                   `json:"required"`
		} `json:"schemas"`
	} `json:"components"`
}

// strictDocument validates with openapi.json, in which the schemas of responses are closed: they have all members that are ever sent.
var strictDocument = sync.OnceValues(func() (validator.Validator, error) {
	text, err := new(admin.Operator).OpenAPI(context.Background())
	if err != nil {
		return nil, err
	}
	var doc map[string]any
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	for name, schema := range doc["components"].(map[string]any)["schemas"].(map[string]any) {
		if s := schema.(map[string]any); name != "Error" && s["properties"] != nil {
			s["additionalProperties"] = false
		}
	}
	if text, err = json.Marshal(doc); err != nil {
		return nil, err
	}
	parsed, err := libopenapi.NewDocument(text)
	if err != nil {
		return nil, err
	}
	v, errs := validator.NewValidator(parsed)
	if len(errs) > 0 {
		return nil, errs[0]
	}
	return v, nil
})

// described compares a response with openapi.json and, if the status is 200, the request too. Paths and methods that the API does not have
// are not in the document.
func (g *adminGate) described(r *http.Request, a gatetest.Answer) {
	g.Helper()
	if a.Status == http.StatusMethodNotAllowed || bytes.Contains(a.Body, []byte(`"NO_SUCH_PATH"`)) {
		return
	}
	v, err := strictDocument()
	g.Must(err)
	if a.Status == http.StatusOK {
		if ok, problems := v.ValidateHttpRequestSync(r); !ok {
			for _, p := range problems {
				g.Errorf("%s %s: the request does not fit openapi.json: %s: %s", r.Method, r.URL.Path, p.Message, p.Reason)
			}
		}
	}
	response := &http.Response{StatusCode: a.Status, Header: a.Header, Body: io.NopCloser(bytes.NewReader(a.Body))}
	if ok, problems := v.ValidateHttpResponse(r, response); !ok {
		for _, p := range problems {
			g.Errorf("%s %s: the response does not fit openapi.json: %s: %s %v", r.Method, r.URL.Path, p.Message, p.Reason, p.SchemaValidationErrors)
		}
	}
}

func TestOpenAPIHasTheOperations(t *testing.T) {
	g := newAdminGate(t, "")
	text := g.do("GET", "/openapi.json", nil).Body
	v, err := strictDocument()
	g.Must(err)
	if ok, problems := v.ValidateDocument(); !ok {
		for _, p := range problems {
			t.Errorf("%s: %s", p.Message, p.Reason)
		}
	}
	var doc adminDocument
	g.Must(json.Unmarshal(text, &doc))
	var got, ids []string
	for path, item := range doc.Paths {
		for method, op := range item {
			got, ids = append(got, strings.ToUpper(method)+" "+strings.TrimPrefix(path, admin.Path)), append(ids, op.OperationID)
			a := g.Send(g.request(strings.ToUpper(method), strings.ReplaceAll(path, "{id}", "a")+"?bogus=1", nil))
			g.Refuses(a, http.StatusBadRequest, "MALFORMED_REQUEST")
		}
	}
	want := admin.OperationNames(g.operator)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("openapi.json has %v, want %v", got, want)
	}
	slices.Sort(ids)
	if n := len(slices.Compact(ids)); n != len(want) {
		t.Errorf("%d operation ids, want %d", n, len(want))
	}
	for _, o := range everyOperation {
		if path := strings.ReplaceAll(o[1], "/a/", "/{id}/"); !slices.Contains(got, o[0]+" "+strings.TrimSuffix(path, "/a")) &&
			!slices.Contains(got, o[0]+" "+strings.TrimSuffix(path, "/a")+"/{id}") {
			t.Errorf("openapi.json does not have %v", o)
		}
	}
}

// The API accepts the members of bodies that openapi.json describes and no others, and refuses a body that lacks a required one.
func TestOpenAPIHasTheMembersOfBodies(t *testing.T) {
	g := newAdminGate(t, "")
	var doc adminDocument
	g.Must(json.Unmarshal(g.do("GET", "/openapi.json", nil).Body, &doc))
	type refused struct {
		Error struct {
			Details struct {
				Known   []string
				Pointer string
			}
		}
	}
	for path, item := range doc.Paths {
		op, ok := item["post"]
		if !ok {
			continue
		}
		path = strings.ReplaceAll(strings.TrimPrefix(path, admin.Path), "{id}", "a")
		var members, required []string
		if op.RequestBody != nil {
			schema := doc.Components.Schemas[strings.TrimPrefix(op.RequestBody.Content["application/json"].Schema.Ref, "#/components/schemas/")]
			members, required = slices.Sorted(maps.Keys(schema.Properties)), schema.Required
			if len(members) == 0 {
				t.Errorf("%s: the body has no members", path)
			}
		}
		body := map[string]any{"bogus": 1}
		for _, name := range required {
			body[name] = "x"
		}
		a := g.do("POST", path, body)
		g.Refuses(a, http.StatusBadRequest, "MALFORMED_REQUEST")
		known := decodeLoosely[refused](g, a).Error.Details.Known
		slices.Sort(known)
		if !slices.Equal(known, members) {
			t.Errorf("%s: the API accepts %v, and openapi.json has %v", path, known, members)
		}
		delete(body, "bogus")
		for _, name := range required {
			rest := maps.Clone(body)
			delete(rest, name)
			a := g.do("POST", path, rest)
			g.Refuses(a, http.StatusBadRequest, "MALFORMED_REQUEST")
			if got := decodeLoosely[refused](g, a).Error.Details.Pointer; got != "/"+name {
				t.Errorf("%s without %s: the refusal points to %q", path, name, got)
			}
		}
	}
}

func decodeLoosely[T any](g *adminGate, a gatetest.Answer) (v T) {
	g.Helper()
	g.Must(json.Unmarshal(a.Body, &v))
	return v
}

// The tests of other packages carry out these operations, without a comparison with openapi.json.
func TestOpenAPIDescribesLinksAndInvitations(t *testing.T) {
	g := newAdminGate(t, "")
	g.settings.ConsoleURL = func() string { return g.listener.URL + admin.ConsolePath }
	g.listener.Config.Handler = g.handler(admin.New(g.settings), adminToken)
	ann := map[string]any{"name": "ann", "role": "viewer"}
	if l := ask[signin.ConsoleLink](g, "POST", "/console/links", ann); l.Name != "ann" || l.Code == "" {
		t.Errorf("got the link of %q for ann", l.Name)
	}
	if i := ask[agreements.Invitation](g, "POST", "/invitations", map[string]any{"name": "bob", "within": "1h"}); i.Name != "bob" ||
		i.Code == "" {
		t.Errorf("got the invitation of %q for bob", i.Name)
	}
}
