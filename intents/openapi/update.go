package openapi

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/uimgate/uimgate/intents/openapi/curation"
	"github.com/uimgate/uimgate/intents/openapi/read"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// The files of a configuration.
const (
	AgentsFile = "agents.json"
	PolicyFile = "policy.json"
	ConfigFile = "uimgate.yaml"
	ReadmeFile = "README.md"
	// RecordFile holds digests of the written files, to detect the operator's edits.
	RecordFile = ".uimgate-init.json"
)

// CurationFile holds people's decisions about the operations of the document.
const CurationFile = curation.FileName

// Names lists the files that Update reads and writes, except those of Options.Policies, and those whose names end in .new or .old, which it
// only writes.
var Names = []string{AgentsFile, PolicyFile, ConfigFile, ReadmeFile, CurationFile, RecordFile}

// ErrNotOurs means that there are files that Update did not write.
var ErrNotOurs = errors.New("there are files that uimgate init did not write")

// A Result holds the files to write, by name, and the number of intents for each kind of change.
type Result struct {
	Write                                 map[string][]byte
	Added, Changed, Same, Retired, Hidden int
	Messages                              []string // for people, one line each
	// Changes are the differences between the existing intents and the new ones, in the order of agents.json. They omit intents that do not
	// change.
	Changes []Change
	// Prices and Limits are those of the offered intents under the curation, by UID. Prices does not contain intents that are free, and Limits
	// does not contain intents without a limit in the curation.
	Prices map[string]money.Amount
	Limits map[string]limit.Rate
	// Like contains the intents that a merged policy now permits on the terms of the version before them. It maps policies and UIDs to the
	// UIDs of these versions.
	Like map[string]map[string]string
}

// A record is the content of RecordFile.
type record struct {
	Version    int               `json:"version"`
	Namespace  string            `json:"namespace"`  // empty in older records
	Operations map[string]string `json:"operations"` // "GET /things/{id}" → UID
	// DocumentVersion is the version in the UIDs; it is empty in records of releases without a curation file.
	DocumentVersion string                       `json:"document_version"`
	Selection       *curation.Selection          `json:"selection"`
	Texts           map[string]map[string]string `json:"texts"`   // UID → member → digest of the text that the curation replaces
	Intents         map[string]map[string]string `json:"intents"` // UID → part → digest of the text written
	Service         map[string]string            `json:"service"` // member of service-info → digest
	Files           map[string]string            `json:"files"`   // file → digest
	// Terms are the prices and limits in the curation, by the keys of operations. It is nil in records of earlier releases.
	Terms    map[string]string `json:"terms"`
	BasePath bool              `json:"base_path"` // true, for 0.1.0
	Email    string            `json:"acme_email,omitempty"`
}

const recordVersion = 1

func readRecord(data []byte) (*record, error) {
	if data == nil {
		return nil, nil //nolint:nilnil // a missing record is not an error
	}
	if _, err := strictjson.DecodeObject(data); err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", RecordFile, err)
	}
	var r record
	if err := json.Unmarshal(data, &r); err != nil || r.Version != recordVersion {
		return nil, fmt.Errorf("%s was not written by this version of uimgate: use --force to start over", RecordFile)
	}
	if r.Texts == nil {
		r.Texts = map[string]map[string]string{}
	}
	return &r, nil
}

