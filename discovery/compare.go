package discovery

import (
	"fmt"
	"slices"
)

// A Kind is how DNS differs from a wanted record.
type Kind string

// The kinds of difference.
const (
	Missing   Kind = "missing"   // wanted, but not in DNS
	Different Kind = "different" // in DNS with another value
	Surplus   Kind = "surplus"   // in DNS, but not wanted
)

// A Difference describes one record that is missing from DNS, has another value there, or is in DNS without being wanted.
type Difference struct {
	Kind Kind   `json:"kind"`
	Name string `json:"name"`
	Key  string `json:"key"`
	Want string `json:"want,omitempty"` // the wanted value; empty for Surplus
	Have string `json:"have,omitempty"` // the value in DNS; empty for Missing
}

func (d Difference) String() string {
	switch d.Kind {
	case Missing:
		return fmt.Sprintf("%s: missing: %s=%s", d.Name, d.Key, d.Want)
	case Different:
		return fmt.Sprintf("%s: different: %s is %s, want %s", d.Name, d.Key, d.Have, d.Want)
	default:
		return fmt.Sprintf("%s: surplus: %s=%s", d.Name, d.Key, d.Have)
	}
}

// Compare returns the differences between the wanted records and the records that DNS has. It ignores the order of the records.
func Compare(want, have []Record) []Difference {
	var out []Difference
	same := func(list []Record, r Record) bool { return slices.Contains(list, r) }
	var left []Record // in DNS, but not wanted
	for _, r := range have {
		if !same(want, r) && !same(left, r) {
			left = append(left, r)
		}
	}
	for _, r := range want {
		if same(have, r) {
			continue
		}
		d := Difference{Kind: Missing, Name: r.Name, Key: r.Key, Want: r.Value}
		i := slices.IndexFunc(left, func(h Record) bool { return h.Name == r.Name && h.Key == r.Key })
		if i >= 0 {
			d.Kind, d.Have = Different, left[i].Value
			left = slices.Delete(left, i, i+1)
		}
		out = append(out, d)
	}
	for _, r := range left {
		out = append(out, Difference{Kind: Surplus, Name: r.Name, Key: r.Key, Have: r.Value})
	}
	return out
}
