package verify

import "strings"

// memberOf returns the member with the first of several JSON-LD names that m has.
func memberOf(m map[string]any, names ...string) any {
	for _, name := range names {
		for _, prefix := range []string{"", "odrl:"} {
			if m[prefix+name] != nil {
				return m[prefix+name]
			}
		}
	}
	return nil
}

// termOf returns the IRI or the word of a value: the value itself, or the @id or rdf:value of an object.
func termOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case map[string]any:
		for _, name := range []string{"uid", "@id", "id", "rdf:value", "@value", "odrl:uid"} {
			if v[name] != nil {
				return termOf(v[name])
			}
		}
	case []any:
		if len(v) == 1 {
			return termOf(v[0])
		}
	}
	return ""
}

// localName returns the word at the end of an IRI or a prefixed name.
func localName(iri string) string { return iri[strings.LastIndexAny(iri, "/#:")+1:] }
