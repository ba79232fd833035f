package discovery

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// A Field identifies the content of a record. It is the key that UIM core 5.1 defines, or MCPRegistry.
type Field string

// The fields of UIM core 5.1.
const (
	AgentsFile   Field = "uim-agents-file"   // URL of agents.json; required
	APIDiscovery Field = "uim-api-discovery" // URL of the search endpoint
	PolicyFile   Field = "uim-policy-file"   // URL of the policy; required
	License      Field = "uim-license"       // name or URL of a licence
)

// fields lists the fields of UIM core in the order of publication, each with its key in the draft. The draft has no key for the licence, so
// records of the draft have the key of UIM core.
var fields = []struct {
	field Field
	draft string
}{{AgentsFile, "uim-agents"}, {APIDiscovery, "uim-discovery"}, {PolicyFile, "uim-policy"}, {License, "uim-license"}}

const (
	// maxValue is the maximum length of the value of a record, in bytes.
	maxValue = 2048
	// maxString is the maximum length of a character-string of a TXT record, in bytes. See RFC 1035, section 3.3.
	maxString  = 255
	draftLabel = "_uim."
)

// MCPRegistry is the key of records that are not part of UIM: each contains a public key whose holder may act for the domain in the MCP
// registry, in the form v=MCPv1; k=ed25519; p=…. Agents ignore these records. See MCP registry, authentication.
const MCPRegistry Field = "v"

// proofPrefix is the prefix of the value of every MCPRegistry record.
const proofPrefix = "MCPv1;"

// ErrRecord means that a record, or a value for one, is malformed.
var ErrRecord = errors.New("not a valid UIM record")

// A Record is one TXT record. The zero Record means that there is no record.
type Record struct {
	Name  string // absolute: shop.example. or _uim.shop.example.
	Key   string // the text before the equals sign, as published
	Field Field  // the meaning of Key
	Value string // printable ASCII, at most 2048 bytes
}

// Text returns the content of the record, its strings joined: the key, an equals sign and the value.
func (r Record) Text() string { return r.Key + "=" + r.Value }

// Strings splits the content of the record into character-strings of at most 255 bytes. See RFC 1035, section 3.3.14.
func (r Record) Strings() []string {
	text := r.Text()
	out := make([]string, 0, len(text)/maxString+1)
	for len(text) > maxString {
		out = append(out, text[:maxString])
		text = text[maxString:]
	}
	return append(out, text)
}

// parseProof parses a TXT record for the MCP registry; text is its strings joined. ok is false if the record has another purpose, its value
// is too long, or its value has characters other than printable ASCII.
func parseProof(name, text string) (r Record, ok bool) {
	value, found := strings.CutPrefix(text, string(MCPRegistry)+"=")
	value = strings.Trim(value, " ")
	if !found || !strings.HasPrefix(value, proofPrefix) || len(value) > maxValue ||
		strings.ContainsFunc(value, func(c rune) bool { return c < ' ' || c >= 0x7f }) {
		return Record{}, false
	}
	return Record{Name: name, Key: string(MCPRegistry), Field: MCPRegistry, Value: value}, true
}

// parseRecord parses a TXT record; text is its strings joined. ours is false if the record is not a UIM record; most TXT records are not.
// The key may be in either form and any case, and spaces around key and value are dropped (RFC 1464). The error wraps ErrRecord and does
// not quote the value.
func parseRecord(name, text string) (r Record, ours bool, err error) {
	key, value, found := strings.Cut(text, "=")
	if !found {
		return Record{}, false, nil
	}
	key = strings.Trim(key, " \t")
	ascii := !strings.ContainsFunc(key, func(c rune) bool { return c >= 0x80 }) // ToLower maps some other letters to ASCII
	key = strings.ToLower(key)
	field, known := fieldOf(key)
	if !known || !ascii {
		return Record{}, false, nil
	}
	r = Record{Name: name, Key: key, Field: field, Value: strings.Trim(value, " \t")}
	if err := r.check(); err != nil {
		return Record{}, true, err
	}
	return r, true, nil
}

func fieldOf(key string) (Field, bool) {
	for _, f := range fields {
		if key == string(f.field) || key == f.draft {
			return f.field, true
		}
	}
	return "", false
}

// check validates a record before it is published, and after it is looked up. The error wraps ErrRecord.
func (r Record) check() error {
	switch {
	case r.Value == "":
		return fmt.Errorf("%w: %s at %s is empty", ErrRecord, r.Key, r.Name)
	case len(r.Value) > maxValue:
		return fmt.Errorf("%w: %s at %s has %d bytes; the maximum is %d", ErrRecord, r.Key, r.Name, len(r.Value), maxValue)
	case strings.ContainsFunc(r.Value, func(c rune) bool { return c < ' ' || c >= 0x7f }), strings.Trim(r.Value, " ") != r.Value:
		return fmt.Errorf("%w: %s at %s must be visible ASCII, without spaces at the start or end", ErrRecord, r.Key, r.Name)
	case r.Field == License:
		return nil
	}
	u, err := url.Parse(r.Value)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.Fragment != "" ||
		strings.Contains(r.Value, " ") {
		return fmt.Errorf("%w: %s at %s must be an https or http URL without user and fragment", ErrRecord, r.Key, r.Name)
	}
	return nil
}
