package discovery_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/miekg/dns"

	"github.com/uimgate/uimgate/discovery"
)

const agentsURL = "https://shop.example/agents.json"

// The URL of agents.json in TXT records, in both forms.
const (
	specAgents  = `"uim-agents-file=https://shop.example/agents.json"`
	draftAgents = `"uim-agents=https://shop.example/agents.json"`
)

func TestLookup(t *testing.T) {
	t.Parallel()
	at := func(name string, texts ...string) (lines []string) {
		for _, text := range texts {
			lines = append(lines, fmt.Sprintf("%s 300 IN TXT %s", name, text))
		}
		return lines
	}
	apex := func(texts ...string) []string { return at("shop.example.", texts...) }
	below := func(texts ...string) []string { return at("_uim.shop.example.", texts...) }
	long := "https://shop.example/" + strings.Repeat("a", 600)
	for name, tt := range map[string]struct {
		zone []string
		want discovery.Service
		err  error
	}{
		"keys of the specification": {
			zone: apex(specAgents, `"uim-policy-file=https://shop.example/p"`, `"uim-api-discovery=https://shop.example/d"`,
				`"uim-license=UIM-BY-NC-v1.0"`),
			want: discovery.Service{
				AgentsFile: agentsURL, Policy: "https://shop.example/p", Discovery: "https://shop.example/d", License: "UIM-BY-NC-v1.0",
			},
		},
		"keys of the draft": {
			zone: below(draftAgents, `"uim-policy=https://shop.example/p"`, `"uim-discovery=https://shop.example/d"`),
			want: discovery.Service{AgentsFile: agentsURL, Policy: "https://shop.example/p", Discovery: "https://shop.example/d"},
		},
		"_uim before the apex": {
			zone: append(below(draftAgents), apex(`"uim-agents-file=https://old.example/a.json"`, `"uim-license=PD"`)...),
			want: discovery.Service{AgentsFile: agentsURL, License: "PD"},
		},
		"either key at either name, any case, spaces": {
			zone: append(below(`"UIM-Agents-File = https://shop.example/agents.json "`), apex(`"uim-policy=https://shop.example/p"`)...),
			want: discovery.Service{AgentsFile: agentsURL, Policy: "https://shop.example/p"},
		},
		"strings are joined": {
			zone: apex(`"uim-agents-file=https:" "//shop.example/agents.json"`),
			want: discovery.Service{AgentsFile: agentsURL},
		},
		"longer than one string": {
			zone: apex(`"uim-agents-file=` + long[:200] + `" "` + long[200:400] + `" "` + long[400:] + `"`),
			want: discovery.Service{AgentsFile: long},
		},
		"escapes are decoded": {
			zone: apex(`"uim-license=say \"\\hi\\\""`, `"uim-agents-file=https://shop.example/\097gents.json"`),
			want: discovery.Service{AgentsFile: agentsURL, License: `say "\hi\"`},
		},
		"other records are ignored": {
			zone: apex(`"v=spf1 -all"`, `"uim-agents-file"`, `"uim-something=else"`, `"\000\255"`, `""`, `"=x"`,
				`"xuim-agents-file=https://evil.example/"`, `"u\196\176m-agents-file=https://evil.example/"`, specAgents),
			want: discovery.Service{AgentsFile: agentsURL},
		},
		"MCP registry keys are not a conflict": {
			zone: apex(`"v=MCPv1; k=ed25519; p=AAAA"`, `"v=MCPv1; k=ed25519; p=BBBB"`, specAgents),
			want: discovery.Service{AgentsFile: agentsURL},
		},
		"duplicate": {
			zone: apex(specAgents, `"uim-agents-file=" "https://shop.example/agents.json"`, draftAgents),
			want: discovery.Service{AgentsFile: agentsURL},
		},
		"conflict":              {zone: apex(specAgents, `"uim-agents-file=https://evil.example/a"`), err: discovery.ErrConflict},
		"conflict of two names": {zone: below(specAgents, `"uim-agents=https://evil.example/a"`), err: discovery.ErrConflict},
		"conflict at the apex only": {
			zone: append(below(draftAgents), apex(`"uim-license=a"`, `"uim-license=b"`)...),
			want: discovery.Service{AgentsFile: agentsURL},
		},
		"not a URL":          {zone: apex(`"uim-agents-file=shop.example/agents.json"`), err: discovery.ErrRecord},
		"another scheme":     {zone: apex(`"uim-agents-file=file:///etc/passwd"`), err: discovery.ErrRecord},
		"with a password":    {zone: apex(`"uim-agents-file=https://a:b@shop.example/"`), err: discovery.ErrRecord},
		"with a fragment":    {zone: apex(`"uim-policy-file=https://shop.example/#a"`), err: discovery.ErrRecord},
		"empty":              {zone: apex(`"uim-agents-file="`), err: discovery.ErrRecord},
		"control characters": {zone: apex(`"uim-license=\027[31m"`), err: discovery.ErrRecord},
		"not ASCII":          {zone: apex(`"uim-license=\195\164"`), err: discovery.ErrRecord},
		"too long":           {zone: apex(`"uim-license=` + strings.Repeat(strings.Repeat("x", 200)+`" "`, 11) + `"`), err: discovery.ErrRecord},
		"no such domain":     {zone: at("other.example.", `"x"`), err: discovery.ErrNoDomain},
		"no such records":    {zone: apex(`"v=spf1 -all"`), err: discovery.ErrNoRecords},
		"no records at all":  {zone: []string{"shop.example."}, err: discovery.ErrNoRecords},
		"CNAME": {
			zone: append([]string{"_uim.shop.example. 300 IN CNAME uim.hosting.example."}, at("uim.hosting.example.", draftAgents)...),
			want: discovery.Service{AgentsFile: agentsURL},
		},
		"CNAME chain": {
			zone: append(cnames("_uim.shop.example.", 7), at("c7.example.", draftAgents)...),
			want: discovery.Service{AgentsFile: agentsURL},
		},
		"CNAME without target": {
			zone: append(cnames("_uim.shop.example.", 2), apex(specAgents)...), want: discovery.Service{AgentsFile: agentsURL},
		},
		"CNAME chain too long": {zone: append(cnames("_uim.shop.example.", 9), at("c9.example.", draftAgents)...), err: discovery.ErrChain},
		"CNAME loop": {
			zone: []string{
				"_uim.shop.example. 300 IN CNAME a.example.", "a.example. 300 IN CNAME b.example.", "b.example. 300 IN CNAME a.example.",
			},
			err: discovery.ErrChain,
		},
		"CNAME to itself": {zone: []string{"shop.example. 300 IN CNAME shop.example."}, err: discovery.ErrChain},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, _ := resolver(t, newServer(t, tt.zone...))
			listing, err := r.Lookup(t.Context(), "shop.example")
			if !errors.Is(err, tt.err) || (err == nil) != (tt.err == nil) {
				t.Fatalf("err = %v, want %v", err, tt.err)
			}
			if err == nil {
				tt.want.Domain = "shop.example"
			}
			if diff := cmp.Diff(tt.want, listing.Service); diff != "" {
				t.Errorf("differs (-want +got):\n%s", diff)
			}
		})
	}
}

