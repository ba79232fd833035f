package openapi

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/intents/openapi/curation"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// A Curation holds people's decisions about the operations of a document: the content of CurationFile, and the changes that people made
// to AgentsFile since the last run.
type Curation struct {
	file     *curation.File
	last     record // the record of the last run
	messages []string
}

// Curate reads the decisions from the existing files, by name. If force is true, it reads only CurationFile. The error contains the name of
// the file that must be corrected. It wraps ErrCuration if that is CurationFile.
func Curate(existing map[string][]byte, force bool) (*Curation, error) {
	file, err := curation.Read(existing[CurationFile])
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCuration, err)
	}
	c := &Curation{file: file}
	for _, key := range slices.Sorted(maps.Keys(file.Operations)) {
		if err := checkUID(key, file.Operations[key].UID); err != nil {
			return nil, err
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
			return nil, fmt.Errorf("%s is not valid JSON: correct it or use --force: %w", AgentsFile, err)
		}
	}
	f := &follower{Curation: c, offered: intentsOf(tree), keys: map[string]string{}}
	if existing[CurationFile] == nil {
		f.adopt()
	}
	f.follow()
	return c, nil
}

// A follower applies people's changes of AgentsFile to the curation.
type follower struct {
	*Curation
	offered map[string]map[string]any // the intents in AgentsFile, by UID
	keys    map[string]string         // UID → key of its operation in the curation
}

// adopt creates the curation from the record of an earlier release, which had no curation file.
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

// follow compares the intents that the last run wrote with those in AgentsFile. It applies changed UIDs, deletions and edited texts.
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
			f.messages = append(f.messages, uid+" is called "+now+" in "+AgentsFile+" and keeps this UID")
			o.UID, uid = now, now
		}
		if have == nil {
			if o.Hidden != curation.Hidden {
				f.messages = append(f.messages, uid+" was deleted from "+AgentsFile+" and stays deleted: "+CurationFile+" now marks it as hidden")
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

// texts copies a name or description that was edited in AgentsFile since the last run into the curation. If both files were edited, the
// curation takes precedence.
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
			f.last.Texts[uid][t.member] = written[t.member] // the text of the document
		}
		if t.get == "" || digest(map[string]any{t.member: t.get}) == written[t.member] {
			t.set(now)
			continue
		}
		if t.get != now {
			f.messages = append(f.messages, uid+": "+t.member+" was edited in both files: the text in "+CurationFile+" takes precedence")
			f.last.Intents[uid][t.member] = digest(map[string]any{t.member: now})
		}
	}
}

// renames finds intents whose UID people changed: the old UID is missing from AgentsFile, and exactly one intent with an unknown UID makes
// the same call. It returns the new UID of each by its old UID.
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

// ErrCuration means that the content of CurationFile is invalid; the rest of the message is the reason.
var ErrCuration = errors.New("invalid curation")
