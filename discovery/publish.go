package discovery

import (
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"strings"
	"time"
)

// A Service holds the published facts about the service of a domain: the URLs of the service's documents, and its licence. Empty fields are
// not published.
type Service struct {
	Domain     string `json:"domain"`
	AgentsFile string `json:"agents_file,omitempty"`
	Discovery  string `json:"discovery,omitempty"`
	Policy     string `json:"policy,omitempty"`
	License    string `json:"license,omitempty"`
}

// field returns a pointer to the member of s that holds f.
func (s *Service) field(f Field) *string {
	switch f {
	case AgentsFile:
		return &s.AgentsFile
	case APIDiscovery:
		return &s.Discovery
	case PolicyFile:
		return &s.Policy
	default:
		return &s.License
	}
}

// Records returns the TXT records that publish a service, in both forms: with the keys of the draft at _uim below the domain, and with
// the keys of UIM core 5.1 at the domain itself. AgentsFile and Policy are required. The error wraps ErrDomain or ErrRecord.
func Records(s Service) ([]Record, error) {
	domain, err := ParseDomain(s.Domain)
	if err != nil {
		return nil, err
	}
	var records []Record
	for _, draft := range []bool{true, false} {
		for _, f := range fields {
			r := Record{Name: domain + ".", Key: string(f.field), Field: f.field, Value: *s.field(f.field)}
			if draft {
				r.Name, r.Key = draftLabel+r.Name, f.draft
			}
			if r.Value == "" {
				if f.field == AgentsFile || f.field == PolicyFile {
					return nil, fmt.Errorf("%w: %s is required", ErrRecord, f.field)
				}
				continue
			}
			if err := r.check(); err != nil {
				return nil, err
			}
			records = append(records, r)
		}
	}
	return records, nil
}

// MCPProof returns the TXT record that entitles the holder of the private key to list servers of the domain in the MCP registry. The record
// belongs at the domain itself. The error wraps ErrDomain. See MCP registry, authentication.
func MCPProof(domain string, key ed25519.PublicKey) (Record, error) {
	domain, err := ParseDomain(domain)
	if err != nil {
		return Record{}, err
	}
	value := proofPrefix + " k=ed25519; p=" + base64.StdEncoding.EncodeToString(key)
	return Record{Name: domain + ".", Key: string(MCPRegistry), Field: MCPRegistry, Value: value}, nil
}

// Zone formats records as lines of a zone file (RFC 1035 5.1). It truncates the TTL to whole seconds.
func Zone(records []Record, ttl time.Duration) string {
	var b strings.Builder
	for _, r := range records {
		list := r.Strings()
		for i, s := range list {
			list[i] = `"` + escape(s) + `"`
		}
		fmt.Fprintf(&b, "%s\t%d\tIN\tTXT\t%s\n", r.Name, int64(ttl.Seconds()), strings.Join(list, " "))
	}
	return b.String()
}

// escape writes a character-string as master files and package dns do: a quote as \", a backslash as \\, and bytes other than printable
// ASCII as \DDD. See RFC 1035, section 5.1.
func escape(s string) string {
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.Write([]byte{'\\', c})
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, `\%03d`, c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// unescape is the inverse of escape. In other escapes, it drops the backslash; it keeps a backslash at the end.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] != '\\' || i+1 == len(s):
			b = append(b, s[i])
		case i+3 < len(s) && digits(s[i+1:i+4]):
			b = append(b, (s[i+1]-'0')*100+(s[i+2]-'0')*10+(s[i+3]-'0'))
			i += 3
		default:
			i++
			b = append(b, s[i])
		}
	}
	return string(b)
}

func digits(s string) bool { return strings.Trim(s, "0123456789") == "" && s <= "255" }
