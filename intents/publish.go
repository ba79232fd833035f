package intents

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// An Extra is a member of agents.json that the gateway publishes, such as uim-policy-file or uim-mcp.
type Extra struct {
	Name  string
	Value string         // empty: the member is not published
	JSON  jsontext.Value // replaces Value if it is not empty
}

// Published returns agents.json as the gateway serves it. This is the operator's document byte for byte, with two exceptions. The given
// members replace members that are absent, null or empty. Each intent has the text that Intent.JSON returns.
func (c *Catalog) Published(members []Extra) ([]byte, error) {
	edits := slices.Clone(c.spans)
	var added []byte
	for _, m := range members {
		value := m.JSON
		if len(value) == 0 {
			if m.Value == "" {
				continue
			}
			var err error
			if value, err = jsontext.AppendQuote(nil, m.Value); err != nil {
				return nil, fmt.Errorf("filling in %s: %w", m.Name, err)
			}
		}
		at := slices.IndexFunc(c.members, func(have member) bool { return have.name == m.Name })
		switch {
		case at < 0:
			added = fmt.Appendf(added, ",\n  %q: %s", m.Name, value)
		case bytes.Equal(c.members[at].value, []byte("null")), bytes.Equal(c.members[at].value, []byte(`""`)):
			edits = append(edits, edit{from: c.members[at].from, to: c.members[at].to, with: value})
		}
	}
	if len(added) > 0 { // intents is always present, so there is a last member
		end := c.members[len(c.members)-1].to
		edits = append(edits, edit{from: end, to: end, with: added})
	}
	slices.SortStableFunc(edits, func(a, b edit) int { return a.from - b.from })
	return apply(bytes.Clone(c.document), edits), nil
}
