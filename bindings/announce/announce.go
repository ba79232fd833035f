// Package announce publishes the addresses of a service's doors in the documents that registries and crawlers of other protocols read:
// the AI catalog, the API catalog (RFC 9727) and the MCP server card.
package announce

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/uimgate/uimgate/bindings/mcp"
	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/intents/toolname"
	"github.com/uimgate/uimgate/internal/reason"
)

// The paths of the documents.
const (
	AICatalog  = "/.well-known/ai-catalog.json"
	apiCatalog = "/.well-known/api-catalog"
	serverCard = "/.well-known/mcp/server-card.json" // the same card is also served below the path of the endpoint
)

// Media types.
const (
	mediaAICatalog  = "application/ai-catalog+json"
	mediaServerCard = "application/mcp-server-card+json"
	mediaAgentCard  = "application/a2a-agent-card+json"
	mediaLinkset    = `application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"`
	mediaJSON       = "application/json"
)

// A Door serves the documents of each service. It is safe for concurrent use.
type Door struct {
	version string
	made    door.Cache[map[string]document] // the documents of each service, by route
}

type document struct {
	kind string // media type
	body []byte
	etag string
}

// Name implements door.Module.
func (d *Door) Name() string { return "announce" }

// Provision implements door.Module.
func (d *Door) Provision(_ context.Context, p door.Process) error {
	d.version = cmp.Or(p.Version, "0")
	return nil
}

// Route returns the route of a document, or "" for any other path. Both paths of the server card have the same route.
func (d *Door) Route(s *service.Definition, path string) string {
	switch path {
	case AICatalog, apiCatalog:
		return path
	case serverCard, cardPath(s):
		if cardPath(s) != "" {
			return serverCard
		}
	}
	return ""
}

// cardPath returns the path of the MCP server card below the MCP endpoint, or "" if the service has no MCP endpoint.
func cardPath(s *service.Definition) string {
	if own := mcp.SettingsOf(s); own != nil {
		return own.Path + "/server-card"
	}
	return ""
}

// Serve responds to GET and HEAD with a document, and refuses all other methods.
func (d *Door) Serve(w http.ResponseWriter, r *http.Request, v *door.Request) {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		refused(w, v, reason.MethodNotAllowed.Refusal(""))
		return
	}
	all, err := d.documents(v.Service.Definition)
	if err != nil {
		refused(w, v, reason.Internal.Refusal("The document could not be encoded.").Because(err))
		return
	}
	route := d.Route(v.Service.Definition, r.URL.Path)
	if route == apiCatalog {
		h.Set("Link", "<"+v.Service.At(apiCatalog)+`>; rel="api-catalog"`)
	}
	h.Set("ETag", all[route].etag)
	h.Set("Cache-Control", "public, max-age=60")
	h.Set("Content-Type", all[route].kind)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(all[route].body))
}

// documents returns the documents of a service by route. It encodes them when they are first requested, and then returns the cached ones.
func (d *Door) documents(s *service.Definition) (map[string]document, error) {
	return d.made.Get(s, nil, func() (map[string]document, error) {
		all := map[string]document{}
		for route, of := range map[string]struct {
			kind string
			tree any
		}{
			AICatalog: {mediaAICatalog, aiCatalog(s)}, apiCatalog: {mediaLinkset, linkset(s)}, serverCard: {mediaServerCard, card(s, d.version)},
		} {
			body, err := json.Marshal(of.tree)
			if err != nil {
				return nil, err
			}
			all[route] = document{of.kind, body, wire.ETag(body)}
		}
		return all, nil
	})
}

func refused(w http.ResponseWriter, v *door.Request, f *reason.Refusal) {
	v.Refusal = f
	wire.WriteHeader(w.Header(), f, v.Service.Issuer)
	w.WriteHeader(f.Status())
	_, _ = w.Write(wire.Envelope(f, v.About(f)))
}

