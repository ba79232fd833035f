package discovery_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/discovery"
	agenttest "github.com/uimgate/uimgate/internal/test/agent"
)

// A loopbackTransport sends the requests for some hosts to servers on the loopback address, and responds with 404 for others.
type loopbackTransport struct{ servers map[string]string }

func (p loopbackTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	server, ok := p.servers[r.URL.Host]
	if !ok {
		return &http.Response{StatusCode: http.StatusNotFound, Body: http.NoBody, Header: http.Header{}, Request: r}, nil
	}
	inner := r.Clone(r.Context())
	inner.URL.Scheme, inner.URL.Host, inner.Host = "http", strings.TrimPrefix(server, "http://"), ""
	response, err := http.DefaultTransport.RoundTrip(inner)
	if response != nil {
		response.Request = r
	}
	return response, err
}

// The intents of the shop are in the namespace shop.example. If the DNS of another domain leads to them, that domain must confirm the name.
func TestNamespaceOfAnotherDomainIsRefused(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	s := newServer(t)
	for domain, host := range map[string]string{
		"shop.example": "files.example", "api.shop.example": "files.example", "customer.shop.example": "customer.example",
		"evil.example": "files.example", "notshop.example": "files.example", "shop.example.evil.example": "files.example",
		"bücher.example": "files.example",
	} {
		ascii, err := discovery.ParseDomain(domain)
		if err != nil {
			t.Fatal(err)
		}
		s.add(t, ascii+`. 60 IN TXT "uim-agents-file=https://`+host+`/agents.json"`)
	}
	r, _ := resolver(t, s)
	wrap := func(http.RoundTripper) http.RoundTripper {
		return loopbackTransport{map[string]string{"files.example": shop.URL, "customer.example": shop.URL}}
	}
	client, err := agent.New(agent.Options{Locate: r.Locate, Now: shop.Clock.Now, Wrap: wrap})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	for domain, want := range map[string]bool{
		"shop.example": true, "api.shop.example": true, "customer.shop.example": false, "evil.example": false, "notshop.example": false,
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
		if !ok || refused.Name != agenttest.Issuer || !errors.Is(err, agent.ErrNoService) {
			t.Errorf("%s: %v, want a *agent.NamespaceError of %s", domain, err, agenttest.Issuer)
		}
	}
	// A caller that uses the URL of the file needs no protection.
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
		{"api.shop.example", "shop.example", false},
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
			t.Errorf("%s for %s: %v, want %v", tt.domain, tt.name, got, tt.want)
		}
	}
}

func TestBelongsTo(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		domain, name string
		want         bool
	}{
		{"api.shop.example", "shop.example", true},
		{"shop.example", "shop.example", false},
		{"shop.example", "api.shop.example", false},
		{"notshop.example", "shop.example", false},
		{"evil.co.uk", "co.uk", false},
		{"evil.github.io", "github.io", false},
		{"shop.com", "com", false},
		{"shop.example", "", false},
		{"", "", false},
	} {
		if got := discovery.BelongsTo(tt.domain, tt.name); got != tt.want {
			t.Errorf("%s to %s: %v, want %v", tt.domain, tt.name, got, tt.want)
		}
	}
}
