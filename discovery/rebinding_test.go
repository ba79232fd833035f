package discovery_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/miekg/dns"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/internal/fetch"
)

// If a name has a public address in the first look-up and a private one when it is dialed, the connection is refused: over UDP, and over
// TCP, which Go's resolver uses for truncated responses.
func TestDNSRebindingIsRefused(t *testing.T) {
	t.Parallel()
	web := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the private address got a request") }))
	t.Cleanup(web.Close)
	_, port, err := net.SplitHostPort(web.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for _, overTCP := range []bool{false, true} {
		for _, private := range []string{"127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "::ffff:127.0.0.1", "fd00::1", "64:ff9b::7f00:1"} {
			var looks atomic.Int32
			s := newServer(t,
				`shop.example. 60 IN TXT "uim-agents-file=https://rebind.example:`+port+`/agents.json"`)
			s.handle(func(w dns.ResponseWriter, q *dns.Msg, tcp bool) bool {
				name := strings.ToLower(q.Question[0].Name)
				if q.Question[0].Qtype == dns.TypeTXT {
					return false
				}
				m := new(dns.Msg).SetReply(q)
				m.RecursionAvailable = true
				switch {
				case name != "rebind.example.":
					m.Rcode = dns.RcodeNameError
				case overTCP && !tcp:
					m.Truncated = true
				default:
					ip := net.ParseIP(private)
					if looks.Load() == 0 {
						ip = net.ParseIP("93.184.215.14")
					}
					h := dns.RR_Header{Name: q.Question[0].Name, Rrtype: q.Question[0].Qtype, Class: dns.ClassINET}
					if v6 := strings.Contains(private, ":") && looks.Load() > 0; v6 && h.Rrtype == dns.TypeAAAA {
						m.Answer = append(m.Answer, &dns.AAAA{Hdr: h, AAAA: ip.To16()})
					} else if !v6 && h.Rrtype == dns.TypeA {
						m.Answer = append(m.Answer, &dns.A{Hdr: h, A: ip})
					}
				}
				_ = w.WriteMsg(m)
				return true
			})
			system := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, network, s.addr)
			}}
			first, err := system.LookupNetIP(t.Context(), "ip", "rebind.example")
			if err != nil || len(first) != 1 || !fetch.Public(first[0]) {
				t.Fatal(first, err)
			}
			looks.Add(1)
			second, err := system.LookupNetIP(t.Context(), "ip", "rebind.example")
			if err != nil || len(second) != 1 || second[0].Unmap() != netip.MustParseAddr(private).Unmap() {
				t.Fatal(second, err)
			}
			before, _ := s.counts()
			r, _ := resolver(t, s)
			tlsConfig := web.Client().Transport.(*http.Transport).TLSClientConfig
			client, err := agent.New(agent.Options{Locate: r.Locate, Resolver: system, TLS: tlsConfig})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(client.Close)
			_, err = client.Discover(t.Context(), "shop.example")
			text := fmt.Sprint(err)
			if !errors.Is(err, fetch.ErrRefused) || !strings.Contains(text, "rebind.example") || !strings.Contains(text, "public internet") {
				t.Errorf("%s: %v", private, err)
			}
			if after, tcp := s.counts(); after <= before || overTCP == (tcp == 0) {
				t.Errorf("%s: %d, then %d queries over UDP, %d over TCP", private, before, after, tcp)
			}
		}
	}
}