// An entry describes one document in the AI catalog. Agent-Card/ai-catalog, specification 1.0.
type entry struct {
	Identifier string   `json:"identifier"`
	Name       string   `json:"displayName,omitempty"`
	Type       string   `json:"type"`
	URL        string   `json:"url"`
	Tags       []string `json:"tags,omitempty"`
}

func aiCatalog(s *service.Definition) any {
	name, domain := s.Catalog.Service.Name, toolname.Domain(s.Issuer)
	identifier := func(kind string) string { return "urn:air:" + domain + ":" + kind + ":" + s.ID }
	entries := []entry{}
	if card := cardPath(s); card != "" {
		entries = append(entries, entry{identifier("mcp"), name, mediaServerCard, s.At(card), nil})
	}
	announced := s.Announced()
	if card := announced.EntryPoint("agent_card"); card != "" {
		entries = append(entries, entry{identifier("a2a"), name, mediaAgentCard, card, nil})
	}
	return map[string]any{
		"specVersion": "1.0",
		"host":        map[string]string{"displayName": cmp.Or(name, domain), "identifier": domain},
		"entries": append(entries,
			entry{identifier("uim"), name, mediaJSON, s.At("/agents.json"), []string{"uim"}},
			entry{identifier("openapi"), name, "application/openapi+json", s.At("/openapi.json"), nil}),
	}
}

// A link is a target of a linkset. See RFC 9264, section 4.2.
type link struct {
	Href string `json:"href"`
	Type string `json:"type,omitempty"`
}

// linkset returns the API catalog. RFC 9727 4; its link relations are defined in RFC 8631.
func linkset(s *service.Definition) any {
	meta := []link{{s.At("/agents.json"), mediaJSON}}
	if card := cardPath(s); card != "" {
		meta = append(meta, link{s.At(card), mediaServerCard})
	}
	announced := s.Announced()
	if card := announced.EntryPoint("agent_card"); card != "" {
		meta = append(meta, link{card, mediaJSON})
	}
	return map[string]any{"linkset": []any{map[string]any{
		"anchor":       s.At("/api/intents/execute"),
		"service-desc": []link{{s.At("/openapi.json"), mediaJSON}},
		"service-doc":  []link{{s.At("/api/policy"), "application/ld+json"}, {s.At("/"), "text/html"}},
		"service-meta": meta,
	}}}
}

// A Remote is an endpoint of an MCP server.
type Remote struct {
	Type     string   `json:"type"`
	URL      string   `json:"url"`
	Versions []string `json:"supportedProtocolVersions,omitempty"`
	Headers  []Header `json:"headers,omitempty"`
}

// A Card is an MCP server card, or a server.json for the MCP registry: the two formats are nearly the same. MCP,
// experimental-ext-server-card; registry, server.json.
type Card struct {
	Schema      string   `json:"$schema"`
	Name        string   `json:"name"`
	Version     string   `json:"version"`
	Description string   `json:"description"`
	Title       string   `json:"title,omitempty"`
	WebsiteURL  string   `json:"websiteUrl,omitempty"`
	Remotes     []Remote `json:"remotes"`
}

func card(s *service.Definition, version string) Card {
	about, announced := s.Catalog.Service, s.Announced()
	return Card{
		Schema: "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json",
		Name:   toolname.Reverse(s.Issuer) + "/" + s.ID, Version: version,
		Description: short(cmp.Or(about.Description, about.Name, s.Issuer)), Title: short(about.Name), WebsiteURL: s.At("/"),
		Remotes: []Remote{{
			Type: "streamable-http", URL: announced.EntryPoint(mcp.Name), Versions: []string{"2026-07-28", "2025-11-25"},
		}},
	}
}

// short replaces each run of white space in s with one space, and shortens the result to 100 characters, the maximum in a card.
func short(s string) string {
	const most = 100
	runes := []rune(strings.Join(strings.Fields(s), " "))
	if len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return string(runes)
}
