package receipts

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/uimgate/uimgate/internal/privatefile"
	"github.com/uimgate/uimgate/pat"
)

// Bounds of the documents next to a book.
const (
	maxDocuments = 1000     // the maximum number of documents of each kind; the oldest is then removed
	maxDocument  = 16 << 20 // the maximum size of a file, in bytes
)

// A Policy is a policy document to which entries of the service refer.
type Policy struct {
	UID      string `json:"uid"`
	Digest   string `json:"digest"` // see pat.PolicyDigest
	Document []byte `json:"document"`
}

// documents returns the directory of the documents to which entries of the book refer.
func (b *Book) documents() string { return strings.TrimSuffix(b.path, Extension) + ".documents" }

func (b *Book) document(kind, id string) string {
	sum := sha256.Sum256([]byte(id))
	return filepath.Join(b.documents(), fmt.Sprintf("%s-%x.json", kind, sum[:12]))
}

// KeepPolicy stores a policy next to the book, unless it is stored already. The error wraps ErrBook.
func (b *Book) KeepPolicy(p Policy) error {
	if _, err := b.Policy(p.Digest); err == nil {
		return nil
	}
	text, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrBook, err)
	}
	return b.keep("policy", p.Digest, text)
}

// Policy returns a policy that KeepPolicy has stored. The error wraps ErrBook, and os.ErrNotExist if there is none.
func (b *Book) Policy(digest string) (Policy, error) {
	return readPolicy(b.document("policy", digest), digest)
}

// readPolicy reads the file of a policy. An empty digest permits any policy.
func readPolicy(path, digest string) (Policy, error) {
	text, err := privatefile.Read(path, maxDocument)
	if err != nil {
		return Policy{}, fmt.Errorf("%w: %w", ErrBook, err)
	}
	var p Policy
	if err := json.Unmarshal(text, &p); err != nil {
		return Policy{}, fmt.Errorf("%w: %s is damaged: %w", ErrBook, path, err)
	}
	is, err := pat.PolicyDigest(p.Document)
	if err != nil || is != p.Digest || digest != "" && is != digest {
		return Policy{}, fmt.Errorf("%w: %s is damaged: it does not contain the policy with its digest", ErrBook, path)
	}
	return p, nil
}

// Policies returns the policies that KeepPolicy has stored, ordered by digest. The error wraps ErrBook.
func (b *Book) Policies() (list []Policy, err error) {
	paths, err := b.kept("policy")
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		p, err := readPolicy(path, "")
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	slices.SortFunc(list, func(x, y Policy) int { return strings.Compare(x.Digest, y.Digest) })
	return list, nil
}

// An Agreement is an agreement of the agent with the service.
type Agreement struct {
	ID     string // the id that the service chose
	Policy string // the digest of the policy
	Export []byte // the bundle of pat.Export
}

// KeepAgreement stores an agreement next to the book: the result of pat.Export. The error wraps ErrBook.
func (b *Book) KeepAgreement(id string, export []byte) error {
	if _, err := pat.VerifyExport(export, b.forms); err != nil {
		return fmt.Errorf("%w: %w", ErrBook, err)
	}
	return b.keep("agreement", id, export)
}

// Agreements returns the agreements that KeepAgreement has stored, in the order of time. The error wraps ErrBook.
func (b *Book) Agreements() (list []Agreement, err error) {
	paths, err := b.kept("agreement")
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		text, err := privatefile.Read(path, maxDocument)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrBook, err)
		}
		e, err := pat.VerifyExport(text, b.forms)
		if err != nil {
			return nil, fmt.Errorf("%w: %s is damaged: %w", ErrBook, path, err)
		}
		list = append(list, Agreement{string(e.Agreement.ID), e.Agreement.PolicyDigest, text})
	}
	return list, nil
}

// keep writes a document, and removes the oldest ones of its kind if there are too many.
func (b *Book) keep(kind, id string, text []byte) error {
	if err := privatefile.Write(b.document(kind, id), text); err != nil {
		return fmt.Errorf("%w: %w", ErrBook, err)
	}
	paths, err := b.kept(kind)
	if err != nil {
		return err
	}
	for _, path := range paths[:max(0, len(paths)-maxDocuments)] {
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			return fmt.Errorf("%w: %w", ErrBook, err)
		}
	}
	return nil
}

// kept returns the files of the documents of a kind, the oldest first.
func (b *Book) kept(kind string) ([]string, error) {
	entries, err := os.ReadDir(b.documents())
	if err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("%w: %w", ErrBook, err)
	}
	var list []string
	age := map[string]time.Time{}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), kind+"-") || filepath.Ext(e.Name()) != ".json" {
			continue
		}
		path := filepath.Join(b.documents(), e.Name())
		if info, err := e.Info(); err == nil { // a missing file was just removed by another process
			list, age[path] = append(list, path), info.ModTime()
		}
	}
	slices.SortStableFunc(list, func(x, y string) int { return age[x].Compare(age[y]) })
	return list, nil
}
