package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/refusal"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/wire/jsonrpc"
)

// notFound is the code for an unknown resource in revisions with a handshake; later ones use InvalidParams. See MCP 2025-11-25,
// server/resources, Error Handling.
const notFound = -32002

// A resource is a document of the service at a path below its public URL.
type resource struct {
	path, name, title, about, mediaType string
	private                             bool // reading it needs a PAT
}

// documents are the resources that each service has. Those with a PAT concern the agent of the PAT only.
var documents = []resource{
	{"/agents.json", "agents.json", "Catalogue", "All intents with their parameters.", "application/json", false},
	{"/api/policy", "policy", "Policy", "The terms as ODRL. Agreements name its digest.", "application/ld+json", false},
	{"/policy.md", "policy.md", "Policy in plain words", "The rules of the policy as sentences. Only the policy itself is binding.", "text/markdown", false},
	{"/llms.txt", "llms.txt", "Overview", "What the service offers, and where to read more.", "text/markdown", false},
	{"/errors", "errors", "Reasons of refusals", "Each reason, and what to do.", "application/json", false},
	{"/api/usage/entries", "usage", "Your charges", "The entries of the agent's account.", "application/json", true},
}

// A template is a family of resources. Its last part is a variable.
type template struct {
	resource

	variable string
	query    bool // the variable is a parameter of the query
}

var templates = []template{
	{resource{"/api/intents/", "intent", "Intent", "One intent with its parameters.", "application/json", false}, "uid", false},
	{resource{"/errors/", "error", "Reason of a refusal", "What a reason means, and what to do.", "application/json", false}, "reason", false},
	{
		resource{
			"/api/policy", "agreement", "Policy of an agreement", "The policy with a digest, such as that of your PAT.",
			"application/ld+json", false,
		},
		"digest", true,
	},
	{resource{"/api/receipts/", "receipt", "Receipt", "The signed entry of a charge.", "", true}, "execution_id", false},
	{
		resource{"/api/usage/statement", "statement", "Statement", "The signed sum of the charges of a month, such as 2026-11.", "", true},
		"month", true,
	},
}

// besideTools responds to the methods for resources, prompts and completion. It reports whether the method is one of them.
func (a *answer) besideTools(ctx context.Context) bool {
	switch a.Method {
	case "resources/list":
		a.resources()
	case "resources/templates/list":
		a.templates()
	case "resources/read":
		a.read(ctx)
	case "prompts/list":
		a.prompts()
	case "prompts/get":
		a.prompt()
	case "completion/complete":
		a.completion()
	default:
		return false
	}
	return true
}

// resources responds to resources/list. See MCP 2026-07-28, server/resources, Listing Resources.
func (a *answer) resources() {
	list := make([]map[string]any, 0, len(documents))
	for _, d := range documents {
		list = append(list, d.member(a.Service.Definition, "uri", a.Service.At(d.path)))
	}
	a.listing("resources", list)
}

// templates responds to resources/templates/list.
func (a *answer) templates() {
	list := make([]map[string]any, 0, len(templates))
	for _, t := range templates {
		uri := a.Service.At("/") + strings.TrimPrefix(t.path, "/") + "{" + t.variable + "}"
		if t.query {
			uri = a.Service.At(t.path) + "{?" + t.variable + "}"
		}
		list = append(list, t.member(a.Service.Definition, "uriTemplate", uri))
	}
	a.listing("resourceTemplates", list)
}

func (r *resource) member(s *service.Definition, kind, uri string) map[string]any {
	about := r.about
	if r.private {
		about += " Needs a PAT of " + s.Issuer + "."
	}
	member := map[string]any{kind: uri, "name": r.name, "title": r.title, "description": about}
	if r.mediaType != "" {
		member["mimeType"] = r.mediaType
	}
	return member
}

// listing responds with a whole list, in one page.
func (a *answer) listing(name string, list any) {
	result := map[string]any{name: list}
	if cursor, sent := a.Params["cursor"]; sent && cursor != nil {
		a.failed(http.StatusOK, invalidParams("The cursor is not valid for this list."))
		return
	}
	a.cacheable(result)
}

