package policies

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/uimgate/uimgate/gateway/service"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/reloads"
	"github.com/uimgate/uimgate/internal/privatefile"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/odrl"
)

// A PolicyTextQuery selects the policy of a service.
type PolicyTextQuery struct {
	Service string `query:"service"` // id; empty: the only service
}

// A PolicyText is the file of the policy in force.
type PolicyText struct {
	Path     string `json:"path"`
	Text     string `json:"text"`
	SHA256   string `json:"sha256"`   // of Text, in hexadecimal: PolicyEdit.SHA256
	InForce  bool   `json:"in_force"` // the gateway serves this text; otherwise the file has been changed since the last reload
	Writable bool   `json:"writable"` // SavePolicy can change the file
	Policy   Policy `json:"policy"`   // the policy that the gateway serves
}

// PolicyText returns the present contents of the file of the policy in force.
func (o *Operations) PolicyText(_ context.Context, s *service.Service, _ PolicyTextQuery) (PolicyText, error) {
	text, err := readPolicyFile(s.PolicyFile)
	if err != nil {
		return PolicyText{}, err
	}
	offer := s.Offer()
	return PolicyText{
		Path: s.PolicyFile, Text: string(text), SHA256: sha256Text(text), InForce: bytes.Equal(text, offer.Bytes),
		Writable: writable(s.PolicyFile),
		Policy:   Policy{UID: offer.UID, Digest: offer.Digest, Offered: true, From: s.From, Until: s.Until()},
	}, nil
}

// A PolicyEdit replaces the file of the policy in force.
type PolicyEdit struct {
	Service string `json:"-" query:"service"` // empty: the only service
	Policy  string `json:"policy"`            // the new text
	SHA256  string `json:"sha256"`            // of the text that was edited: PolicyText.SHA256
	// Force applies the policy even if it ends calls of agents: see ReloadRequest.
	Force bool `json:"force,omitempty"`
}

// Details returns the details of the change for the audit stream.
func (r PolicyEdit) Details() map[string]string {
	return map[string]string{"force": api.Flag(r.Force), "previous_sha256": r.SHA256}
}

// MaxBody implements api.LargeBody.
func (*PolicyEdit) MaxBody() int64 { return maxPolicyBody }

// A SaveResult describes a saved policy.
type SaveResult struct {
	Path   string         `json:"path"`
	Kept   string         `json:"kept"` // path of the previous text
	Policy Policy         `json:"policy"`
	Reload reloads.Reload `json:"reload"`
}

// Details returns the details of the change for the audit stream.
func (r SaveResult) Details() map[string]string {
	return map[string]string{"policy_digest": r.Policy.Digest}
}

// SavePolicy replaces the file of the policy in force, reloads, and then keeps the previous text next to it in a file whose name ends with
// .1. It refuses the edit if the file has been changed since it was read, if the new text is invalid, or if the file cannot be written. If
// the reload is refused, it restores the previous text unless the file was changed in the meantime, and the refusal lists the problems.
// SaveResult.Policy.Offered is false if the reload applied the policy of another file.
func (o *Operations) SavePolicy(ctx context.Context, s *service.Service, r PolicyEdit) (SaveResult, error) {
	if !o.c.Reloads.Offered() {
		return SaveResult{}, reason.NotOffered.Refusal("")
	}
	_, about, err := draftPolicy(ctx, s, []byte(r.Policy))
	if err != nil {
		return SaveResult{}, err
	}
	if !o.saving.TryLock() { // two operators must not pass the comparison together
		return SaveResult{}, reason.PolicyNotSaved.Refusal("Another policy is being saved: try again later.").With("path", s.PolicyFile)
	}
	defer o.saving.Unlock()
	edits := []*fileEdit{{path: s.PolicyFile, what: "policy", most: odrl.MaxDocument, sha256: r.SHA256, text: []byte(r.Policy)}}
	reloaded, err := o.saveFiles(ctx, edits, r.Force)
	if err != nil {
		return SaveResult{}, err
	}
	now, err := o.c.Services.Find(s.ID)
	about.Offered = err == nil && now.Offer().Digest == about.Digest
	return SaveResult{Path: s.PolicyFile, Kept: keptPath(s.PolicyFile), Policy: about, Reload: reloaded}, nil
}

// keptPath returns the path of the previous text of a file.
func keptPath(path string) string { return path + ".1" }

// savingPath returns the path of the previous text of a file while a reload is in progress.
func savingPath(path string) string { return path + ".saving" }

func readPolicyFile(path string) ([]byte, error) { return readFile(path, "policy", odrl.MaxDocument) }

// writeFile replaces a file in one step, with the mode of the file like. A reader sees the old contents or the new ones.
func writeFile(path string, data []byte, like string) error {
	info, err := os.Lstat(like) // a link, such as those of a ConfigMap, belongs to another program
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", like)
	}
	return privatefile.Replace(path, data, info.Mode().Perm())
}

// writable reports whether SavePolicy can probably replace a file: a regular file, in a directory in which this process can create files.
func writable(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return false
	}
	return errors.Join(f.Close(), os.Remove(f.Name())) == nil
}

func sha256Text(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
