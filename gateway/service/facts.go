package service

import (
	"encoding/json"
	"maps"
	"net/netip"
	"slices"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/pat"
)

// fixed reports whether a left operand takes no configured source: with another it would be another fact. What has a
// source of its own is in the table of left operands; everything else comes from services[].facts, and what has no
// source there is unknown, and never a default.
func fixed(operand string) bool { return odrl.SourceOf(operand).Fixed() || operand == "timeRange" }

// maxFacts bounds the values of one fact; a fact with more is ignored.
const maxFacts = 64

// Circumstances are all that facts about one call can come from.
type Circumstances struct {
	Claims     *pat.Claims
	Version    any               // of the intent: Intent.Version
	Parameters strictjson.Object // as sent
	Caller     Caller
}

// Facts returns those facts of one call that the policy or its extra rules read, and the operands whose values come from the agent alone.
// It returns nil if none are read.
func (d *Definition) Facts(c Circumstances) (facts map[string]any, fromParameters []string) {
	for i := range d.facts {
		f := &d.facts[i]
		v, sent := f.of(c)
		if v == nil {
			continue
		}
		if facts == nil {
			facts = make(map[string]any, len(d.facts))
		}
		facts[f.operand] = v
		if sent {
			fromParameters = append(fromParameters, f.operand)
		}
	}
	return facts, fromParameters
}

// A Caller is who calls, as far as the transport can see.
type Caller struct {
	// Address is the client's IP address, without a zone; the zero address: not known.
	Address netip.Addr
	// Header returns a header field that a trusted proxy set. nil: the request did not come through one.
	Header func(name string) []string
}

// A fact is one left operand that is configured, with where its values come from: the first source that has some.
type fact struct {
	operand string
	sources []source
}

// A source returns the values of a fact that one call has; nil: none.
type source struct {
	values func(Circumstances) any
	sent   bool // the values are the agent's own words, which the audit stream holds back
}

// newFacts puts what is configured in the order of the operands, with what every call has, as far as the policy reads it; the
// operator's own Rego may read all of it.
func newFacts(configured map[string]config.FactSources, read []string, extra bool) []fact {
	operands := slices.Collect(maps.Keys(configured))
	for operand := range ofCall {
		if extra || !fixed(operand) && slices.Contains(read, operand) { // the policy itself has the values of fixed operands
			operands = append(operands, operand)
		}
	}
	slices.Sort(operands)
	operands = slices.Compact(operands)
	list := make([]fact, 0, len(operands))
	for _, operand := range operands {
		f := fact{operand: operand}
		for _, s := range configured[operand] {
			f.sources = append(f.sources, newSource(s))
		}
		if s, ok := ofCall[operand]; ok {
			f.sources = append(f.sources, s)
		}
		list = append(list, f)
	}
	return list
}

// ofCall are the operands that every call has, from what is configured for them or else from here.
var ofCall = map[string]source{
	"recipient": ofAgent,
	"version":   {values: func(c Circumstances) any { return c.Version }},
}

// ofAgent is who calls.
var ofAgent = source{values: func(c Circumstances) any { return string(c.Claims.Subject) }}

func newSource(s config.FactSource) source {
	switch {
	case s.Claim == "sub":
		return ofAgent
	case s.Claim != "":
		return source{values: func(c Circumstances) any { return texts(c.Claims.Declared[s.Claim]) }}
	case s.Parameter != "":
		return source{sent: true, values: func(c Circumstances) any {
			v, _ := strictjson.Lookup(c.Parameters, s.Parameter)
			return scalars(v)
		}}
	case s.Header != "":
		return source{values: func(c Circumstances) any { return c.Caller.header(s.Header) }}
	case s.Address:
		return source{values: func(c Circumstances) any { return c.Caller.address() }}
	case s.Value != nil:
		fixed := texts(s.Value)
		return source{values: func(Circumstances) any { return fixed }}
	default:
		return source{values: func(c Circumstances) any { return texts(s.Agents[string(c.Claims.Subject)]) }}
	}
}

// of returns the values of the first source that has some; nil: none, the fact is unknown.
func (f *fact) of(c Circumstances) (values any, sent bool) {
	for i := range f.sources {
		if v := f.sources[i].values(c); v != nil {
			return v, f.sources[i].sent
		}
	}
	return nil, false
}

func (c Caller) header(name string) any {
	if c.Header == nil {
		return nil
	}
	if list := c.Header(name); len(list) == 1 && list[0] != "" { // two of them is one too many
		return list[0]
	}
	return nil
}

func (c Caller) address() any {
	if !c.Address.IsValid() {
		return nil
	}
	return c.Address.String()
}

// texts keeps an empty list from being a value.
func texts(list []string) any {
	switch len(list) {
	case 0:
		return nil
	case 1:
		return list[0]
	default:
		return list
	}
}

// scalars returns values as a parameter holds them: a text, a number, a truth value, or a list of those. Other values are not facts.
func scalars(v any) any {
	switch v := v.(type) {
	case string, bool, json.Number:
		return v
	case []any:
		if len(v) == 0 || len(v) > maxFacts || slices.ContainsFunc(v, func(one any) bool {
			switch one.(type) {
			case string, bool, json.Number:
				return false
			}
			return true
		}) {
			return nil
		}
		return v
	default:
		return nil
	}
}
