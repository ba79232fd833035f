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

// fixed reports whether the source of a left operand cannot be configured, because the operand would be a different fact with another
// source. The table of left operands in package odrl defines these operands. All others come from services[].facts; an operand without a
// source there is unknown and has no default.
func fixed(operand string) bool { return odrl.SourceOf(operand).Fixed() || operand == "timeRange" }

// maxFacts is the maximum number of values that a parameter can provide for one fact. A parameter with more values is ignored.
const maxFacts = 64

// Circumstances are the inputs for the facts about one call.
type Circumstances struct {
	Claims     *pat.Claims
	Version    any               // version of the intent: Intent.Version
	Parameters strictjson.Object // as sent
	Caller     Caller
}

// Facts returns the facts about one call that the policy or the operator's own Rego reads, and the operands whose values only the agent
// declared. facts is nil if there are none.
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

// A Caller is the sender of a call, as far as the transport identifies it.
type Caller struct {
	// Address is the client's IP address, without a zone. The zero Addr means that the address is unknown.
	Address netip.Addr
	// Header returns the values of a header field that a trusted proxy set. It is nil if the request did not come through a trusted proxy.
	Header func(name string) []string
}

// A fact is one left operand and the sources of its values. The first source that has values applies.
type fact struct {
	operand string
	sources []source
}

// A source returns the values of a fact for one call, or nil if it has none.
type source struct {
	values func(Circumstances) any
	sent   bool // the agent declares the values, so the audit stream contains only their digest
}

// newFacts returns the facts in the order of their operands: the configured facts, and those facts of every call that the policy reads. If
// extra is true, the operator's own Rego may read all of them.
func newFacts(configured map[string]config.FactSources, read []string, extra bool) []fact {
	operands := slices.Collect(maps.Keys(configured))
	for operand := range ofCall {
		// The policy itself evaluates the other fixed operands.
		if extra || (!fixed(operand) || agreedTo(operand)) && slices.Contains(read, operand) {
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

// ofCall are the sources for operands that every call has. A configured source takes precedence.
var ofCall = map[string]source{
	"recipient": ofAgent,
	odrl.Plan:   ofPlan,
	"version":   {values: func(c Circumstances) any { return c.Version }},
}

// ofAgent is the source whose value is the id of the agent.
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

// of returns the values of the first source that has values, or nil if the fact is unknown. sent reports whether the agent declared these
// values.
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
	if list := c.Header(name); len(list) == 1 && list[0] != "" { // two values are ambiguous
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

// texts returns a list as the value of a fact: nil if it is empty, a string if it has one element, otherwise the list.
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

// scalars returns the value of a parameter as a fact: a string, a number, a boolean, or a list of these. It returns nil for any other
// value.
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
