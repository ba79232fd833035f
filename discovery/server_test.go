package discovery_test

import (
	"encoding/binary"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/uimgate/uimgate/discovery"
)

// A server is a real DNS server on the loopback address, over UDP and TCP. Names outside its zone do not exist.
type server struct {
	addr string
	udp  atomic.Int32 // queries received
	tcp  atomic.Int32

	mu      sync.Mutex
	zone    map[string][]dns.RR // by canonical name
	exists  map[string]bool     // names without records
	soa     *dns.SOA
	mangle  func(m *dns.Msg, tcp bool) // changes a response before it is sent
	handler func(w dns.ResponseWriter, q *dns.Msg, tcp bool) (done bool)
}

func newServer(t *testing.T, lines ...string) *server {
	t.Helper()
	s := &server{zone: map[string][]dns.RR{}, exists: map[string]bool{}}
	s.add(t, lines...)
	var ln net.Listener
	var pc net.PacketConn
	for range 20 { // UDP and TCP need the same port
		var err error
		if ln, err = (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
		if pc, err = (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", ln.Addr().String()); err == nil {
			break
		}
		_ = ln.Close()
	}
	if pc == nil {
		t.Fatal("no port is free for both UDP and TCP")
	}
	s.addr = ln.Addr().String()
	for _, d := range []*dns.Server{{PacketConn: pc}, {Listener: ln}} {
		tcp := d.Listener != nil
		d.Handler = dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) { s.serve(w, q, tcp) })
		started := make(chan struct{})
		d.NotifyStartedFunc = func() { close(started) }
		var wg sync.WaitGroup
		wg.Go(func() { _ = d.ActivateAndServe() })
		<-started
		t.Cleanup(func() { _ = d.Shutdown(); wg.Wait() })
	}
	return s
}

// add adds zone-file lines to the zone. A line that is only a name makes it exist without records.
func (s *server) add(t *testing.T, lines ...string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range lines {
		if !strings.ContainsAny(line, " \t") {
			s.exists[dns.CanonicalName(line)] = true
			continue
		}
		rr, err := dns.NewRR(line)
		if err != nil || rr == nil {
			t.Fatalf("%s: %v", line, err)
		}
		name := dns.CanonicalName(rr.Header().Name)
		s.zone[name] = append(s.zone[name], rr)
	}
}

// handle lets f respond to queries itself.
func (s *server) handle(f func(w dns.ResponseWriter, q *dns.Msg, tcp bool) (done bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handler = f
}

// mangleBy lets f change each response before it is sent.
func (s *server) mangleBy(f func(m *dns.Msg, tcp bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mangle = f
}

func (s *server) counts() (udp, tcp int32) { return s.udp.Load(), s.tcp.Load() }

func (s *server) serve(w dns.ResponseWriter, q *dns.Msg, tcp bool) {
	if tcp {
		s.tcp.Add(1)
	} else {
		s.udp.Add(1)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.handler != nil && s.handler(w, q, tcp) {
		return
	}
	m := new(dns.Msg)
	m.SetReply(q)
	m.RecursionAvailable = true
	name := dns.CanonicalName(q.Question[0].Name)
	for range 4 { // a recursive resolver would follow as many here
		records := s.zone[name]
		m.Answer = append(m.Answer, records...)
		if len(records) != 1 || records[0].Header().Rrtype != dns.TypeCNAME {
			break
		}
		name = dns.CanonicalName(records[0].(*dns.CNAME).Target)
	}
	if len(s.zone[name]) == 0 && !s.exists[name] {
		m.Rcode = dns.RcodeNameError
	}
	if len(s.zone[name]) == 0 && s.soa != nil {
		m.Ns = append(m.Ns, s.soa)
	}
	if s.mangle != nil {
		s.mangle(m, tcp)
	}
	if opt := q.IsEdns0(); !tcp && opt != nil {
		m.Truncate(int(opt.UDPSize()))
	}
	_ = w.WriteMsg(m)
}

func soa(t *testing.T, ttl, minimum uint32) *dns.SOA {
	t.Helper()
	return &dns.SOA{
		Hdr: dns.RR_Header{Name: "example.", Rrtype: dns.TypeSOA, Class: dns.ClassINET, Ttl: ttl},
		Ns:  "ns.example.", Mbox: "who.example.", Minttl: minimum,
	}
}

// resolver returns a Resolver with its own clock that queries the servers.
func resolver(t *testing.T, servers ...*server) (*discovery.Resolver, *clock) {
	t.Helper()
	c := &clock{at: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	o := discovery.Options{Now: c.now, Timeout: 20 * time.Second}
	for _, s := range servers {
		o.Servers = append(o.Servers, s.addr)
	}
	return discovery.New(o), c
}

type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// rawUDP responds to each packet with the packets that reply returns.
func rawUDP(t *testing.T, reply func(q *dns.Msg) [][]byte) string {
	t.Helper()
	pc, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		b := make([]byte, 4096)
		for {
			n, from, err := pc.ReadFrom(b)
			if err != nil {
				return
			}
			q := new(dns.Msg)
			if q.Unpack(b[:n]) != nil {
				continue
			}
			for _, packet := range reply(q) {
				_, _ = pc.WriteTo(packet, from)
			}
		}
	})
	t.Cleanup(func() { _ = pc.Close(); wg.Wait() })
	return pc.LocalAddr().String()
}

// rawTCP truncates every UDP response and calls talk for each TCP connection.
func rawTCP(t *testing.T, talk func(conn net.Conn, q *dns.Msg)) string {
	t.Helper()
	var addr string
	for addr == "" {
		ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		pc, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", ln.Addr().String())
		if err != nil {
			_ = ln.Close()
			continue
		}
		addr = ln.Addr().String()
		var wg sync.WaitGroup
		wg.Go(func() {
			b := make([]byte, 4096)
			for {
				n, from, err := pc.ReadFrom(b)
				if err != nil {
					return
				}
				q := new(dns.Msg)
				if q.Unpack(b[:n]) == nil {
					m := new(dns.Msg).SetReply(q)
					m.Truncated = true
					_, _ = pc.WriteTo(packed(t, m), from)
				}
			}
		})
		wg.Go(func() {
			for {
				conn, err := ln.Accept()
				if err != nil {
					return
				}
				wg.Go(func() {
					defer conn.Close()
					c := &dns.Conn{Conn: conn}
					if q, err := c.ReadMsg(); err == nil {
						talk(conn, q)
					}
				})
			}
		})
		t.Cleanup(func() { _ = pc.Close(); _ = ln.Close(); wg.Wait() })
	}
	return addr
}

func packed(t *testing.T, m *dns.Msg) []byte {
	t.Helper()
	b, err := m.Pack()
	if err != nil {
		t.Error(err)
	}
	return b
}

// framed returns a message in the form of DNS over TCP.
func framed(b []byte) []byte {
	return append(binary.BigEndian.AppendUint16(nil, uint16(len(b))), b...)
}
