package fetch_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/miekg/dns"

	"github.com/uimgate/uimgate/internal/fetch"
)

func TestPublic(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"8.8.8.8": true, "1.1.1.1": true, "93.184.215.14": true, "2606:4700:4700::1111": true, "::ffff:8.8.8.8": true,
		"64:ff9b::8.8.8.8": true,
		"127.0.0.1":        false, "127.255.255.254": false, "::1": false, "::ffff:127.0.0.1": false,
		"0.0.0.0": false, "::": false, "0.1.2.3": false,
		"10.0.0.1": false, "172.16.0.1": false, "172.31.255.255": false, "192.168.1.1": false, "::ffff:10.0.0.1": false,
		"100.64.0.1": false, "100.127.255.255": false, "169.254.169.254": false, "fe80::1": false,
		"fe80::1%eth0": false, "2606:4700::1%eth0": false,
		"fc00::1": false, "fd12:3456::1": false, "fec0::1": false, "ff02::1": false,
		"224.0.0.1": false, "239.255.255.255": false, "255.255.255.255": false, "240.0.0.1": false,
		"64:ff9b::10.0.0.1": false, "64:ff9b::127.0.0.1": false, "64:ff9b::a9fe:a9fe": false, "64:ff9b:1::1": false,
		"2002:a00:1::": false, "2001:0:a00:1::": false, "2001:db8::1": false, "100::1": false, "::10.0.0.1": false, "5f00::1": false,
		"192.0.0.1": false, "192.0.2.1": false, "198.18.0.1": false, "198.51.100.1": false, "203.0.113.1": false, "192.88.99.1": false,
	} {
		if got := fetch.Public(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: %v, want %v", address, got, want)
		}
	}
	if fetch.Public(netip.Addr{}) {
		t.Error("the zero address counts as public")
	}
}

