package model

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/odrl/internal/vocabulary"
)

// DecodeTree decodes the JSON of a document of at most MaxDocument bytes. If that is not possible, it reports a problem and returns nil.
func DecodeTree(doc []byte, found *Findings) any {
	if len(doc) > MaxDocument {
		found.Errorf("too-large", "", "a policy may have at most %d bytes, but this one has %d", MaxDocument, len(doc))
		return nil
	}
	tree, err := strictjson.Decode(doc)
	if err != nil {
		pointer, why := "", err.Error()
		if e, ok := errors.AsType[*strictjson.Error](err); ok {
			pointer, why = e.Pointer, e.Reason
		}
		if format := anotherFormat(doc); format != "" {
			pointer, why = "", inAnotherFormat(format)
		}
		found.Errorf("json", pointer, "%s", why)
		return nil
	}
	if tree == nil {
		found.Errorf("json", "", "want a JSON object, not null")
	}
	if contract := idsContract(tree); contract != "" {
		found.Errorf("ids", "", "this is a %s of the information model of International Data Spaces (IDS), which is not supported: write an "+
			"ODRL policy instead (%s); the vocabulary ids makes the codes of IDS available, such as idsc:USE",
			contract, "@context http://www.w3.org/ns/odrl.jsonld, uid, permission with target and action")
		return nil
	}
	return tree
}

// NewNames returns the Names of a document. Terms of the service's own vocabulary may be at any of the hosts, and at the host of the
// policy.
func NewNames(tree any, hosts []string, found *Findings) *Names {
	names := &Names{
		Problems: found, prefixes: map[string]string{}, aliases: map[string]string{}, keyNames: map[string]keyName{},
		declared: map[string]string{},
	}
	if host := PolicyHost(tree); host != "" && !slices.Contains(hosts, host) {
		hosts = append(slices.Clone(hosts), host)
	}
	names.knownNamespaces(hosts)
	return names
}

// PolicyHost returns the host of the policy's uid in lowercase, or "" if the uid is not a web IRI.
func PolicyHost(tree any) string {
	for _, m := range topNodes(tree) {
		if uid, ok := firstString(m, "uid", "@id", "id", "odrl:uid"); ok {
			if u, err := url.Parse(uid); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
				return strings.ToLower(u.Host)
			}
			break
		}
	}
	return ""
}

// topNodes returns the objects at the top of the document: the document itself, or the members of its @graph or list.
func topNodes(tree any) []map[string]any {
	var list []map[string]any
	if m, ok := tree.(map[string]any); ok && wrapped(m) {
		tree = m["@graph"]
	}
	for _, f := range ListOf(Field{Value: tree}) {
		if m, ok := f.Value.(map[string]any); ok {
			list = append(list, m)
		}
	}
	return list
}

func firstString(m map[string]any, names ...string) (string, bool) {
	for _, k := range names {
		if s, ok := m[k].(string); ok {
			return s, true
		}
	}
	return "", false
}

// Beside holds the terms that a document may use in addition to the built-in ones: profiles, whose unknown terms are accepted, and
// vocabularies.
type Beside struct {
	Profiles     []string
	Vocabularies []*vocabulary.Vocabulary
}

// OpenLibrary reads the policies of a document, with the given profiles and vocabularies in addition to the built-in ones. It adds the
// problems of the document to found; the Library is usable only if none of them is an error, and is nil if the document cannot be decoded.
func OpenLibrary(ctx context.Context, doc []byte, known Beside, found *Findings) *Library {
	tree := DecodeTree(doc, found)
	if found.Failed() {
		return nil
	}
	names := NewNames(tree, nil, found)
	names.profiles = known.Profiles
	names.Adopt(known.Vocabularies)
	r := NewReader(ctx, names)
	return NewLibrary(r, r.Documents(tree))
}
