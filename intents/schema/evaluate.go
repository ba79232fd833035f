package schema

import (
	"maps"
	"slices"
)

// seen records the items or members of a value that some keyword has evaluated; unevaluatedItems and unevaluatedProperties apply to all
// others. Items and members are recorded only if a schema has one of these two keywords.
type seen struct {
	all   bool
	names map[string]bool
	items map[int]bool
}

func (s *seen) name(name string, m *Meter) {
	if !m.take(stepsOfSeen) {
		return
	}
	if s.names == nil {
		s.names = map[string]bool{}
	}
	s.names[name] = true
}

func (s *seen) item(i int, m *Meter) {
	if !m.take(stepsOfSeen) {
		return
	}
	if s.items == nil {
		s.items = map[int]bool{}
	}
	s.items[i] = true
}

// add adds the items and members that another schema has evaluated for the same value.
func (s *seen) add(other seen, m *Meter) {
	s.all = s.all || other.all
	for name := range other.names {
		s.name(name, m)
	}
	for i := range other.items {
		s.item(i, m)
	}
}

// validate evaluates a value against the schema, and adds the faults to r. It returns the evaluated items or members if r.tracking is set.
func (c *check) validate(v any, at *Path, r *Report) (s seen) {
	if c == nil || r.full() || !r.take(max(c.cost, 1)) || c.nullable && v == nil {
		return s
	}
	if c.never {
		r.addAt(fault{kind: noValue}, at)
		return s
	}
	if c.kinds != 0 && !c.kinds.has(v, &r.meter) {
		r.breaks(c, "type", at)
		return s
	}
	c.bounds.hold(v, c, at, r)
	c.identity.hold(v, c, at, r)
	switch v := v.(type) {
	case []any:
		if r.take(stepsOfInside) {
			c.list(v, at, r, &s)
		}
	case map[string]any:
		if r.take(stepsOfInside) {
			c.members(v, at, r, &s)
		}
	}
	if c.combination != nil {
		c.combine(v, at, r, &s)
	}
	return s
}

func (c *check) list(v []any, at *Path, r *Report, s *seen) {
	var prefix []*check
	if c.combination != nil {
		prefix = c.prefix
	}
	if r.tracking {
		s.all = c.items != nil
		for i := range min(len(prefix), len(v)) {
			s.item(i, &r.meter)
		}
	}
	inside := pathAt(at, 0) // reused for all items, because faults store the path as a string
	for i, item := range v {
		sub := c.items
		if i < len(prefix) {
			sub = prefix[i]
		} else if sub == nil {
			break
		}
		if r.full() {
			return
		}
		inside.index = i
		sub.validate(item, inside, r)
	}
	if c.combination != nil && c.contains != nil {
		c.count(v, at, r, s)
	}
}

// count evaluates contains, minContains and maxContains.
func (c *check) count(v []any, at *Path, r *Report, s *seen) {
	matched := 0
	inside := pathAt(at, 0)
	for i, item := range v {
		if r.full() {
			return
		}
		inside.index = i
		if faults, _ := r.ask(c.contains, item, inside, 1); len(faults) > 0 {
			continue
		}
		matched++
		if r.tracking {
			s.item(i, &r.meter)
		} else if c.maxContains < 0 && matched >= c.minContains {
			break
		}
	}
	if matched < c.minContains {
		keyword := "contains" // without minContains it requires one item
		if _, ok := c.doc["minContains"]; ok {
			keyword = "minContains"
		}
		r.breaks(c, keyword, at)
	}
	if c.maxContains >= 0 && matched > c.maxContains {
		r.breaks(c, "maxContains", at)
	}
}

func (c *check) members(v map[string]any, at *Path, r *Report, s *seen) {
	for _, name := range c.required {
		if _, ok := v[name]; !ok {
			r.addAt(fault{kind: missingMember, name: name}, PathTo(at, name))
		}
	}
	var rest combination
	if c.combination != nil {
		rest.patterns, rest.names = c.patterns, c.names
	}
	switch {
	case c.closed, c.additional != nil, rest.patterns != nil, rest.names != nil, len(v) < len(c.known):
		c.allMembers(v, rest, at, r, s)
	case c.properties != nil:
		inside := PathTo(at, "")
		for _, name := range c.known {
			if r.full() || !r.take(stepsOfLookup) {
				return
			}
			if member, ok := v[name]; ok {
				c.member(name, member, inside, c.properties[name], r, s)
			}
		}
	}
	s.all = s.all || r.tracking && (c.closed || c.additional != nil || c.open)
}

func (c *check) member(name string, member any, inside *Path, sub *check, r *Report, s *seen) {
	inside.name = name
	sub.validate(member, inside, r)
	if r.tracking {
		s.name(name, &r.meter)
	}
}