// Update returns the new files of a configuration. existing holds the existing files by name; Curate must have read the curation from the
// same files.
//
// Update compares each part of an intent with the last version that it wrote: it keeps a part that the operator has edited, and takes all
// other parts from the document. It retires intents whose operations the document does not have any more, removes hidden intents, and
// keeps intents that the operator wrote. It replaces other files only if they were not edited; otherwise, it writes the new text as
// NAME.new.
//
// If force is true, Update writes all files except the curation again, and keeps the previous files as NAME.old. The error wraps
// ErrNotOurs, ErrCuration or read.ErrDocument, or concerns a single file.
func (i *Import) Update(existing map[string][]byte, force bool) (*Result, error) {
	u := &update{
		Import: i, result: &Result{Write: map[string][]byte{}}, existing: existing, merged: map[string]map[string]any{},
		breaking: map[string][]string{},
	}
	u.fresh = record{
		Version: recordVersion, Namespace: i.Namespace, Operations: map[string]string{}, Intents: map[string]map[string]string{},
		Service: map[string]string{}, Files: map[string]string{}, Texts: map[string]map[string]string{},
		DocumentVersion: i.versions, Selection: &i.curation.file.Selection, BasePath: true, Email: i.Email,
	}
	u.result.Messages = append(u.result.Messages, i.curation.messages...)
	if err := u.keep(force); err != nil {
		return nil, err
	}
	agents, err := u.agents()
	if err != nil {
		return nil, err
	}
	lineage := lineageOf(agents)
	text := encode(agents)
	if len(i.Intents) == 0 && len(read.List(agents["intents"])) == 0 {
		return nil, fmt.Errorf("%w: none of its operations can be offered%s", read.ErrDocument, i.why())
	}
	u.result.Write[AgentsFile] = text
	prices, err := u.charges(agents)
	if err != nil {
		return nil, err
	}
	prices.inherit(lineage)
	u.result.Prices, u.result.Limits = prices.of, prices.limits
	policy, err := u.policy(agents, prices)
	if err != nil {
		return nil, err
	}
	data, err := policy.text()
	if err != nil {
		return nil, err
	}
	u.writePolicies(policy, prices, data, text, lineage)
	for _, name := range []string{ConfigFile, ReadmeFile} {
		whole, err := u.text(name, prices, lineage)
		if err != nil {
			return nil, err
		}
		u.replace(name, name, whole)
	}
	written, err := json.MarshalIndent(u.fresh, "", " ")
	if err != nil {
		return nil, fmt.Errorf("writing %s: %w", RecordFile, err)
	}
	u.result.Write[RecordFile] = append(written, '\n')
	if u.result.Write[CurationFile], err = i.curation.file.Text(); err != nil {
		return nil, err
	}
	return u.result, nil
}

func (i *Import) why() string {
	switch {
	case len(i.Unmapped) > 0:
		return fmt.Sprintf(": %s (%d in all)", i.Unmapped[0], len(i.Unmapped))
	case i.Hidden > 0:
		return fmt.Sprintf(": none is selected; --review lists the %d operations that could be offered, and --all and --pick select operations", i.Hidden)
	default:
		return ""
	}
}

type update struct {
	*Import
	result   *Result
	existing map[string][]byte
	last     record                    // the record of the last run
	fresh    record                    // the record of this run
	merged   map[string]map[string]any // intents with a new version, by the new UID; they keep the operator's edits
	breaking map[string][]string       // reasons why the change of an intent breaks agents, by its previous UID
}

// keep prepares the update of the existing files. If force is true, it adds copies of them to the result. Otherwise, it returns an error
// that wraps ErrNotOurs if there are files but no record of an earlier run.
func (u *update) keep(force bool) error {
	if force {
		for _, name := range Names[:4] {
			if old := u.existing[name]; old != nil {
				u.result.Write[name+".old"] = old
			}
		}
		u.existing = nil
		return nil
	}
	if u.last = u.curation.last; u.last.Version != 0 {
		return nil
	}
	for _, name := range Names[:3] {
		if u.existing[name] != nil {
			return fmt.Errorf("%w (%s)", ErrNotOurs, name)
		}
	}
	return nil
}

// replace adds a file that is replaced as a whole to the result. If the operator has edited the existing file, the name of the new one is
// NAME.new. key is the name of the file in the record.
func (u *update) replace(key, name string, data []byte) {
	have, last := u.existing[name], u.last.Files[key]
	u.fresh.Files[key] = digest(data)
	switch {
	case have == nil, digest(have) == last, digest(have) == digest(data):
		u.result.Write[name] = data
	case digest(data) == last: // nothing changed
	default:
		u.result.Write[name+".new"] = data
		u.fresh.Files[key] = last
		u.result.Messages = append(u.result.Messages, fmt.Sprintf("%s was edited and is kept; the new version is %s.new", name, name))
	}
}