// The rows of IANA's registries of special-purpose addresses, and the addresses at which clouds serve their own machines: the first and
// the last address of each is not public.
func TestRegistriesAreComplete(t *testing.T) {
	t.Parallel()
	for _, row := range []string{
		"0.0.0.0/8", "0.0.0.0/32", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
		"192.0.0.0/29", "192.0.0.8/32", "192.0.0.9/32", "192.0.0.10/32", "192.0.0.170/32", "192.0.0.171/32", "192.0.2.0/24",
		"192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.88.99.2/32", "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15",
		"198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4", "255.255.255.255/32",
		"::1/128", "::/128", "::ffff:0:0/96", "64:ff9b:1::/48", "100::/64", "100:0:0:1::/64", "2001::/23", "2001::/32", "2001:1::1/128",
		"2001:1::2/128", "2001:1::3/128", "2001:2::/48", "2001:3::/32", "2001:4:112::/48", "2001:10::/28", "2001:20::/28", "2001:30::/28",
		"2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10", "ff00::/8",
		"169.254.169.254/32", "169.254.170.2/32", "100.100.100.200/32", "192.0.0.192/32", "168.63.129.16/32", "fd00:ec2::254/128",
		"fd20:ce::254/128",
	} {
		p := netip.MustParsePrefix(row)
		last := p.Addr().AsSlice()
		for i := p.Bits(); i < p.Addr().BitLen(); i++ {
			last[i/8] |= 0x80 >> (i % 8)
		}
		end, _ := netip.AddrFromSlice(last)
		if fetch.Public(p.Addr()) || (fetch.Public(end) && !end.Is4In6()) {
			t.Errorf("%s: %s or %s counts as public", row, p.Addr(), end)
		}
		if mapped := netip.AddrFrom16(p.Addr().As16()); fetch.Public(mapped) {
			t.Errorf("%s counts as public", mapped)
		}
	}
	for _, public := range []string{"168.63.129.15", "168.63.129.17", "8.8.8.8", "2606:4700::1"} {
		if !fetch.Public(netip.MustParseAddr(public)) {
			t.Errorf("%s counts as special", public)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	strict, open := fetch.New(fetch.Options{}), fetch.New(fetch.Options{AllowInsecure: true})
	for _, tt := range []struct {
		u, from      string
		strict, open bool
	}{
		{"https://shop.example/x", "", true, true},
		{"https://93.184.215.14/", "", true, true},
		{"http://shop.example/x", "", false, true},
		{"http://127.0.0.1:8080/", "", true, true},
		{"http://localhost/", "http://127.0.0.1:1/", true, true},
		{"http://localhost/", "https://shop.example/", false, true},
		{"https://[::1]/", "https://shop.example/", false, true},
		{"https://[::ffff:127.0.0.1]/", "https://shop.example/", false, true},
		{"https://localhost./", "https://shop.example/", false, true},
		{"https://LOCALHOST/", "https://shop.example/", false, true},
		{"https://x.localhost/", "https://shop.example/", false, true},
		{"https://10.0.0.1/", "", false, true},
		{"https://[fd00::1]/", "", false, true},
		{"https://[64:ff9b::a00:1]/", "", false, true},
		{"http://shop.example/", "https://shop.example/", false, true},
		{"https://user@shop.example/", "", false, false},
		{"https://user:pass@127.0.0.1/", "", false, false},
		{"ftp://shop.example/", "", false, false},
		{"file:///etc/passwd", "", false, false},
		{"https:///x", "", false, false},
		{"https:shop.example", "", false, false},
		{"//shop.example", "", false, false},
	} {
		u, err := url.Parse(tt.u)
		if err != nil {
			t.Fatal(err)
		}
		var from *url.URL
		if tt.from != "" {
			from, _ = url.Parse(tt.from)
		}
		for c, want := range map[*fetch.Client]bool{strict: tt.strict, open: tt.open} {
			err := c.Check(u, from)
			if (err == nil) != want || err != nil && !errors.Is(err, fetch.ErrRefused) {
				t.Errorf("%s from %q: %v, want %v", tt.u, tt.from, err, want)
			}
		}
	}
}

// If http is permitted, the addresses are checked as they are with https.
func TestAllowHTTP(t *testing.T) {
	t.Parallel()
	plain := fetch.New(fetch.Options{AllowHTTP: true})
	foreign := &url.URL{Scheme: "https", Host: "shop.example"}
	for address, want := range map[string]bool{
		"http://shop.example/x": true, "https://shop.example/x": true, "http://93.184.215.14/": true, "http://10.0.0.1/": false,
		"http://169.254.169.254/latest/meta-data/": false, "http://localhost/": false, "http://127.0.0.1/": false, "http://[::1]/": false,
		"http://user@shop.example/": false, "ftp://shop.example/": false,
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if err := plain.Check(u, foreign); (err == nil) != want {
			t.Errorf("%s: %v", address, err)
		}
	}
	inside := fetch.New(fetch.Options{AllowHTTP: true, Resolver: resolver(t, "127.0.0.1", "10.0.0.1")})
	request := fetch.Request{Method: http.MethodPost, URL: "http://shop.example/", From: foreign}
	if _, err := inside.Do(t.Context(), request); !errors.Is(err, fetch.ErrRefused) {
		t.Errorf("a name with a private address: %v, want %v", err, fetch.ErrRefused)
	}
}

// resolver returns a resolver that resolves every name to these addresses, over real DNS.
func resolver(t *testing.T, addresses ...string) *net.Resolver {
	t.Helper()
	conn, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	handler := dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		m := new(dns.Msg)
		m.SetReply(q)
		for _, a := range addresses {
			ip := net.ParseIP(a)
			h := dns.RR_Header{Name: q.Question[0].Name, Class: dns.ClassINET, Ttl: 1}
			switch {
			case ip.To4() != nil && !strings.Contains(a, ":") && q.Question[0].Qtype == dns.TypeA:
				h.Rrtype = dns.TypeA
				m.Answer = append(m.Answer, &dns.A{Hdr: h, A: ip})
			case strings.Contains(a, ":") && q.Question[0].Qtype == dns.TypeAAAA:
				h.Rrtype = dns.TypeAAAA
				m.Answer = append(m.Answer, &dns.AAAA{Hdr: h, AAAA: ip})
			}
		}
		_ = w.WriteMsg(m)
	})
	started := make(chan struct{})
	server := &dns.Server{PacketConn: conn, Handler: handler, NotifyStartedFunc: func() { close(started) }}
	go func() { _ = server.ActivateAndServe() }()
	<-started
	t.Cleanup(func() { _ = server.Shutdown() })
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

func TestPrivateAddressesOfNamesAreNotDialled(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	t.Cleanup(server.Close)
	tlsConfig := server.Client().Transport.(*http.Transport).TLSClientConfig
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	for _, addresses := range [][]string{
		{"127.0.0.1"},
		{"10.0.0.1"},
		{"169.254.169.254"},
		{"100.64.0.1"},
		{"::1"},
		{"fd00::1"},
		{"64:ff9b::7f00:1"},
		{"::ffff:127.0.0.1"},
		{"127.0.0.1", "10.0.0.1", "::1"},
	} {
		c := fetch.New(fetch.Options{TLS: tlsConfig, Resolver: resolver(t, addresses...)})
		_, err := c.Get(t.Context(), "https://example.com:"+port+"/", fetch.Document{Max: 10})
		broken, ok := errors.AsType[*fetch.Error](err)
		if !errors.Is(err, fetch.ErrRefused) || ok && broken.Sent {
			t.Errorf("%v: %v, want an error before anything is sent", addresses, err)
		}
	}
	if requests.Load() != 0 {
		t.Error("the server got a request")
	}
	// The same name can be fetched if private addresses are allowed, so the refusals above were not caused by the test.
	c := fetch.New(fetch.Options{TLS: tlsConfig, Resolver: resolver(t, "127.0.0.1"), AllowInsecure: true})
	if _, err := c.Get(t.Context(), "https://example.com:"+port+"/", fetch.Document{Max: 10}); err != nil || requests.Load() != 1 {
		t.Errorf("%v, %d requests; want no error and 1", err, requests.Load())
	}
}

func TestLocalhostMustBeLoopback(t *testing.T) {
	t.Parallel()
	c := fetch.New(fetch.Options{Resolver: resolver(t, "93.184.215.14")})
	_, err := c.Get(t.Context(), "http://shop.localhost/", fetch.Document{Max: 10})
	if !errors.Is(err, fetch.ErrRefused) {
		t.Errorf("err = %v, want %v", err, fetch.ErrRefused)
	}
}

// FuzzPublic checks that an address and its IPv4-mapped form give the same result, and that no public address is private according to the
// standard library.
func FuzzPublic(f *testing.F) {
	for _, s := range []string{"\x08\x08\x08\x08", "\x0a\x00\x00\x01", "\x00\x64\xff\x9b\x00\x00\x00\x00\x00\x00\x00\x00\x0a\x00\x00\x01"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		a, ok := netip.AddrFromSlice(b)
		if !ok {
			return
		}
		public := fetch.Public(a)
		if a.Is4() && fetch.Public(netip.AddrFrom16(a.As16())) != public {
			t.Errorf("%s: mapped and not, the results differ", a)
		}
		u := a.Unmap()
		if public && (u.IsPrivate() || u.IsLoopback() || u.IsLinkLocalUnicast() || u.IsMulticast() || u.IsUnspecified() ||
			u.IsInterfaceLocalMulticast()) {
			t.Errorf("%s is public", a)
		}
	})
}
