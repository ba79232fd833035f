package acmeca

import (
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/miekg/dns"
)

// The TSIG key of the zone.
const (
	KeyName   = "uimgate."
	KeySecret = "c2VjcmV0LW9mLXRoZS16b25l"
)

// Zone is the zone of the Server.
const Zone = "shop.example."

// A Server is the primary DNS server of Zone. Every name has the address 127.0.0.1. It accepts updates signed with the key.
type Server struct {
	Address string

	mu      sync.Mutex
	records []dns.RR
	updates int
}

func startDNS(tb testing.TB) *Server {
	tb.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	s := &Server{Address: ln.Addr().String()}
	server := &dns.Server{
		Listener: ln, Handler: dns.HandlerFunc(s.serve), TsigSecret: map[string]string{KeyName: KeySecret},
		MsgAcceptFunc: func(dns.Header) dns.MsgAcceptAction { return dns.MsgAccept },
	}
	go func() { _ = server.ActivateAndServe() }()
	tb.Cleanup(func() { _ = server.Shutdown() })
	return s
}

// Updates returns how many records were added and how many are left.
func (s *Server) Updates() (added, left int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.updates, len(s.records)
}

func (s *Server) serve(w dns.ResponseWriter, r *dns.Msg) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := new(dns.Msg).SetReply(r)
	m.Authoritative = true
	switch {
	case r.IsTsig() != nil && w.TsigStatus() != nil:
		m.Rcode = dns.RcodeNotAuth
	case r.Opcode == dns.OpcodeUpdate && (r.IsTsig() == nil || r.Question[0].Name != Zone):
		m.Rcode = dns.RcodeRefused
	case r.Opcode == dns.OpcodeUpdate:
		s.update(r.Ns)
	default:
		m.Answer = s.answer(r.Question[0])
	}
	if key := r.IsTsig(); key != nil && m.Rcode != dns.RcodeNotAuth {
		m.SetTsig(key.Hdr.Name, key.Algorithm, key.Fudge, int64(key.TimeSigned))
	}
	_ = w.WriteMsg(m)
}

func (s *Server) update(changes []dns.RR) {
	for _, change := range changes {
		if change.Header().Class == dns.ClassINET {
			s.records = append(s.records, change)
			s.updates++
			continue
		}
		change.Header().Class = dns.ClassINET
		for i, has := range s.records {
			if dns.IsDuplicate(has, change) {
				s.records = append(s.records[:i], s.records[i+1:]...)
				break
			}
		}
	}
}

func (s *Server) answer(q dns.Question) (answer []dns.RR) {
	header := dns.RR_Header{Name: q.Name, Rrtype: q.Qtype, Class: dns.ClassINET}
	switch q.Qtype {
	case dns.TypeA:
		return []dns.RR{&dns.A{Hdr: header, A: net.IPv4(127, 0, 0, 1)}}
	case dns.TypeSOA:
		if strings.EqualFold(q.Name, Zone) {
			return []dns.RR{&dns.SOA{Hdr: header, Ns: "ns." + Zone, Mbox: "ops." + Zone, Serial: 1}}
		}
	case dns.TypeTXT:
		for _, has := range s.records {
			if strings.EqualFold(has.Header().Name, q.Name) {
				answer = append(answer, has)
			}
		}
	}
	return answer
}
