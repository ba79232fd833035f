package discovery_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/agent/agenttest"
	"github.com/uimgate/uimgate/discovery"
)

// through sends the requests for a host to a server on the loopback address, and answers 404 for others.
type through struct{ host, server string }

func (p through) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host != p.host {
		return &http.Response{StatusCode: http.StatusNotFound, Body: http.NoBody, Header: http.Header{}, Request: r}, nil
	}
	inner := r.Clone(r.Context())
	inner.URL.Scheme, inner.URL.Host, inner.Host = "http", strings.TrimPrefix(p.server, "http://"), ""
	response, err := http.DefaultTransport.RoundTrip(inner)
	if response != nil {
		response.Request = r
	}
	return response, err
}

// The shop's intents are in the namespace shop.example. A domain whose DNS leads to them has to vouch for that name.
func TestADomainCannotOfferAnothersIntents(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	s := newServer(t)
	for _, domain := range []string{
		"shop.example", "api.shop.example", "evil.example", "notshop.example", "shop.example.evil.example", "bücher.example",
	} {
		ascii, err := discovery.ParseDomain(domain)
		if err != nil {
			t.Fatal(err)
		}
		s.add(t, ascii+`. 60 IN TXT "uim-agents-file=https://files.example/agents.json"`)
	}
	r, _ := resolver(t, s)
	wrap := func(http.RoundTripper) http.RoundTripper { return through{"files.example", shop.URL} }
	client, err := agent.New(agent.Options{Locate: r.Locate, Now: shop.Clock.Now, Wrap: wrap})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	for domain, want := range map[string]bool{
		"shop.example": true, "api.shop.example": true, "evil.example": false, "notshop.example": false,
		"shop.example.evil.example": false, "bücher.example": false,
	} {
		service, err := client.Discover(t.Context(), domain)
		if want {
			if err != nil || service.Endpoints().Agents != "https://files.example/agents.json" {
				t.Errorf("%s: %v, %v", domain, service, err)
			}
			continue
		}
		refused, ok := errors.AsType[*agent.NamespaceError](err)
		if !ok || refused.Name != agenttest.Issuer || refused.Host != "files.example" || !errors.Is(err, agent.ErrNoService) {
			t.Errorf("%s: %v, want a *agent.NamespaceError of %s at files.example", domain, err, agenttest.Issuer)
		}
	}
	// A caller who names the file itself need not be protected.
	if _, err := client.Discover(t.Context(), "https://files.example/agents.json"); err != nil {
		t.Error(err)
	}
}

func TestSpeaksFor(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		domain, name string
		want         bool
	}{
		{"shop.example", "shop.example", true},
		{"shop.example", "tea.shop.example", true},
		{"api.shop.example", "shop.example", true},
		{"notshop.example", "shop.example", false},
		{"evil.co.uk", "co.uk", false},
		{"evil.github.io", "github.io", false},
		{"evil.github.io", "other.github.io", false},
		{"shop.com", "com", false},
		{"shop.example", "", false},
		{"", "shop.example", false},
		{"", "", false},
	} {
		if got := discovery.SpeaksFor(tt.domain, tt.name); got != tt.want {
			t.Errorf("%s for %s: %v", tt.domain, tt.name, got)
		}
	}
}