// agents returns the new content of agents.json, with the operator's edits.
func (u *update) agents() (map[string]any, error) {
	tree := map[string]any{}
	if data := u.existing[AgentsFile]; data != nil {
		var err error
		if tree, err = strictjson.DecodeObject(data); err != nil {
			return nil, fmt.Errorf("%s is not valid JSON: correct it or use --force: %w", AgentsFile, err)
		}
	}
	info := maps.Clone(read.Object(tree["service-info"]))
	if info == nil {
		info = map[string]any{}
	}
	fresh := u.serviceInfo()
	for _, name := range slices.Sorted(maps.Keys(fresh)) {
		u.fresh.Service[name] = digest(fresh[name])
		if have, ok := info[name]; !ok && u.last.Service[name] == "" || ok && digest(have) == u.last.Service[name] {
			info[name] = fresh[name]
		}
	}
	tree["service-info"] = info
	u.versions(tree)
	tree["intents"] = u.intents(read.List(tree["intents"]))
	return tree, nil
}

func (i *Import) serviceInfo() map[string]any {
	info := map[string]any{"name": i.Title, "service_url": "https://" + i.Namespace}
	if i.Title == "" {
		info["name"] = i.Namespace
	}
	if i.Description != "" {
		info["description"] = i.Description
	}
	if i.TermsURL != "" {
		info["service_terms_of_service_url"] = i.TermsURL
	}
	return info
}

func (u *update) intents(have []any) []any {
	found := map[string]Intent{}
	for _, in := range u.Intents {
		found[in.UID.String()] = in
		u.texts(in)
	}
	for _, r := range u.Reviewed {
		if r.UID != "" {
			u.fresh.Operations[r.Operation] = r.UID
		}
	}
	successor := map[string]string{} // previous UID of an operation → its new UID
	for op, uid := range u.last.Operations {
		now, ok := u.fresh.Operations[op]
		switch {
		case !ok:
			u.fresh.Operations[op] = uid // the UID stays reserved for the operation
		case now != uid:
			successor[uid] = now
		}
	}
	out, seen := []any{}, map[string]bool{}
	for _, v := range have {
		uid := read.Text(read.Object(v)["intent_uid"])
		seen[uid] = true
		in, ok := found[uid]
		parts := u.last.Intents[uid]
		switch {
		case ok:
			out = append(out, u.merge(read.Object(v), in.Tree, uid))
		case parts == nil: // the operator wrote the intent
			out = append(out, v)
		case u.hidden[uid], u.hidden[successor[uid]]:
			u.result.Hidden++
			u.change(Change{Kind: Withdrawn, UID: uid})
		default:
			next := successor[uid]
			if _, offered := found[next]; !offered {
				next = ""
			}
			out = append(out, u.retire(read.Object(v), uid, next))
		}
	}
	for _, in := range u.Intents {
		uid := in.UID.String()
		switch {
		case seen[uid]:
		default:
			u.result.Added++
			u.change(Change{Kind: Added, UID: uid, Details: []string{in.Operation}})
			u.fresh.Intents[uid] = digests(in.Tree)
			if merged := u.merged[uid]; merged != nil {
				out = append(out, merged)
			} else {
				out = append(out, in.Tree)
			}
		}
	}
	return out
}

// texts records the texts of the document that the curation replaces, and reports those that have changed in the document.
func (u *update) texts(in Intent) {
	uid := in.UID.String()
	for _, member := range slices.Sorted(maps.Keys(in.own)) {
		now := digest(map[string]any{member: in.own[member]})
		if u.fresh.Texts[uid] == nil {
			u.fresh.Texts[uid] = map[string]string{}
		}
		u.fresh.Texts[uid][member] = now
		if was := u.last.Texts[uid][member]; was != "" && was != now {
			u.result.Messages = append(u.result.Messages,
				fmt.Sprintf("%s: %s was edited and is kept, although the document has changed it as well", uid, member))
		}
	}
}

// digest returns a digest of the bytes v, or of the JSON of any other value.
func digest(v any) string {
	data, ok := v.([]byte)
	if !ok {
		var err error
		if data, err = json.Marshal(v); err != nil {
			return "none"
		}
	}
	sum := sha256.Sum256(data)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
