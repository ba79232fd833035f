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

// DecodeTree reads the JSON of a document within its bounds. It returns nil and reports a problem if the text is not JSON.
func DecodeTree(doc []byte, found *Findings) any {
	if len(doc) > MaxDocument {
		found.Errorf("too-large", "", "a policy has at most %d bytes, this one has %d", MaxDocument, len(doc))
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
		found.Errorf("ids", "", "this is a %s of the information model of International Data Spaces (IDS), which is not read: write it "+
			"as a policy of ODRL (%s); of IDS the codes are known, such as idsc:USE, with the vocabulary ids",
			contract, "@context http://www.w3.org/ns/odrl.jsonld, uid, permission with target and action")
		return nil
	}
	return tree
}

// NewNames resolves the names in a document. hosts are the hosts that terms of the service's vocabulary may have.
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

// PolicyHost returns the host of the policy's own uid, in lowercase; empty if it has none.
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

// topNodes are the objects at the top of the document: itself, or the members of its @graph or list.
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

// Beside is what a document may name in addition to the built-in terms: profiles whose terms are accepted without being known, and
// vocabularies.
type Beside struct {
	Profiles     []string
	Vocabularies []*vocabulary.Vocabulary
}

// OpenLibrary reads the policies of a document, with given vocabularies beside the built-in ones. It is usable only if nothing failed,
// and nil if the text is not JSON.
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
