package mcp

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/refusal"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/wire/jsonrpc"
)

// notFound is the code for an unknown resource in revisions with a handshake; later ones use InvalidParams. See MCP 2025-11-25,
// server/resources, Error Handling.
const notFound = -32002

// A resource is a document of the service at a path below its public URL or, if it has a variable, a family of documents.
type resource struct {
	path, name, title, about, mediaType string
	private                             bool // reading it needs a PAT

	variable string // follows the path
	query    bool   // the variable is a parameter of the query
}

// documents are the resources that each service has. Those that need a PAT concern only the agent of the PAT.
var documents = []resource{
	{"/agents.json", "agents.json", "Catalogue", "All intents with their parameters.", "application/json", false, "", false},
	{"/api/policy", "policy", "Policy", "The terms as ODRL. Agreements name its digest.", "application/ld+json", false, "", false},
	{
		"/policy.md", "policy.md", "Policy in plain words", "The rules of the policy as sentences. Only the policy itself is binding.",
		"text/markdown", false, "", false,
	},
	{"/llms.txt", "llms.txt", "Overview", "What the service offers, and where to read more.", "text/markdown", false, "", false},
	{"/errors", "errors", "Reasons of refusals", "Each reason, and what to do.", "application/json", false, "", false},
	{"/api/usage/entries", "usage", "Your charges", "The entries of the agent's account.", "application/json", true, "", false},
}

// templates are the families of resources.
var templates = []resource{
	{"/api/intents/", "intent", "Intent", "One intent with its parameters.", "application/json", false, "uid", false},
	{"/errors/", "error", "Reason of a refusal", "What a reason means, and what to do.", "application/json", false, "reason", false},
	{
		"/api/policy", "agreement", "Policy of an agreement", "The policy with a digest, such as that of your PAT.", "application/ld+json", false,
		"digest", true,
	},
	{"/api/receipts/", "receipt", "Receipt", "The signed entry of a charge.", "", true, "execution_id", false},
	{
		"/api/usage/statement", "statement", "Statement", "The signed sum of the charges of a month, such as 2026-11.", "", true,
		"month", true,
	},
}

// resources responds to resources/list and resources/templates/list, with all of the list in one page. kind is the name of the member for
// the URI. See MCP 2026-07-28, server/resources, Listing Resources.
func (a *answer) resources(name, kind string, list []resource) {
	members := make([]map[string]any, 0, len(list))
	for _, r := range list {
		uri, about := a.Service.At(r.path), r.about
		if r.query {
			uri += "{?" + r.variable + "}"
		} else if r.variable != "" {
			uri = a.Service.At("/") + strings.TrimPrefix(r.path, "/") + "{" + r.variable + "}"
		}
		if r.private {
			about += " Needs a PAT of " + a.Service.Issuer + "."
		}
		member := map[string]any{kind: uri, "name": r.name, "title": r.title, "description": about}
		if r.mediaType != "" {
			member["mimeType"] = r.mediaType
		}
		members = append(members, member)
	}
	a.listing(name, members)
}

// listing responds with a whole list, in one page.
func (a *answer) listing(name string, list any) {
	if a.Params["cursor"] != nil {
		a.failed(http.StatusOK, invalidParams("The cursor is not valid for this list."))
		return
	}
	a.cacheable(map[string]any{name: list}, listedFor, "public")
}

// cacheable responds with a result that clients may cache, for a number of milliseconds.
func (a *answer) cacheable(result map[string]any, ttl int, scope string) {
	if a.revision.alone {
		result["ttlMs"], result["cacheScope"] = ttl, scope
	}
	a.plain(result)
}

// plain responds with a result that concerns this request only.
func (a *answer) plain(result map[string]any) {
	if a.revision.alone {
		result["resultType"] = "complete"
	}
	text, err := json.Marshal(result)
	if err != nil { // strings and constants can always be encoded
		text = []byte("{}")
	}
	a.result(text)
}

// read responds to resources/read: with the response of the service's listener to a GET request by the same client.
func (*Door) read(r *http.Request, a *answer, _ execute.Call) {
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
	d := a.Document(r.Context(), target)
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
		a.cacheable(map[string]any{"contents": []any{content}}, 0, "private")
	case d.Status == http.StatusNotFound:
		a.unknownResource(uri)
	default:
		a.failed(http.StatusOK, &jsonrpc.Error{Code: jsonrpc.InternalError, Message: "The resource could not be read.", Data: jsonOrNil(d.Body)})
	}
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
