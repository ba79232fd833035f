// Package dns01 writes the records of DNS-01 challenges of ACME (RFC 8555 §8.4) with DNS updates (RFC 2136).
package dns01

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/mholt/acmez/v3/acme"
	"github.com/miekg/dns"
)

const (
	recordTTL = 60 // seconds
	// seenWithin is the maximum time that Wait waits for the server to return the record that it accepted; askEvery is the interval of its
	// queries.
	seenWithin = 2 * time.Minute
	askEvery   = time.Second
	dnsTimeout = 10 * time.Second
	fudge      = 300 // permitted difference of the clocks in seconds, as RFC 8945 §10 recommends
)

// A Solver writes records with DNS updates that are signed with TSIG (RFC 8945). It is safe for concurrent use.
type Solver struct {
	// Server is the address of the zone's primary server: host:port.
	Server string
	// Zone is the name of the zone. If it is empty, the Solver queries the server for it.
	Zone string
	// KeyName, Algorithm and Secret are the TSIG key, in the form that ParseKey returns. If they are empty, updates are not signed, and the
	// server must authorize them by address.
	KeyName, Algorithm, Secret string
}

// ParseKey parses a TSIG key in the format of dig: [algorithm:]name:secret. The default algorithm is hmac-sha256. Errors do not contain
// the key.
func ParseKey(text string) (algorithm, name, secret string, err error) {
	parts := strings.Split(text, ":")
	if len(parts) == 2 {
		parts = append([]string{"hmac-sha256"}, parts...)
	}
	if len(parts) != 3 || parts[1] == "" || parts[2] == "" {
		return "", "", "", errors.New("want algorithm:name:secret, for example hmac-sha256:uimgate.:c2VjcmV0")
	}
	algorithm = dns.CanonicalName(parts[0])
	switch algorithm {
	case dns.HmacSHA1, dns.HmacSHA224, dns.HmacSHA256, dns.HmacSHA384, dns.HmacSHA512:
	default:
		return "", "", "", errors.New("the algorithm is not one of hmac-sha1, hmac-sha224, hmac-sha256, hmac-sha384 and hmac-sha512")
	}
	if _, ok := dns.IsDomainName(parts[1]); !ok {
		return "", "", "", errors.New("the name is not a domain name")
	}
	probe := new(dns.Msg)
	probe.SetTsig(dns.Fqdn(parts[1]), algorithm, fudge, 1)
	if _, _, err := dns.TsigGenerate(probe, parts[2], "", false); err != nil {
		return "", "", "", errors.New("the secret is not base64")
	}
	return algorithm, dns.CanonicalName(parts[1]), parts[2], nil
}

// Present adds the record of a challenge.
func (s *Solver) Present(ctx context.Context, c acme.Challenge) error {
	return s.update(ctx, c, (*dns.Msg).Insert)
}

// CleanUp removes the record of a challenge, even if ctx has ended.
func (s *Solver) CleanUp(ctx context.Context, c acme.Challenge) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dnsTimeout)
	defer cancel()
	return s.update(ctx, c, (*dns.Msg).Remove)
}

// Wait waits until the server returns the record of a challenge. It returns an error if the server does not return the record within two
// minutes, or if ctx ends first.
func (s *Solver) Wait(ctx context.Context, c acme.Challenge) error {
	ctx, cancel := context.WithTimeout(ctx, seenWithin)
	defer cancel()
	want, tick := c.DNS01KeyAuthorization(), time.NewTicker(askEvery)
	defer tick.Stop()
	for {
		query := new(dns.Msg).SetQuestion(dns.Fqdn(c.DNS01TXTRecordName()), dns.TypeTXT)
		answer, err := s.exchange(ctx, query)
		if err == nil {
			for _, rr := range answer.Answer {
				if txt, ok := rr.(*dns.TXT); ok && strings.Join(txt.Txt, "") == want {
					return nil
				}
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the server %s does not return the record %s, although it accepted the update: %w", s.Server, c.DNS01TXTRecordName(), ctx.Err())
		case <-tick.C:
		}
	}
}

func (s *Solver) update(ctx context.Context, c acme.Challenge, change func(*dns.Msg, []dns.RR)) error {
	name := dns.Fqdn(c.DNS01TXTRecordName())
	zone, err := s.zone(ctx, name)
	if err != nil {
		return err
	}
	m := new(dns.Msg).SetUpdate(zone)
	change(m, []dns.RR{&dns.TXT{
		Hdr: dns.RR_Header{Name: name, Rrtype: dns.TypeTXT, Class: dns.ClassINET, Ttl: recordTTL},
		Txt: []string{c.DNS01KeyAuthorization()},
	}})
	answer, err := s.exchange(ctx, m)
	if err == nil && answer.Rcode != dns.RcodeSuccess {
		err = errors.New(dns.RcodeToString[answer.Rcode])
	}
	if err != nil {
		return fmt.Errorf("updating %s in the zone %s at %s: %w", name, zone, s.Server, err)
	}
	return nil
}

// zone returns the zone of a name: Zone or, if that is empty, the longest suffix of the name for which the server returns an authoritative
// SOA record.
func (s *Solver) zone(ctx context.Context, name string) (string, error) {
	if s.Zone != "" {
		return dns.Fqdn(s.Zone), nil
	}
	for at, end := 0, false; !end; at, end = dns.NextLabel(name, at) {
		answer, err := s.exchange(ctx, new(dns.Msg).SetQuestion(name[at:], dns.TypeSOA))
		if err != nil {
			return "", fmt.Errorf("querying %s for the zone of %s: %w", s.Server, name, err)
		}
		for _, rr := range append(answer.Answer, answer.Ns...) {
			if soa, ok := rr.(*dns.SOA); ok && answer.Authoritative && dns.IsSubDomain(soa.Hdr.Name, name) {
				return soa.Hdr.Name, nil
			}
		}
	}
	return "", fmt.Errorf("the server %s is not authoritative for a zone of %s: set server.tls.acme.dns.zone", s.Server, name)
}

// exchange sends a message to the server over TCP, and returns the response. If there is a key, it signs the message, and verifies the
// signature of the response.
func (s *Solver) exchange(ctx context.Context, m *dns.Msg) (*dns.Msg, error) {
	client := &dns.Client{Net: "tcp", Timeout: dnsTimeout}
	if s.KeyName != "" {
		client.TsigSecret = map[string]string{s.KeyName: s.Secret}
		m.SetTsig(s.KeyName, s.Algorithm, fudge, time.Now().Unix()) //nolint:forbidigo // the signature needs the time of the machine
	}
	answer, _, err := client.ExchangeContext(ctx, m, s.Server)
	if opErr, ok := errors.AsType[*net.OpError](err); ok {
		err = opErr.Err
	}
	return answer, err
}
