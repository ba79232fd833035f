package openapi

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/intents/openapi/curation"
	"github.com/uimgate/uimgate/intents/openapi/read"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// A Curation is the decisions of people about the operations of a document: the content of CurationFile, and their changes to AgentsFile
// since it was written.
type Curation struct {
	file     *curation.File
	last     record // what was written last time
	messages []string
}

// Curate reads the decisions from the present files, by name. With force it reads CurationFile alone. The error names the file that
// people must correct.
func Curate(existing map[string][]byte, force bool) (*Curation, error) {
	file, err := curation.Read(existing[CurationFile])
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCuration, err)
	}
	c := &Curation{file: file}
	for _, key := range slices.Sorted(maps.Keys(file.Operations)) {
		if uid := file.Operations[key].UID; uid != "" {
			if _, err := intents.ParseUID(uid); err != nil {
				return nil, fmt.Errorf("%w: %s: operations.%s.uid: %w", ErrCuration, CurationFile, key, err)
			}
		}
	}
	if force {
		return c, nil
	}
	last, err := readRecord(existing[RecordFile])
	if err != nil || last == nil {
		return c, err
	}
	c.last = *last
	tree := map[string]any{}
	if data := existing[AgentsFile]; data != nil {
		if tree, err = strictjson.DecodeObject(bytes.Clone(data)); err != nil {
			return nil, fmt.Errorf("%s cannot be read, mend it or use --force: %w", AgentsFile, err)
		}
	}
	f := &follower{Curation: c, offered: map[string]map[string]any{}, keys: map[string]string{}}
	for _, v := range read.List(tree["intents"]) {
		f.offered[read.Text(read.Object(v)["intent_uid"])] = read.Object(v)
	}
	if existing[CurationFile] == nil {
		f.adopt()
	}
	f.follow()
	return c, nil
}

// A follower adopts people's changes to AgentsFile.
type follower struct {
	*Curation
	offered map[string]map[string]any // present intents by UID
	keys    map[string]string         // UID → key of its operation
}

// adopt makes a curation from the record of an earlier version, which had none.
func (f *follower) adopt() {
	for _, op := range slices.Sorted(maps.Keys(f.last.Operations)) {
		uid := f.last.Operations[op]
		state := curation.Offered
		if f.offered[uid] == nil && f.last.Intents[uid] == nil {
			state = curation.Hidden
		}
		f.file.Add(op, curation.Operation{UID: uid, Hidden: state}, "")
	}
}

// follow goes through the written intents: renamed, deleted, or with edited texts.
func (f *follower) follow() {
	for key, o := range f.file.Operations {
		f.keys[o.UID] = key
	}
	renamed := f.renames()
	for _, uid := range slices.Sorted(maps.Keys(f.last.Intents)) {
		key, listed := f.keys[uid]
		if !listed {
			continue
		}
		o := f.file.Operations[key]
		have := f.offered[uid]
		if now, is := renamed[uid]; is {
			have = f.offered[now]
			f.last.Intents[now] = f.last.Intents[uid]
			delete(f.last.Intents, uid)
			for op, of := range f.last.Operations {
				if of == uid {
					f.last.Operations[op] = now
				}
			}
			f.messages = append(f.messages, uid+" is called "+now+" in "+AgentsFile+", and from now on")
			o.UID, uid = now, now
		}
		if have == nil {
			if o.Hidden != curation.Hidden {
				f.messages = append(f.messages, uid+" was deleted from "+AgentsFile+" and is not put back: "+CurationFile+" has it as hidden")
			}
			o.Hidden = curation.Hidden
			delete(f.last.Intents, uid)
			f.file.Operations[key] = o
			continue
		}
		f.texts(uid, have, &o)
		f.file.Operations[key] = o
	}
}

// texts adopts a name or description that was edited in AgentsFile since it was written. If both files were edited, the curation takes
// precedence.
func (f *follower) texts(uid string, have map[string]any, o *curation.Operation) {
	written := f.last.Intents[uid]
	for _, t := range []struct {
		member string
		get    string
		set    func(string)
	}{
		{"intent_name", o.Name, func(s string) { o.Name = s }},
		{"description", string(o.Description), func(s string) { o.Description = curation.Prose(s) }},
	} {
		now, is := have[t.member].(string)
		if !is || now == "" || digest(map[string]any{t.member: now}) == written[t.member] {
			continue
		}
		if t.get == "" && f.last.Texts[uid][t.member] == "" {
			if f.last.Texts[uid] == nil {
				f.last.Texts[uid] = map[string]string{}
			}
			f.last.Texts[uid][t.member] = written[t.member] // the document's own
		}
		if t.get == "" || digest(map[string]any{t.member: t.get}) == written[t.member] {
			t.set(now)
			continue
		}
		if t.get != now {
			f.messages = append(f.messages, uid+": "+t.member+" was edited in both files: that of "+CurationFile+" holds")
			f.last.Intents[uid][t.member] = digest(map[string]any{t.member: now})
		}
	}
}

// renames finds intents that people gave another UID: the old one has disappeared, and exactly one unknown intent has the same endpoint.
func (f *follower) renames() map[string]string {
	calls, twice := map[string]string{}, map[string]bool{} // digest of the call → unknown UID
	for uid, in := range f.offered {
		if f.last.Intents[uid] != nil || f.keys[uid] != "" {
			continue
		}
		if _, err := intents.ParseUID(uid); err != nil {
			continue
		}
		d := digests(in)["call"]
		twice[d] = calls[d] != ""
		calls[d] = uid
	}
	out, taken := map[string]string{}, map[string]bool{}
	for _, uid := range slices.Sorted(maps.Keys(f.last.Intents)) {
		d := f.last.Intents[uid]["call"]
		if now := calls[d]; f.offered[uid] == nil && now != "" && !twice[d] && !taken[now] {
			out[uid], taken[now] = now, true
		}
	}
	return out
}

// ErrCuration means that CurationFile cannot be used; the surrounding text is the reason.
var ErrCuration = errors.New("what is curated cannot be read")
