package discovery_test

import (
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/miekg/dns"

	"github.com/uimgate/uimgate/discovery"
)

var shop = discovery.Service{
	Domain: "Shop.Example.", AgentsFile: agentsURL, Discovery: "https://shop.example/d?a=1;b=2",
	Policy: "https://shop.example/p", License: `The "best" \ of all`,
}

func records(t *testing.T, s discovery.Service) []discovery.Record {
	t.Helper()
	list, err := discovery.Records(s)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestRecords(t *testing.T) {
	t.Parallel()
	var got []string
	for _, r := range records(t, shop) {
		got = append(got, r.Name+" "+r.Text())
	}
	if diff := cmp.Diff([]string{
		"_uim.shop.example. uim-agents=https://shop.example/agents.json",
		"_uim.shop.example. uim-discovery=https://shop.example/d?a=1;b=2",
		"_uim.shop.example. uim-policy=https://shop.example/p",
		`_uim.shop.example. uim-license=The "best" \ of all`,
		"shop.example. uim-agents-file=https://shop.example/agents.json",
		"shop.example. uim-api-discovery=https://shop.example/d?a=1;b=2",
		"shop.example. uim-policy-file=https://shop.example/p",
		`shop.example. uim-license=The "best" \ of all`,
	}, got); diff != "" {
		t.Errorf("differs (-want +got):\n%s", diff)
	}
}

func TestInvalidRecords(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*discovery.Service)
		err    error
	}{
		"no domain":        {func(s *discovery.Service) { s.Domain = "" }, discovery.ErrDomain},
		"an address":       {func(s *discovery.Service) { s.Domain = "127.0.0.1" }, discovery.ErrDomain},
		"no agents.json":   {func(s *discovery.Service) { s.AgentsFile = "" }, discovery.ErrRecord},
		"no policy":        {func(s *discovery.Service) { s.Policy = "" }, discovery.ErrRecord},
		"not a URL":        {func(s *discovery.Service) { s.Discovery = "/discovery" }, discovery.ErrRecord},
		"a line break":     {func(s *discovery.Service) { s.License = "a\nb" }, discovery.ErrRecord},
		"space at the end": {func(s *discovery.Service) { s.License = "a " }, discovery.ErrRecord},
		"too long":         {func(s *discovery.Service) { s.License = strings.Repeat("x", discovery.MaxValue+1) }, discovery.ErrRecord},
	} {
		s := shop
		tt.change(&s)
		if list, err := discovery.Records(s); !errors.Is(err, tt.err) || list != nil {
			t.Errorf("%s: %v, %v; want nil, %v", name, list, err, tt.err)
		}
	}
}