// cacheable responds with a result that is the same for every client.
func (a *answer) cacheable(result map[string]any) {
	if a.revision.alone {
		result["resultType"], result["ttlMs"], result["cacheScope"] = "complete", listedFor, "public"
	}
	a.encoded(result)
}

// plain responds with a result that concerns this request only.
func (a *answer) plain(result map[string]any) {
	if a.revision.alone {
		result["resultType"] = "complete"
	}
	a.encoded(result)
}

func (a *answer) encoded(result map[string]any) {
	text, err := json.Marshal(result)
	if err != nil { // strings and constants can always be encoded
		text = []byte("{}")
	}
	a.result(text)
}

// read responds to resources/read: with the response of the service's listener to a GET request by the same client.
func (a *answer) read(ctx context.Context) {
	uri, _ := a.Params["uri"].(string)
	target, private, known := resourceAt(a.Service.Definition, uri)
	switch {
	case !known:
		a.unknownResource(uri)
		return
	case private && a.held != nil && a.withoutPAT(a.held):
		a.refused(a.held)
		return
	case private && a.held != nil:
		f := a.held
		a.failed(http.StatusOK, &jsonrpc.Error{Code: codeOf(f), Message: refusal.Sentence(f), Data: wire.Envelope(f, a.About(f))})
		return
	}
	d := a.Document(ctx, target)
	switch {
	case d.TooLarge:
		most := strconv.Itoa(door.MaxDocument >> 20)
		a.failed(http.StatusOK, invalidParams("The resource is larger than "+most+" MiB. Read it over HTTP at "+bounded(uri)+"."))
	case d.Status == http.StatusOK:
		content := map[string]any{"uri": uri, "mimeType": d.MediaType}
		if utf8.Valid(d.Body) {
			content["text"] = string(d.Body)
		} else {
			content["blob"] = d.Body // encoding/json encodes it in base64
		}
		a.contents(content)
	case d.Status == http.StatusNotFound:
		a.unknownResource(uri)
	default:
		a.failed(http.StatusOK, &jsonrpc.Error{Code: jsonrpc.InternalError, Message: "The resource could not be read.", Data: jsonOrNil(d.Body)})
	}
}

// contents responds with the contents of a resource, which the client may keep for itself only.
func (a *answer) contents(content map[string]any) {
	result := map[string]any{"contents": []any{content}}
	if a.revision.alone {
		result["resultType"], result["ttlMs"], result["cacheScope"] = "complete", 0, "private"
	}
	a.encoded(result)
}

func jsonOrNil(body []byte) []byte {
	if json.Valid(body) {
		return body
	}
	return nil
}

func (a *answer) unknownResource(uri string) {
	e := invalidParams("Unknown resource: " + bounded(uri) + ". resources/list and resources/templates/list return the resources.")
	if !a.revision.alone {
		e.Code = notFound
	}
	a.failed(http.StatusOK, e)
}

// maxURI is the maximum length of a URI, in bytes.
const maxURI = 1000

// resourceAt returns the path and query of a resource, and whether it needs a PAT.
func resourceAt(s *service.Definition, uri string) (target string, private, known bool) {
	path, below := strings.CutPrefix(uri, strings.TrimSuffix(s.At("/"), "/"))
	if !below || len(uri) > maxURI {
		return "", false, false
	}
	for _, d := range documents {
		if path == d.path {
			return path, d.private, true
		}
	}
	u, err := url.ParseRequestURI(path)
	if err != nil {
		return "", false, false
	}
	for _, t := range templates {
		value, is := strings.CutPrefix(u.EscapedPath(), t.path)
		switch {
		case t.query && u.Path == t.path && u.Query().Get(t.variable) != "" && len(u.Query()) == 1:
			return path, t.private, true
		case !t.query && is && value != "" && !strings.Contains(value, "/") && u.RawQuery == "":
			return path, t.private, true
		}
	}
	return "", false, false
}