// allMembers evaluates every member against all applicable keywords, in the order of the names of the members.
func (c *check) allMembers(v map[string]any, rest combination, at *Path, r *Report, s *seen) {
	if len(v) == 0 || !r.take(sorting(len(v))) {
		return
	}
	inside := PathTo(at, "")
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if r.full() || !r.take(stepsOfLookup) {
			return
		}
		inside.name = name
		if rest.names != nil {
			rest.names.validate(name, inside, r)
		}
		sub, known := c.properties[name]
		if known {
			c.member(name, v[name], inside, sub, r, s)
		}
		for _, p := range rest.patterns {
			if p.match(name, &r.meter) {
				known = true
				c.member(name, v[name], inside, p.check, r, s)
			}
		}
		switch {
		case known:
		case c.closed:
			r.addAt(fault{kind: unknownName, name: name, known: c.known, repeat: true}, at)
		case c.additional != nil:
			c.additional.validate(v[name], inside, r)
		}
	}
}

// combine evaluates a value against the keywords of a combination, except those that list and members evaluate.
func (c *check) combine(v any, at *Path, r *Report, s *seen) {
	if object, ok := v.(map[string]any); ok {
		for _, d := range c.dependent {
			if _, ok := object[d.name]; ok && r.take(stepsOfLookup) {
				s.add(d.check.validate(v, at, r), &r.meter)
			}
		}
	}
	s.add(c.ref.validate(v, at, r), &r.meter)
	if c.not != nil {
		if faults, _ := r.ask(c.not, v, at, 1); len(faults) == 0 {
			r.breaks(c, "not", at)
		}
	}
	for _, sub := range c.all {
		s.add(sub.validate(v, at, r), &r.meter)
	}
	c.choose("anyOf", c.any, v, at, r, s)
	c.choose("oneOf", c.one, v, at, r, s)
	if c.when != nil {
		next := c.then
		if faults, found := r.ask(c.when, v, at, 1); len(faults) > 0 {
			next = c.otherwise
		} else {
			s.add(found, &r.meter)
		}
		s.add(next.validate(v, at, r), &r.meter)
	}
	c.unevaluated(v, at, r, s)
}

// choose evaluates a value against the alternatives of anyOf or oneOf. If no alternative matches, and only one permits the type of the
// value, choose reports the faults of that alternative.
func (c *check) choose(keyword string, branches []*check, v any, at *Path, r *Report, s *seen) {
	if branches == nil || r.full() {
		return
	}
	var meant []fault
	candidates, matched := 0, 0
	for _, branch := range branches {
		faults, found := r.ask(branch, v, at, r.most-len(r.faults))
		switch {
		case r.meter.Exhausted():
			return
		case len(faults) == 0:
			matched++
			s.add(found, &r.meter)
		case !refusesType(faults, at):
			candidates++
			meant = faults
		}
		if matched == 2 && keyword == "oneOf" || matched == 1 && keyword == "anyOf" && !r.tracking {
			break
		}
	}
	switch {
	case matched == 1, matched > 1 && keyword == "anyOf":
	case matched == 0 && candidates == 1:
		for _, f := range meant {
			r.add(f)
		}
	default:
		r.breaks(c, keyword, at)
	}
}

// refusesType reports whether one of the faults is that the value at this path has a type that is not permitted.
func refusesType(faults []fault, at *Path) bool {
	for _, f := range faults {
		if f.kind == brokenKeyword && f.keyword == "type" && f.at == at.String() {
			return true
		}
	}
	return false
}

func (c *check) unevaluated(v any, at *Path, r *Report, s *seen) {
	switch v := v.(type) {
	case []any:
		if c.unevaluatedItems == nil {
			return
		}
		inside := pathAt(at, 0)
		for i, item := range v {
			if r.full() || !r.take(stepsOfLookup) {
				return
			}
			if !s.all && !s.items[i] {
				inside.index = i
				c.unevaluatedItems.remaining("unevaluatedItems", item, inside, r)
			}
		}
		s.all = true
	case map[string]any:
		if c.unevaluatedProperties == nil || !r.take(sorting(len(v))) {
			return
		}
		inside := PathTo(at, "")
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if r.full() || !r.take(stepsOfLookup) {
				return
			}
			if !s.all && !s.names[name] {
				inside.name = name
				c.unevaluatedProperties.remaining("unevaluatedProperties", v[name], inside, r)
			}
		}
		s.all = true
	}
}

func (c *check) remaining(keyword string, v any, at *Path, r *Report) {
	if c.never {
		r.addAt(fault{kind: notAllowed, keyword: keyword}, at)
		return
	}
	c.validate(v, at, r)
}