// cnames returns CNAME records from a name over c1.example. to c<n>.example.
func cnames(from string, n int) (lines []string) {
	for i := range n {
		to := fmt.Sprintf("c%d.example.", i+1)
		lines = append(lines, from+" 300 IN CNAME "+to)
		from = to
	}
	return lines
}

func TestConflictErrorHasBothValues(t *testing.T) {
	t.Parallel()
	r, _ := resolver(t, newServer(t, `shop.example. 60 IN TXT "uim-agents-file=https://b.example/"`,
		`shop.example. 60 IN TXT "uim-agents-file=https://a.example/"`))
	_, err := r.Lookup(t.Context(), "shop.example")
	want := discovery.ConflictError{
		Name: "shop.example.", Field: discovery.AgentsFile, Values: [2]string{"https://a.example/", "https://b.example/"},
	}
	if conflict, ok := errors.AsType[*discovery.ConflictError](err); !ok || *conflict != want {
		t.Errorf("err = %v, want %v", err, &want)
	}
	if text := err.Error(); !strings.Contains(text, "a.example") || !strings.Contains(text, "b.example") {
		t.Error(text)
	}
}

func TestAuthenticatedNeedsEveryAnswer(t *testing.T) {
	t.Parallel()
	s := newServer(t, `shop.example. 60 IN TXT `+specAgents)
	for _, except := range []string{"", "_uim.shop.example.", "shop.example."} {
		s.mangleBy(func(m *dns.Msg, _ bool) {
			m.AuthenticatedData = !strings.EqualFold(m.Question[0].Name, except)
		})
		r, _ := resolver(t, s)
		found, err := r.Lookup(t.Context(), "shop.example")
		if err != nil || found.Authenticated != (except == "") {
			t.Errorf("without %q: %v, %v; want %v, nil", except, found.Authenticated, err, except == "")
		}
	}
}

