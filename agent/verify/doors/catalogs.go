package doors

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"unicode/utf8"

	"github.com/uimgate/uimgate/agent/verify/internal/point"
	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// maxLooked limits how many addresses of one document are requested.
const maxLooked = 20

// announced fetches an optional document.
func (d *Doors) announced(ctx context.Context, path string) (strictjson.Object, point.Finding) {
	m, f := d.document(ctx, at(d.Agents.String(), path))
	if f.Outcome == point.Missing {
		return nil, notOffered(f.Detail)
	}
	return m, f
}

// aiCatalog checks /.well-known/ai-catalog.json. Agent-Card/ai-catalog, specification 1.0.
func (d *Doors) aiCatalog(ctx context.Context) point.Finding {
	m, f := d.announced(ctx, "/.well-known/ai-catalog.json")
	if !f.Ok() {
		return f
	}
	entries, isList := m["entries"].([]any)
	switch {
	case m.Text("specVersion") == "":
		return point.Wrong.Because("specVersion is missing")
	case !isList || len(entries) > maxList:
		return point.Wrong.Because("entries is not a list of at most %d items", maxList)
	}
	var bad, named, cards []string
	for i, item := range entries {
		e, _ := strictjson.AsObject(item)
		if e.Text("identifier") == "" || e.Text("type") == "" || e.Has("url") == e.Has("data") {
			bad = append(bad, fmt.Sprintf("/entries/%d does not have identifier, type, and either url or data", i))
			continue
		}
		if e.Has("url") {
			named = append(named, e.Text("url"))
			if e.Text("type") == "application/a2a-agent-card+json" {
				cards = append(cards, e.Text("url"))
			}
		}
	}
	if card := at(d.a2a.url, cardPath); d.a2a.url != "" && len(cards) > 0 && !slices.Contains(cards, card) {
		bad = append(bad, "it does not name the agent card of uim-a2a")
	}
	if len(bad) > 0 {
		return point.WrongIfAny(bad)
	}
	return d.there(ctx, named)
}

// apiCatalog checks /.well-known/api-catalog, which has the form of a linkset. See RFC 9264, section 4.2.
func (d *Doors) apiCatalog(ctx context.Context) point.Finding {
	const path = "/.well-known/api-catalog"
	m, f := d.announced(ctx, path)
	if !f.Ok() {
		return f
	}
	contexts, isList := m["linkset"].([]any)
	if !isList || len(contexts) > maxList {
		return point.Wrong.Because("linkset is not a list of at most %d items", maxList)
	}
	base := *d.Agents
	base.Path, base.RawPath, base.RawQuery, base.Fragment = path, "", "", ""
	var named []string
	for i, item := range contexts {
		one, _ := strictjson.AsObject(item)
		if one == nil || one["anchor"] != nil && one.Text("anchor") == "" {
			return point.Wrong.Because("/linkset/%d is not an object with an anchor that is a URL", i)
		}
		for _, relation := range one.Names() {
			if relation == "anchor" {
				continue
			}
			for _, target := range strictjson.AsList(one[relation]) {
				link, _ := strictjson.AsObject(target)
				to, err := base.Parse(link.Text("href"))
				if _, isList := one[relation].([]any); !isList || link.Text("href") == "" || err != nil {
					return point.Wrong.Because("/linkset/%d: %.64q is not a list of links with href", i, relation)
				}
				named = append(named, to.String())
			}
		}
	}
	return d.there(ctx, named)
}

// there requests the addresses in a document. Those at the service's own site must exist.
func (d *Doors) there(ctx context.Context, named []string) point.Finding {
	slices.Sort(named)
	named = slices.Compact(named)
	var bad []string
	looked := 0
	for _, address := range named {
		if !d.secure(address) {
			bad = append(bad, fmt.Sprintf("%.200q is not a URL that an agent would use", address))
			continue
		}
		if looked == maxLooked || !d.OwnURL("", address).Ok() {
			continue
		}
		looked++
		a, err := d.get(ctx, address)
		u, _ := url.Parse(address)
		switch {
		case errors.Is(err, fetch.ErrTooLarge):
		case err != nil:
			return point.Failed(err)
		case a.Status == http.StatusNotFound || a.Status == http.StatusGone:
			bad = append(bad, fmt.Sprintf("%s does not exist (%d)", u.Path, a.Status))
		}
	}
	return point.WrongIfAny(bad)
}

// serverCard checks the MCP server card. Its specification is experimental-ext-server-card.
func (d *Doors) serverCard(ctx context.Context) point.Finding {
	card, f := d.announced(ctx, "/.well-known/mcp/server-card.json")
	if !f.Ok() {
		return f
	}
	const longest = 100
	var bad []string
	for _, name := range []string{"name", "version", "description"} {
		if card.Text(name) == "" {
			bad = append(bad, name+" is not a non-empty string")
		}
	}
	if utf8.RuneCountInString(card.Text("description")) > longest {
		bad = append(bad, fmt.Sprintf("description has more than %d characters", longest))
	}
	remotes := card.List("remotes")
	if len(remotes) > maxList {
		return point.Wrong.Because("remotes has more than %d items", maxList)
	}
	named := false
	for i, item := range remotes {
		remote, _ := strictjson.AsObject(item)
		if remote.Text("type") == "" || !d.secure(remote.Text("url")) {
			bad = append(bad, fmt.Sprintf("/remotes/%d does not have a type and an https url", i))
		}
		named = named || remote.Text("url") == d.mcp.url
	}
	if d.mcp.url != "" && !named {
		bad = append(bad, "no remote is uim-mcp")
	}
	return point.WrongIfAny(bad)
}
