package openapi

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/intents/openapi/change"
	"github.com/uimgate/uimgate/intents/openapi/read"
)

// A ChangeKind is the kind of a change of one intent.
type ChangeKind string

// The kinds of changes.
const (
	Added     ChangeKind = "added"
	Changed   ChangeKind = "changed"
	Breaking  ChangeKind = "breaking"  // agents that call the intent as it was described must change
	Revised   ChangeKind = "revised"   // the intent was retired before, and now ends at RetireAfter
	Replaced  ChangeKind = "replaced"  // another version replaces the intent, which ends at RetireAfter
	Retired   ChangeKind = "retired"   // the document no longer has the operation
	Withdrawn ChangeKind = "withdrawn" // a person has hidden the operation; the intent is removed
)

// A Change is one difference between the existing intents and those that Update writes.
type Change struct {
	Kind        ChangeKind
	UID         string
	Details     []string  // what changed, for people
	Successor   string    // the UID of the intent that replaces this one; may be empty
	RetireAfter time.Time // when the intent ends; zero: at once, or never if Kind does not end it
}

func (u *update) change(c Change) { u.result.Changes = append(u.result.Changes, c) }

// versions finds intents whose change breaks agents. Unless Options.InPlace is set, it gives their operations UIDs with the next version,
// so that the intents under the previous UIDs can continue. agents is the existing agents.json.
func (u *update) versions(agents map[string]any) {
	existing, used := intentsOf(agents), map[string]bool{}
	for uid := range existing {
		used[uid] = true
	}
	for _, o := range u.curation.file.Operations {
		used[o.UID] = true
	}
	next := map[string]intents.UID{} // by previous UID
	list := slices.Clone(u.Intents)
	for n := range list {
		in := &list[n]
		uid := in.UID.String()
		used[uid] = true
		was := existing[uid]
		if was == nil || u.last.Intents[uid] == nil || read.Flag(was["retired"]) {
			continue
		}
		merged, _, held := combine(was, in.Tree, u.last.Intents[uid])
		reasons := change.Breaking(was, merged)
		if len(reasons) == 0 {
			continue
		}
		u.breaking[uid] = reasons
		if u.options.InPlace {
			continue
		}
		u.report(uid, held)
		fresh := nextVersion(in.UID, used)
		next[uid], used[fresh.String()] = fresh, true
		if merged["version"] == in.Tree["version"] {
			merged["version"] = fresh.Version
		}
		in.UID, in.Tree = fresh, maps.Clone(in.Tree)
		in.Tree["intent_uid"], in.Tree["version"], merged["intent_uid"] = fresh.String(), fresh.Version, fresh.String()
		delete(merged, "retire_after")
		delete(merged, "replaced_by")
		u.merged[fresh.String()] = merged
	}
	if len(next) > 0 {
		u.rename(list, next)
	}
}

// rename replaces UIDs in copies of the lists of the import, and in the curation.
func (u *update) rename(list []Intent, next map[string]intents.UID) {
	out := *u.Import
	out.Intents, out.Reviewed = list, slices.Clone(u.Reviewed)
	for n := range out.Reviewed {
		if to, is := next[out.Reviewed[n].UID]; is {
			out.Reviewed[n].UID = to.String()
		}
	}
	for key, o := range u.curation.file.Operations {
		if to, is := next[o.UID]; is {
			o.UID = to.String()
			u.curation.file.Operations[key] = o
		}
	}
	u.Import = &out
}

// nextVersion returns the UID with the first major version after that of uid that is not used. v2 follows a version without a number.
func nextVersion(uid intents.UID, used map[string]bool) intents.UID {
	n := majorNumber(uid.Version)
	if n < 1 || n > 1e6 {
		n = 1
	}
	for {
		n++
		uid.Version = fmt.Sprintf("v%d", n)
		if !used[uid.String()] {
			return uid
		}
	}
}

// retire returns the intent with the mark that it is retired or will be, and with its successor if there is one. If the intent already has
// such a mark, or if a person has removed the mark, retire returns the intent unchanged. If Options.Revise is set, it may change an
// existing mark.
func (u *update) retire(have map[string]any, uid, successor string) map[string]any {
	u.fresh.Intents[uid] = u.last.Intents[uid]
	if have["retired"] != nil || have["retire_after"] != nil {
		return u.revise(have, uid)
	}
	if u.last.Intents[uid]["retire_after"] != "" { // removed by hand, to keep the intent
		return have
	}
	out := maps.Clone(have)
	at := u.options.Gone
	c := Change{Kind: Retired, UID: uid}
	if successor != "" {
		at = u.options.Replaced
		c = Change{Kind: Replaced, UID: uid, Successor: successor, Details: u.breaking[uid]}
		if out["replaced_by"] == nil {
			out["replaced_by"] = successor
		}
	}
	c.RetireAfter = at
	if at.IsZero() {
		out["retired"] = true
	} else {
		out["retire_after"] = at.UTC().Format(time.RFC3339)
	}
	parts := maps.Clone(u.last.Intents[uid])
	for _, name := range []string{"retired", "retire_after", "replaced_by"} { // so that they are removed if the operation has this UID again
		if v, ok := out[name]; ok && have[name] == nil {
			parts[name] = digest(map[string]any{name: v})
		}
	}
	u.fresh.Intents[uid] = parts
	u.result.Retired++
	u.change(c)
	return out
}

// revise returns a retired intent with the end that the options set. If Options.Revise is zero, or the retire_after of the intent
// has passed, revise returns the intent unchanged.
func (u *update) revise(have map[string]any, uid string) map[string]any {
	now := u.options.Revise
	if ends, err := time.Parse(time.RFC3339, read.Text(have["retire_after"])); now.IsZero() || err == nil && !ends.After(now) {
		return have
	}
	at := u.options.Gone
	if have["replaced_by"] != nil {
		at = u.options.Replaced
	}
	name, value := "retired", any(true)
	if !at.IsZero() {
		name, value = "retire_after", at.UTC().Format(time.RFC3339)
	}
	if have[name] == value {
		return have
	}
	out, parts := maps.Clone(have), maps.Clone(u.last.Intents[uid])
	for _, mark := range []string{"retired", "retire_after"} {
		delete(out, mark)
		delete(parts, mark)
	}
	out[name], parts[name] = value, digest(map[string]any{name: value})
	u.fresh.Intents[uid] = parts
	u.change(Change{Kind: Revised, UID: uid, RetireAfter: at})
	return out
}

// A lineage maps the UID of each replaced intent that agents can still call to the UID of its latest replacement.
type lineage map[string]string

const maxSuccessors = 100

func lineageOf(agents map[string]any) lineage {
	by := map[string]string{}
	live := []string{}
	for _, v := range read.List(agents["intents"]) {
		in := read.Object(v)
		uid, next := read.Text(in["intent_uid"]), read.Text(in["replaced_by"])
		if next == "" {
			continue
		}
		by[uid] = next
		if !read.Flag(in["retired"]) {
			live = append(live, uid)
		}
	}
	out := lineage{}
	for _, uid := range live {
		to := uid
		for range maxSuccessors {
			if by[to] == "" {
				break
			}
			to = by[to]
		}
		out[uid] = to
	}
	return out
}

// inherit gives each replaced intent the price and the limit of its successor.
func (c *charges) inherit(from lineage) {
	for uid, next := range from {
		if rate, limited := c.limits[next]; limited {
			c.limits[uid] = rate
		}
		if _, own := c.of[uid]; own {
			continue
		}
		if price, costs := c.of[next]; costs {
			c.of[uid] = price
		}
	}
}