func TestQueryRequestsDNSSECAndSmallPackets(t *testing.T) {
	t.Parallel()
	s := newServer(t, `shop.example. 60 IN TXT `+specAgents)
	var mixed atomic.Bool
	s.handle(func(_ dns.ResponseWriter, q *dns.Msg, _ bool) bool {
		opt := q.IsEdns0()
		if opt == nil || !opt.Do() || opt.UDPSize() != 1232 || !q.RecursionDesired || q.CheckingDisabled {
			t.Errorf("got %v", q)
		}
		name := q.Question[0].Name
		if name != strings.ToLower(name) {
			mixed.Store(true)
		}
		return false
	})
	r, _ := resolver(t, s)
	for range 4 { // with probability 2⁻¹⁰⁰, no letter is upper case
		if _, _, err := r.Records(t.Context(), fmt.Sprintf("%s.example", strings.Repeat("shop", 5))); err != nil {
			t.Error(err)
		}
	}
	if !mixed.Load() {
		t.Error("the case of the names is not random")
	}
}

func TestParseDomain(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"shop.example": "shop.example", "Shop.EXAMPLE.": "shop.example",
		"bücher.example": "xn--bcher-kva.example", "BÜCHER.example": "xn--bcher-kva.example",
		"xn--bcher-kva.example": "xn--bcher-kva.example", "例え.テスト": "xn--r8jz45g.xn--zckzah", "shop。example": "shop.example",
		"": "", ".": "", "shop..example": "", ".example": "", "a b.example": "", "shop.example:443": "", "https://shop.example": "",
		"127.0.0.1": "", "1.2.3": "", "::1": "",
		"localhost": "", "a.localhost": "", "x.onion": "", "_uim.shop.example": "", "-a.example": "", "xn--a.example": "", "shop.example..": "",
		strings.Repeat("a", 64) + ".example": "", strings.Repeat("a.", 124) + "com": "", strings.Repeat("é", 2000): "",
		"a\x00.example": "", "a\n.example": "",
	} {
		got, err := discovery.ParseDomain(in)
		if got != want || (err == nil) != (want != "") || err != nil && !errors.Is(err, discovery.ErrDomain) {
			t.Errorf("%q: %q, %v, want %q", in, got, err, want)
		}
	}
	r, _ := resolver(t, newServer(t, `xn--bcher-kva.example. 60 IN TXT `+specAgents))
	if found, err := r.Lookup(t.Context(), "Bücher.Example."); err != nil || found.Domain != "xn--bcher-kva.example" {
		t.Errorf("got %+v, %v; want no error and Domain %q", found, err, "xn--bcher-kva.example")
	}
	if _, err := r.Lookup(t.Context(), "127.0.0.1"); !errors.Is(err, discovery.ErrDomain) {
		t.Errorf("got %v, want %v", err, discovery.ErrDomain)
	}
}

func TestLocate(t *testing.T) {
	t.Parallel()
	s := newServer(t, `shop.example. 60 IN TXT `+specAgents, `half.example. 60 IN TXT "uim-policy-file=https://shop.example/p"`)
	r, _ := resolver(t, s)
	if urls, err := r.Locate(t.Context(), "shop.example"); err != nil || len(urls) != 1 || urls[0] != agentsURL {
		t.Errorf("got %+v, %v; want no error, length 1 and [0] %v", urls, err, agentsURL)
	}
	for _, domain := range []string{"half.example", "no.example"} {
		if urls, err := r.Locate(t.Context(), domain); !errors.Is(err, discovery.ErrNotFound) || urls != nil {
			t.Errorf("got %v, %v; want nil, %v", urls, err, discovery.ErrNotFound)
		}
	}
}

