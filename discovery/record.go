package discovery

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// A Field is one fact that a record holds. The text is its name in UIM core 5.1.
type Field string

// The fields.
const (
	AgentsFile   Field = "uim-agents-file"   // URL of agents.json; required
	APIDiscovery Field = "uim-api-discovery" // URL of the search endpoint
	PolicyFile   Field = "uim-policy-file"   // URL of the policy; required
	License      Field = "uim-license"       // name or URL of a licence
)

// fields lists every field with its name in the draft, in the order of publication. The draft has no name for the licence, which keeps
// its name of UIM core.
var fields = []struct {
	field Field
	draft string
}{{AgentsFile, "uim-agents"}, {APIDiscovery, "uim-discovery"}, {PolicyFile, "uim-policy"}, {License, "uim-license"}}

const (
	// maxValue bounds the value of a record, in bytes.
	maxValue = 2048
	// maxString is the longest character-string of a TXT record. RFC 1035 3.3.
	maxString  = 255
	draftLabel = "_uim."
)

// MCPRegistry is the key of records with another purpose than UIM: the keys that may speak for the domain in the MCP registry, v=MCPv1;
// k=ed25519; p=… Agents do not read them. MCP registry, authentication.
const MCPRegistry Field = "v"

// proofPrefix begins the value of such a record.
const proofPrefix = "MCPv1;"

// ErrRecord means that a record, or a value for one, is malformed.
var ErrRecord = errors.New("this is not a UIM record")

// A Record is one TXT record. The zero Record means that there is none.
type Record struct {
	Name  string // absolute: shop.example. or _uim.shop.example.
	Key   string // the text before the equals sign, as published
	Field Field  // the meaning of Key
	Value string // visible ASCII, at most 2048 bytes
}

// Text returns the content of the record: its strings joined.
func (r Record) Text() string { return r.Key + "=" + r.Value }

// Strings returns the character-strings of the record, each of at most 255 bytes. RFC 1035 3.3.14.
func (r Record) Strings() []string {
	text := r.Text()
	out := make([]string, 0, len(text)/maxString+1)
	for len(text) > maxString {
		out = append(out, text[:maxString])
		text = text[maxString:]
	}
	return append(out, text)
}

// parseProof parses a TXT record of the MCP registry found at name, its strings joined; ok is false if it is another record, or cannot be
// printed.
func parseProof(name, text string) (r Record, ok bool) {
	value, found := strings.CutPrefix(text, string(MCPRegistry)+"=")
	value = strings.Trim(value, " ")
	if !found || !strings.HasPrefix(value, proofPrefix) || len(value) > maxValue ||
		strings.ContainsFunc(value, func(c rune) bool { return c < ' ' || c >= 0x7f }) {
		return Record{}, false
	}
	return Record{Name: name, Key: string(MCPRegistry), Field: MCPRegistry, Value: value}, true
}

// parseRecord parses a TXT record found at name, its strings joined. Ours is false if it is not a UIM record, like most TXT records. It
// accepts keys in either form and any case, and drops spaces around key and value (RFC 1464). The error wraps ErrRecord; it quotes no
// value.
func parseRecord(name, text string) (r Record, ours bool, err error) {
	key, value, found := strings.Cut(text, "=")
	if !found {
		return Record{}, false, nil
	}
	key = strings.Trim(key, " \t")
	ascii := !strings.ContainsFunc(key, func(c rune) bool { return c >= 0x80 }) // some letters have an ASCII lower case
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

// check applies the same rules to records that are published and to records that are looked up.
func (r Record) check() error {
	switch {
	case r.Value == "":
		return fmt.Errorf("%w: %s at %s is empty", ErrRecord, r.Key, r.Name)
	case len(r.Value) > maxValue:
		return fmt.Errorf("%w: %s at %s has %d bytes, at most %d are read", ErrRecord, r.Key, r.Name, len(r.Value), maxValue)
	case strings.ContainsFunc(r.Value, func(c rune) bool { return c < ' ' || c >= 0x7f }), strings.Trim(r.Value, " ") != r.Value:
		return fmt.Errorf("%w: %s at %s has characters other than visible ASCII", ErrRecord, r.Key, r.Name)
	case r.Field == License:
		return nil
	}
	u, err := url.Parse(r.Value)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.Fragment != "" ||
		strings.Contains(r.Value, " ") {
		return fmt.Errorf("%w: %s at %s is not an https URL", ErrRecord, r.Key, r.Name)
	}
	return nil
}
