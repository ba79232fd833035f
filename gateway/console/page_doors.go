package console

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/gateway/admin/catalogue"
	"github.com/uimgate/uimgate/gateway/admin/operation"
	"github.com/uimgate/uimgate/gateway/door"
)

func (r *request) doorsPage() error {
	status := r.console.Operator.Statuses.LocalStatus(r.Context())
	p := pageView{Title: "Doors", Lead: "The protocols of agents, and where agents find the service."}
	if r.console.Directory.Current().Playground {
		p.Sections = append(p.Sections, section{Links: []cell{link("Make a call as a test agent", r.address(at("doors", "try")))}})
	}
	for _, s := range status.Services {
		if s.ID != r.service() {
			continue
		}
		p.Sections = append(p.Sections, section{Title: "UIM over HTTP", Facts: []fact{
			{"Public URL", text(s.PublicURL)},
			{"Policy", text(s.PublicURL + "/api/policy")},
			{"Page for people", text(s.PublicURL + "/")},
		}})
		for _, d := range s.Doors {
			p.Sections = append(p.Sections, doorSection(d))
		}
	}
	connections, err := read(r, operation.Connections, catalogue.ConnectionQuery{Service: r.service()})
	if err != nil {
		return err
	}
	how := section{Title: "How clients connect", Text: "The texts contain no keys and no tokens: each agent agrees with its own key."}
	p.Sections = append(p.Sections, how)
	for _, c := range connections.Items {
		p.Sections = append(p.Sections, section{Sub: c.Client, Text: "For " + c.Place + ":", Pre: c.Text})
	}
	return r.show(http.StatusOK, p)
}

// doorSection describes a door that is open: its addresses, queues and last errors.
func doorSection(d door.Status) section {
	out := section{Title: d.Door}
	for _, kind := range slices.Sorted(maps.Keys(d.Addresses)) {
		out.Facts = append(out.Facts, fact{memberWords(kind), code(d.Addresses[kind])})
	}
	if d.Activity == nil {
		return out
	}
	var members map[string]any
	data, err := json.Marshal(d.Activity)
	if err != nil || json.Unmarshal(data, &members) != nil {
		return out
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		value := code(jsonText(members[name]))
		if s, ok := members[name].(string); ok {
			value = text(s)
		}
		out.Facts = append(out.Facts, facts(fact{memberWords(name), value})...)
	}
	return out
}

// memberWords returns the name of a member, such as last_error, as words.
func memberWords(name string) string {
	if name == "" {
		return ""
	}
	return strings.ToUpper(name[:1]) + strings.ReplaceAll(name[1:], "_", " ")
}
