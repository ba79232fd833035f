package policies

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/reloads"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/intents/openapi"
	"github.com/uimgate/uimgate/intents/openapi/curation"
	"github.com/uimgate/uimgate/internal/lines"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/odrl"
)

// maxCuration bounds the file of a curation, in bytes.
const maxCuration = 1 << 20

// A CurationQuery selects operations in the curation of a service.
type CurationQuery struct {
	Service string `query:"service"` // id; empty: the only service
	api.PageRequest
	Search string `query:"search"` // a part of the key, the uid or the name, in any case; empty: all
}

// A Curation is the curation file of a service, which uimgate init writes next to agents.json, and one page of the operations in it.
type Curation struct {
	Path     string `json:"path"`
	Text     string `json:"text"`
	SHA256   string `json:"sha256"`   // of Text, in hexadecimal: CurationEdit.SHA256
	Writable bool   `json:"writable"` // SaveCuration can change the files
	api.Page[CurationItem]
}

// A CurationItem is the decision about one operation. If a text is empty, the text of the document applies.
type CurationItem struct {
	Key         string `json:"key"` // operationId, or METHOD /path
	UID         string `json:"uid,omitempty"`
	State       string `json:"state"`   // offered, hidden, or undecided if the selection decides
	Offered     bool   `json:"offered"` // the gateway serves the intent now
	Safe        bool   `json:"safe"`    // a call changes nothing; only if Offered
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	Price       string `json:"price,omitempty"`
	Limit       string `json:"limit,omitempty"`
	Agreement   string `json:"agreement,omitempty"`
	Notes       string `json:"notes,omitempty"`
}

// The states of an operation.
const (
	CurationOffered   = "offered"
	CurationHidden    = "hidden"
	CurationUndecided = "undecided"
)

// Curation returns the curation file of a service, as it is now, and the operations that match, in the order of their keys. The refusal is
// NO_SUCH_RECORD if the file does not exist.
func (o *Operations) Curation(_ context.Context, s *service.Service, q CurationQuery) (Curation, error) {
	path := curationPath(s)
	text, err := readCuration(path)
	if err != nil {
		return Curation{}, err
	}
	file, err := curation.Read(text)
	if err != nil {
		return Curation{}, refusedCuration(err)
	}
	out := Curation{Path: path, Text: string(text), SHA256: sha256Text(text)}
	out.Items = []CurationItem{}
	out.Writable = writable(path) && writable(s.AgentsFilePath) && writable(s.PolicyFile)
	search := strings.ToLower(q.Search)
	for _, key := range slices.Sorted(maps.Keys(file.Operations)) {
		op := file.Operations[key]
		if key <= q.After || !strings.Contains(strings.ToLower(key+"\n"+op.UID+"\n"+op.Name), search) {
			continue
		}
		if len(out.Items) == q.Max() {
			out.Next = out.Items[len(out.Items)-1].Key
			break
		}
		out.Items = append(out.Items, curationItem(s, key, &op))
	}
	return out, nil
}

func curationItem(s *service.Service, key string, op *curation.Operation) CurationItem {
	item := CurationItem{
		Key: key, UID: op.UID, Name: op.Name, Description: string(op.Description), Agreement: op.Agreement, Notes: string(op.Notes),
		State: map[curation.State]string{
			curation.Undecided: CurationUndecided, curation.Offered: CurationOffered, curation.Hidden: CurationHidden,
		}[op.Hidden],
	}
	if !op.Price.IsZero() {
		item.Price = op.Price.String()
	}
	if op.Limit.Period != "" {
		item.Limit = op.Limit.String()
	}
	if in, err := s.Intent(op.UID); err == nil {
		item.Offered, item.Safe = true, in.Safe
	}
	return item
}

// curationPath returns the path of the curation of a service.
func curationPath(s *service.Service) string {
	return filepath.Join(filepath.Dir(s.AgentsFilePath), openapi.CurationFile)
}

func readCuration(path string) ([]byte, error) {
	text, err := readFile(path, "curation", maxCuration)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, reason.NoSuchRecord.Refusal("The service has no curation: uimgate init writes it when it imports a document.").
			With("path", path)
	}
	return text, err
}

// refusedCuration returns the refusal of input that is not a valid curation.
func refusedCuration(err error) error {
	list := []reloads.Problem{}
	for line := range strings.Lines(err.Error()) {
		list = append(list, reloads.Problem{File: openapi.CurationFile, Level: "error", Message: strings.TrimSpace(line)})
	}
	return reason.ConfigRefused.Refusal("The curation is not valid.").With("problems", list)
}

// A CurationEdit is an edited curation of a service.
type CurationEdit struct {
	Service string `json:"-" query:"service"` // empty: the only service
	Text    string `json:"text"`              // the new text of the file
	SHA256  string `json:"sha256,omitempty"`  // of the text that was edited: Curation.SHA256. SaveCuration requires it
	// Force applies the files even if they end calls of agents: see ReloadRequest.
	Force bool `json:"force,omitempty"`
}

// MaxBody implements api.LargeBody.
func (*CurationEdit) MaxBody() int64 { return 2*maxCuration + api.MaxBody }

// A CurationImpact is what an edited curation would change.
type CurationImpact struct {
	// Diff contains the lines that differ: those of the present file begin with "- ", and those of the edited text with "+ ".
	Diff []string `json:"diff"`
	// Changes describes what changes for agents. Waiting describes what changes only at the next run of uimgate init,
	// because it needs the imported document.
	Changes []string `json:"changes"`
	Waiting []string `json:"waiting"`
	// Policy is what the resulting policy would have changed for the recorded calls of the last week, in the first part of the audit stream.
	// nil: the policy does not change.
	Policy *PolicyImpact `json:"policy,omitempty"`
}