func TestAnswersAreCachedForTheirTTL(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		zone string
		soa  *dns.SOA
		kept time.Duration
	}{
		"TTL":                     {zone: `shop.example. 300 IN TXT ` + specAgents, soa: soa(t, 900, 900), kept: 300 * time.Second},
		"the smallest TTL":        {zone: `shop.example. 300 IN TXT ` + specAgents, soa: soa(t, 900, 60), kept: time.Minute},
		"at least 5 s":            {zone: `shop.example. 0 IN TXT ` + specAgents, soa: soa(t, 900, 900), kept: 5 * time.Second},
		"bounded by negative TTL": {zone: `shop.example. 2000000000 IN TXT ` + specAgents, soa: soa(t, 9000, 9000), kept: 5 * time.Minute},
		"no records":              {zone: "shop.example.", soa: soa(t, 200, 100), kept: 100 * time.Second},
		"no such domain":          {zone: "other.example.", soa: soa(t, 40, 100), kept: 40 * time.Second},
		"no domain, long SOA TTL": {zone: "other.example.", soa: soa(t, 90000, 90000), kept: 5 * time.Minute},
		"no domain, no SOA":       {zone: "other.example.", kept: 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, tt.zone)
			s.mu.Lock()
			s.soa = tt.soa
			s.mu.Unlock()
			r, c := resolver(t, s)
			first, firstErr := r.Lookup(t.Context(), "shop.example")
			if udp, _ := s.counts(); udp != 2 {
				t.Fatalf("asked %d times, want 2", udp)
			}
			if firstErr == nil && !first.Expires.Equal(c.now().Add(tt.kept)) {
				t.Errorf("expires %v", first.Expires)
			}
			if tt.kept > 0 {
				c.add(tt.kept - time.Nanosecond)
				again, err := r.Lookup(t.Context(), "SHOP.example.")
				if udp, _ := s.counts(); udp != 2 {
					t.Errorf("asked %d times, want 2", udp)
				}
				if fmt.Sprint(err) != fmt.Sprint(firstErr) || cmp.Diff(first, again) != "" {
					t.Errorf("got %v, %v", again, err)
				}
				c.add(time.Nanosecond)
			}
			_, _ = r.Lookup(t.Context(), "shop.example")
			if udp, _ := s.counts(); udp < 3 {
				t.Error("the server was not queried again")
			}
		})
	}
}

func TestTTLIsAtMostAnHour(t *testing.T) {
	t.Parallel()
	s := newServer(t, `shop.example. 2000000000 IN TXT `+specAgents, `_uim.shop.example. 2000000000 IN TXT `+draftAgents)
	r, c := resolver(t, s)
	found, err := r.Lookup(t.Context(), "shop.example")
	if err != nil || !found.Expires.Equal(c.now().Add(time.Hour)) {
		t.Error(found.Expires, err)
	}
}

func TestFailuresAreNotCached(t *testing.T) {
	t.Parallel()
	s := newServer(t, `shop.example. 60 IN TXT `+specAgents)
	broken := true
	s.mangleBy(func(m *dns.Msg, _ bool) {
		if broken {
			m.Rcode, m.Answer = dns.RcodeServerFailure, nil
		}
	})
	r, _ := resolver(t, s)
	_, err := r.Lookup(t.Context(), "shop.example")
	if !errors.Is(err, discovery.ErrServer) || errors.Is(err, discovery.ErrNotFound) || !strings.Contains(err.Error(), "SERVFAIL") {
		t.Fatal(err)
	}
	s.mu.Lock()
	broken = false
	s.mu.Unlock()
	if _, err := r.Lookup(t.Context(), "shop.example"); err != nil {
		t.Error(err)
	}
}

func TestServersOfResolvConf(t *testing.T) {
	t.Parallel()
	s := newServer(t, `shop.example. 60 IN TXT `+specAgents)
	path := filepath.Join(t.TempDir(), "resolv.conf")
	r := discovery.New(discovery.Options{ResolvConf: path})
	if _, err := r.Lookup(t.Context(), "shop.example"); !errors.Is(err, discovery.ErrServer) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v; want %v and %v", err, discovery.ErrServer, os.ErrNotExist)
	}
	for _, text := range []string{"", "search example\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Lookup(t.Context(), "shop.example"); !errors.Is(err, discovery.ErrServer) || !strings.Contains(err.Error(), path) {
			t.Errorf("got %v; want %v and an error that contains %q", err, discovery.ErrServer, path)
		}
	}
	if err := os.WriteFile(path, []byte("nameserver "+s.addr+"\n"), 0o600); err != nil { // with a port, which only tests use
		t.Fatal(err)
	}
	if _, err := r.Lookup(t.Context(), "shop.example"); err != nil {
		t.Error(err)
	}
}

func TestLookupReturnsContextCause(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	s.handle(func(dns.ResponseWriter, *dns.Msg, bool) bool { cancel(why); return true })
	r, _ := resolver(t, s)
	if _, err := r.Lookup(ctx, "shop.example"); !errors.Is(err, why) {
		t.Errorf("got %v, want %v", err, why)
	}
}
