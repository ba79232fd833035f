package odrl

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/internal/strictjson"
)

// decodeTree reads the JSON of a document within its bounds; nil, with a problem, where it is none.
func decodeTree(doc []byte, found *findings) any {
	if len(doc) > MaxDocument {
		found.Errorf("too-large", "", "a policy has at most %d bytes, this one has %d", MaxDocument, len(doc))
		return nil
	}
	tree, err := strictjson.Decode(doc)
	if err != nil {
		pointer := ""
		if e, ok := errors.AsType[*strictjson.Error](err); ok {
			pointer = e.Pointer
		}
		found.Errorf("json", pointer, "%v", err)
		return nil
	}
	if tree == nil {
		found.Errorf("json", "", "want a JSON object, not null")
	}
	return tree
}

// newNames resolves what the document calls things. hosts are those under which terms of the service's vocabulary stand.
func newNames(tree any, hosts []string, found *findings) *names {
	names := &names{
		problems: found, prefixes: map[string]string{}, aliases: map[string]string{}, keyNames: map[string]keyName{}, declared: map[string]string{},
	}
	if host := policyHost(tree); host != "" && !slices.Contains(hosts, host) {
		hosts = append(slices.Clone(hosts), host)
	}
	names.knownNamespaces(hosts)
	return names
}

// policyHost is the host of the policy's own uid, in lower case; empty where it has none.
func policyHost(tree any) string {
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
	for _, f := range listOf(field{value: tree}) {
		if m, ok := f.value.(map[string]any); ok {
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

// openLibrary reads the policies of a document, with profiles that are known beside the built-in ones; of use only
// where nothing failed, and nil where it is no JSON.
func openLibrary(ctx context.Context, doc []byte, profiles []string, found *findings) *library {
	tree := decodeTree(doc, found)
	if found.failed() {
		return nil
	}
	names := newNames(tree, nil, found)
	names.profiles = profiles
	r := newReader(ctx, names)
	return newLibrary(r, r.documents(tree))
}