// CurationImpact compares an edited curation with the present file, and tries the resulting policy on recorded calls: see Impact. It
// changes nothing.
func (o *Operations) CurationImpact(ctx context.Context, s *service.Service, r CurationEdit) (CurationImpact, error) {
	edits, applied, err := o.curated(ctx, s, r)
	if err != nil {
		return CurationImpact{}, err
	}
	out := CurationImpact{
		Diff: lines.Diff(string(edits[0].old), r.Text), Changes: applied.Changes, Waiting: applied.Waiting,
	}
	for _, list := range []*[]string{&out.Diff, &out.Changes, &out.Waiting} {
		if *list == nil {
			*list = []string{}
		}
	}
	if applied.Policy == nil {
		return out, nil
	}
	found, err := o.Impact(ctx, s, ImpactRequest{Policy: string(applied.Policy)})
	if err != nil {
		return CurationImpact{}, err
	}
	out.Policy = &found
	return out, nil
}

// curated returns the files that an edited curation replaces, the curation first.
func (o *Operations) curated(ctx context.Context, s *service.Service, r CurationEdit) ([]*fileEdit, openapi.CurationEffect, error) {
	curated := &fileEdit{path: curationPath(s), what: "curation", most: maxCuration, sha256: r.SHA256, text: []byte(r.Text)}
	agents := &fileEdit{path: s.AgentsFilePath, what: "catalogue", most: config.MaxAgentsFile}
	policy := &fileEdit{path: s.PolicyFile, what: "policy", most: odrl.MaxDocument}
	var err error
	if curated.old, err = readCuration(curated.path); err != nil {
		return nil, openapi.CurationEffect{}, err
	}
	for _, e := range []*fileEdit{agents, policy} {
		if e.old, err = readFile(e.path, e.what, e.most); err != nil {
			return nil, openapi.CurationEffect{}, err
		}
		e.sha256 = sha256Text(e.old)
	}
	applied, err := openapi.Apply(curated.old, curated.text, agents.old, policy.old, liveTerms(ctx, s.Definition))
	if err != nil {
		return nil, openapi.CurationEffect{}, refusedCuration(err)
	}
	edits := []*fileEdit{curated}
	if agents.text = applied.Agents; agents.text != nil {
		edits = append(edits, agents)
	}
	if policy.text = applied.Policy; policy.text != nil {
		edits = append(edits, policy)
	}
	return edits, applied, nil
}

// liveTerms returns a function that returns the terms of an intent under the policy in force, as uimgate init reads them.
func liveTerms(ctx context.Context, d *service.Definition) func(uid string) openapi.Terms {
	return func(uid string) openapi.Terms {
		got, err := d.Policy.Terms(ctx, odrl.Request{Intent: uid, AgentKey: []byte{0}})
		if err != nil {
			return openapi.Terms{}
		}
		t := openapi.Terms{Permitted: got.Permitted, Covered: d.Policy.Covers(uid), Certain: len(got.Candidates) == 1}
		if len(got.Candidates) > 0 {
			t.Price = got.Candidates[0].Charge
			if limits := got.Candidates[0].Limits; len(limits) > 0 {
				t.Limit = limits[0].Rate
				t.Certain = t.Certain && len(limits) == 1
			}
		}
		return t
	}
}

// A CurationResult describes a saved curation.
type CurationResult struct {
	Files   []SavedFile    `json:"files"` // those that were replaced
	Changes []string       `json:"changes"`
	Waiting []string       `json:"waiting"` // see CurationImpact
	Reload  reloads.Reload `json:"reload"`
}

// A SavedFile is a file that was replaced.
type SavedFile struct {
	Path string `json:"path"`
	Kept string `json:"kept"` // path of the previous text
}

// SaveCuration replaces the curation of a service, and agents.json and the policy if they change, and reloads. It keeps the previous
// texts next to them in files whose names end with .1. It refuses the edit if the curation has been changed since it was read, or if a file
// cannot be written. If the reload is refused, it restores all files.
func (o *Operations) SaveCuration(ctx context.Context, s *service.Service, r CurationEdit) (CurationResult, error) {
	if !o.c.Reloads.Offered() {
		return CurationResult{}, reason.NotOffered.Refusal("")
	}
	if r.SHA256 == "" {
		return CurationResult{}, api.WrongMember("sha256", "is missing: want the SHA-256 of the text that was edited")
	}
	if !o.saving.TryLock() {
		return CurationResult{}, reason.PolicyNotSaved.Refusal("Another file is being saved: try again later.").With("path", curationPath(s))
	}
	defer o.saving.Unlock()
	edits, applied, err := o.curated(ctx, s, r)
	if err != nil {
		return CurationResult{}, err
	}
	reloaded, err := o.saveFiles(ctx, edits, r.Force)
	if err != nil {
		return CurationResult{}, err
	}
	out := CurationResult{
		Files: []SavedFile{}, Changes: append([]string{}, applied.Changes...), Waiting: append([]string{}, applied.Waiting...), Reload: reloaded,
	}
	for _, e := range edits {
		out.Files = append(out.Files, SavedFile{e.path, keptPath(e.path)})
	}
	return out, nil
}
