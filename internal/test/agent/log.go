package agenttest

import (
	"crypto/ed25519"
	"crypto/rand"
	"net/http"
	"slices"
	"strconv"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/evidence/log"
	"github.com/uimgate/uimgate/internal/reason"
)

// GiveLog makes the service keep a log of its entries. The service must give receipts.
func (s *Service) GiveLog() {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.books.logKey = private
	s.books.introduced = append(s.books.introduced, map[string]any{
		"kty": "OKP", "crv": "Ed25519", "kid": thumbprint(private), "use": "sig", "uim_purpose": "log", "x": keyMember(public),
	})
	s.members["uim-log"] = s.URL + "/api/log/"
	s.members["uim-log-key"], s.members["uim-mmd"] = log.VerifierKey(log.Origin(Issuer, 0), public), 10
}

// tree returns the log: a reader of its tiles, its leaves, and its checkpoint. The caller must hold s.mu.
func (s *Service) tree() (log.Reader, []evidence.Hash, log.Checkpoint, error) {
	var leaves []evidence.Hash
	for _, one := range s.books.all {
		leaves = append(leaves, one.leaf)
	}
	if f := s.books.tampering.Leaves; f != nil {
		leaves = f(leaves)
	}
	t, err := log.OpenTree(0, nil)
	if err != nil {
		return nil, nil, log.Checkpoint{}, err
	}
	for _, leaf := range leaves {
		t.Append(leaf)
	}
	tiles := map[[2]int64][]byte{}
	for _, tile := range t.Changed() {
		tiles[[2]int64{int64(tile.Level), tile.N}] = tile.Hashes
	}
	root, err := t.Root()
	c := log.Checkpoint{
		Origin: log.Origin(Issuer, s.books.tampering.Epoch), Size: int64(len(leaves)), Root: root,
		Time: s.Clock.Now().Add(s.books.tampering.Ahead),
	}
	return func(level int, n int64) ([]byte, error) { return tiles[[2]int64{int64(level), n}], nil }, leaves, c, err
}

// log handles the requests for the log. It responds with status 500 to requests that a correct client never sends.
func (s *Service) log(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, t, refused := s.authenticate(r)
	if s.books == nil || s.books.logKey == nil || refused != "" {
		refuse(w, reason.NoSuchPath)
		return
	}
	reader, leaves, c, err := s.tree()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	var body []byte
	switch r.PathValue("what") {
	case "checkpoint":
		key := s.books.logKey
		if s.books.tampering.LogKey != nil {
			key = s.books.tampering.LogKey
		}
		signer, signErr := log.NewSigner(c.Origin, key)
		if err = signErr; err == nil {
			body, err = c.Sign(signer)
		}
	case "consistency":
		var hashes []evidence.Hash
		hashes, err = reader.Consistency(number(r, "old"), number(r, "new"))
		body = log.HashLines(hashes)
	case "proof":
		at := slices.IndexFunc(s.books.accounts[t.agentID], func(one bookEntry) bool {
			return one.entry.Account.Currency == r.FormValue("currency") && one.entry.K == number(r, "k")
		})
		index := -1
		if at >= 0 {
			index = slices.Index(leaves, s.books.accounts[t.agentID][at].leaf)
		}
		if index < 0 {
			refuse(w, reason.IntentNotFound)
			return
		}
		p := log.Proof{Index: int64(index)}
		p.Hashes, err = reader.Inclusion(number(r, "size"), p.Index)
		body = p.Text()
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write(body)
}

func number(r *http.Request, name string) int64 {
	n, _ := strconv.ParseInt(r.FormValue(name), 10, 64)
	return n
}
