package agent

import (
	"context"
	"time"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/internal/strictjson"
)

const (
	keySetPath = ".well-known/jwks.json"
	maxKeySet  = 1 << 20 // bytes
	// trustPause is the minimum time between two fetches of the key set for a receipt.
	trustPause = time.Minute
	// maxIntroductions limits how many new keys one fetch may introduce.
	maxIntroductions = 100
)

// keysURL returns the URL of the service's key set.
func (e Endpoints) keysURL() string {
	if e.Keys != "" {
		return e.Keys
	}
	return baseURL(e.Agents, []string{".well-known/agents.json", "agents.json"}) + "/" + keySetPath
}

// fetchKeys fetches the service's key set.
func (s *Service) fetchKeys(ctx context.Context) ([]byte, error) {
	answer, err := s.client.document(ctx, s.Endpoints().keysURL(), s.agentsURL(), maxKeySet, "")
	return answer.Body, err
}

// pin makes the keys that the service uses for receipts and for its log the trusted ones. A service that has no such keys, or that does not
// send its key set, has no trusted keys; the first receipt then pins them.
func (s *Service) pin(ctx context.Context) {
	text, err := s.fetchKeys(ctx)
	if err != nil {
		return
	}
	set, err := evidence.ParseKeySet(text)
	if err != nil {
		return
	}
	s.trust(ctx, set.Only(evidence.PurposeReceipt, evidence.PurposeLog))
}

// trust replaces the trusted keys, and records them with the receipts.
func (s *Service) trust(ctx context.Context, set evidence.KeySet) {
	if set.Len() == 0 {
		return
	}
	s.mu.Lock()
	s.session.Keys = set
	s.mu.Unlock()
	if book := s.Book(); book != nil {
		_ = book.Trust(ctx, set, s.client.o.Now()) // otherwise the receipts report an unknown key offline, which agreeing again mends
	}
}

// trusted returns the keys that were pinned with the agreement, or else pins those that the service uses now.
func (s *Service) trusted(ctx context.Context) evidence.KeySet {
	if set := s.Session().Keys; set.Len() > 0 {
		return set
	}
	if s.mayFetchKeys() {
		s.pin(ctx)
	}
	return s.Session().Keys
}

// mayFetchKeys reports whether a receipt may cause a fetch of the key set now.
func (s *Service) mayFetchKeys() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.client.o.Now()
	if !s.keysFetched.IsZero() && now.Before(s.keysFetched.Add(trustPause)) {
		return false
	}
	s.keysFetched = now
	return true
}

// trustNew fetches the key set, and trusts the new keys that trusted ones introduce: the member uim_entry of a key is the entry of the log
// that does so. It reports whether there is such a key.
func (s *Service) trustNew(ctx context.Context) bool {
	if !s.mayFetchKeys() {
		return false
	}
	text, err := s.fetchKeys(ctx)
	if err != nil {
		return false
	}
	document, err := strictjson.DecodeObject(text)
	if err != nil {
		return false
	}
	set := s.Session().Keys.Clone()
	before := set.Len()
	var waiting []string
	for _, v := range document.List("keys") {
		member, _ := strictjson.AsObject(v)
		if entry := member.Text("uim_entry"); entry != "" && len(waiting) < maxIntroductions {
			waiting = append(waiting, entry)
		}
	}
	for range waiting { // a new key may introduce a further one
		had := set.Len()
		for _, entry := range waiting {
			_ = set.Introduce(entry) // a key that is not introduced is not trusted
		}
		if set.Len() == had {
			break
		}
	}
	if set.Len() == before {
		return false
	}
	s.trust(ctx, set)
	return true
}