// Lookup finds a published service through a real zone file and a real server.
func TestPublishedRecordsAreFound(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*discovery.Service){
		"all":      func(*discovery.Service) {},
		"required": func(s *discovery.Service) { s.Discovery, s.License = "", "" },
		"long":     func(s *discovery.Service) { s.Policy += strings.Repeat("/0123456789", 150) },
		"IDN":      func(s *discovery.Service) { s.Domain = "bücher.example" },
		"both long": func(s *discovery.Service) {
			s.License, s.Policy = strings.Repeat("x", 2048), "https://shop.example/"+strings.Repeat("p", 2000)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := shop
			change(&s)
			want := records(t, s)
			srv := newServer(t, strings.Split(strings.TrimSpace(discovery.Zone(want, time.Minute)), "\n")...)
			r, _ := resolver(t, srv)
			found, err := r.Lookup(t.Context(), s.Domain)
			if err != nil {
				t.Fatal(err)
			}
			s.Domain = found.Domain
			if diff := cmp.Diff(s, found.Service); diff != "" {
				t.Errorf("differs (-want +got):\n%s", diff)
			}
			have, _, err := r.Records(t.Context(), s.Domain)
			if d := discovery.Compare(want, have); err != nil || len(d) > 0 {
				t.Errorf("got %v, %v; want none, nil", d, err)
			}
		})
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	want := records(t, shop)
	with := func(change func([]discovery.Record) []discovery.Record) []string {
		var out []string
		for _, d := range discovery.Compare(want, change(slices.Clone(want))) {
			out = append(out, d.String())
		}
		return out
	}
	for name, tt := range map[string]struct {
		change func([]discovery.Record) []discovery.Record
		want   []string
	}{
		"the same":         {func(l []discovery.Record) []discovery.Record { return l }, nil},
		"in another order": {func(l []discovery.Record) []discovery.Record { slices.Reverse(l); return l }, nil},
		"missing": {func(l []discovery.Record) []discovery.Record { return l[1:] }, []string{
			"_uim.shop.example.: missing: uim-agents=https://shop.example/agents.json",
		}},
		"different": {func(l []discovery.Record) []discovery.Record { l[0].Value = "https://old.example/"; return l }, []string{
			"_uim.shop.example.: different: uim-agents is https://old.example/, want https://shop.example/agents.json",
		}},
		"duplicate, one wrong": {func(l []discovery.Record) []discovery.Record {
			r := l[0]
			r.Value = "https://old.example/"
			return append(l, r, r)
		}, []string{"_uim.shop.example.: surplus: uim-agents=https://old.example/"}},
		"at the other name": {func(l []discovery.Record) []discovery.Record { l[4].Key = "uim-agents"; return l }, []string{
			"shop.example.: missing: uim-agents-file=https://shop.example/agents.json",
			"shop.example.: surplus: uim-agents=https://shop.example/agents.json",
		}},
	} {
		if diff := cmp.Diff(tt.want, with(tt.change)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if n := len(discovery.Compare(want, nil)); n != len(want) {
		t.Errorf("%d are missing", n)
	}
}

func TestRecordsIncludeConflicts(t *testing.T) {
	t.Parallel()
	s := newServer(t, good, `shop.example. 60 IN TXT "uim-agents-file=https://old.example/"`)
	r, _ := resolver(t, s)
	have, _, err := r.Records(t.Context(), "shop.example")
	if err != nil || len(have) != 2 {
		t.Errorf("got %v, %v; want length 2, nil", have, err)
	}
	s.mangleBy(func(m *dns.Msg, _ bool) { m.Rcode = dns.RcodeServerFailure })
	r, _ = resolver(t, s)
	if have, _, err := r.Records(t.Context(), "shop.example"); !errors.Is(err, discovery.ErrServer) || have != nil {
		t.Errorf("got %v, %v; want nil, %v", have, err, discovery.ErrServer)
	}
	r, _ = resolver(t, newServer(t))
	if have, _, err := r.Records(t.Context(), "shop.example"); err != nil || have != nil {
		t.Errorf("got %v, %v; want nil, nil", have, err)
	}
}

// The record has the form that mcp-publisher expects. The key is test 1 of RFC 8032, 7.1.
func TestMCPProof(t *testing.T) {
	t.Parallel()
	key, err := hex.DecodeString("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
	if err != nil {
		t.Fatal(err)
	}
	proof, err := discovery.MCPProof("Shop.Example.", key)
	const line = "shop.example.\t60\tIN\tTXT\t\"v=MCPv1; k=ed25519; p=11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\"\n"
	if got := discovery.Zone([]discovery.Record{proof}, time.Minute); err != nil || got != line {
		t.Errorf("got %s %v; want %v, nil", got, err, line)
	}
	if _, err := discovery.MCPProof("127.0.0.1", key); !errors.Is(err, discovery.ErrDomain) {
		t.Errorf("got %v, want %v", err, discovery.ErrDomain)
	}
	r, _ := resolver(t, newServer(t, strings.TrimSpace(line), `shop.example. 60 IN TXT "v=MCPv1; k=ed25519; p=old"`,
		`shop.example. 60 IN TXT "v=spf1 -all"`, `shop.example. 60 IN TXT "v=MCPv1;\000"`, `_uim.shop.example. 60 IN TXT "v=MCPv1; k=x"`))
	have, _, err := r.Records(t.Context(), "shop.example")
	if d := discovery.Compare([]discovery.Record{proof}, have); err != nil || len(d) != 1 ||
		d[0].String() != "shop.example.: surplus: v=MCPv1; k=ed25519; p=old" {
		t.Error(d, err)
	}
}

func FuzzParseRecord(f *testing.F) {
	for _, text := range []string{
		"uim-agents-file=https://example.com/agents.json", "uim-api-discovery=https://api.example.com/discovery",
		"uim-policy-file=https://example.com/policy.json", "uim-license=https://uimprotocol.com/licenses/uim-by-nc-v1.0",
		"uim-agents=https://example.com/agents.json", " UIM-Policy\t= https://x/ ", "v=spf1 -all", "uim-license=\xff", "=", "",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, ours, err := discovery.ParseRecord("shop.example.", text)
		if err != nil || !ours {
			if r != (discovery.Record{}) || err != nil && (!ours || !errors.Is(err, discovery.ErrRecord)) {
				t.Fatal(r, ours, err)
			}
			return
		}
		again, ours, err := discovery.ParseRecord(r.Name, r.Text())
		if again != r || !ours || err != nil {
			t.Fatalf("got %+v, %+v, %v", r, again, err)
		}
		wrongLength := func(s string) bool { return len(s) > 255 || s == "" }
		if joined := strings.Join(r.Strings(), ""); joined != r.Text() || slices.ContainsFunc(r.Strings(), wrongLength) {
			t.Fatalf("got %q", r.Strings())
		}
		back, err := discovery.ReadZoneLine(discovery.Zone([]discovery.Record{r}, time.Hour))
		if err != nil || back != r.Text() {
			t.Fatalf("%q, %v, want %q", back, err, r.Text())
		}
	})
}

func FuzzEscapes(f *testing.F) {
	for _, s := range []string{"", `"`, `\`, `\034`, "a;b", "\x00\xff", `\1`, `\999`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got := discovery.Unescape(discovery.Escape(s)); got != s {
			t.Fatalf("%q, want %q", got, s)
		}
		if len(s) > 255 {
			return
		}
		// The parser and the writer of package dns agree.
		m := new(dns.Msg)
		h := dns.RR_Header{Name: "x.", Rrtype: dns.TypeTXT, Class: dns.ClassINET}
		m.Answer = []dns.RR{&dns.TXT{Hdr: h, Txt: []string{discovery.Escape(s)}}}
		wire, err := m.Pack()
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Unpack(wire); err != nil || discovery.Unescape(m.Answer[0].(*dns.TXT).Txt[0]) != s {
			t.Fatal(m, err)
		}
	})
}

// FuzzAnswer checks that no message causes a panic, and that only valid records of bounded size are returned.
func FuzzAnswer(f *testing.F) {
	q := new(dns.Msg).SetQuestion("shop.example.", dns.TypeTXT)
	for _, line := range []string{good, "shop.example. 1 IN CNAME a.example.", "shop.example. 1 IN CNAME shop.example."} {
		m := new(dns.Msg).SetReply(q)
		rr, err := dns.NewRR(line)
		if err != nil {
			f.Fatal(err)
		}
		m.Answer = append(m.Answer, rr)
		wire, err := m.Pack()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(wire)
	}
	f.Fuzz(func(t *testing.T, wire []byte) {
		list, err := discovery.ReadAnswer(wire, "shop.example.")
		if err != nil && list != nil {
			t.Fatal(list, err)
		}
		for _, r := range list {
			if len(r.Value) > discovery.MaxValue || r.Name != "shop.example." {
				t.Fatalf("got %+v; want Value a length of at most %v and Name %q", r, discovery.MaxValue, "shop.example.")
			}
		}
	})
}

func FuzzParseDomain(f *testing.F) {
	for _, s := range []string{"shop.example", "bücher.example", "1.2.3.4", "例え.テスト", "a..b", "_uim.x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		domain, err := discovery.ParseDomain(s)
		if err != nil {
			if domain != "" || !errors.Is(err, discovery.ErrDomain) {
				t.Fatalf("got %q, %v; want an empty string, %v", domain, err, discovery.ErrDomain)
			}
			return
		}
		if again, err := discovery.ParseDomain(domain); again != domain || err != nil {
			t.Fatalf("%q: %q, %v", domain, again, err)
		}
		if _, ok := dns.IsDomainName("_uim." + domain + "."); !ok {
			t.Fatalf("%q cannot be queried", domain)
		}
	})
}
