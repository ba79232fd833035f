package agent

import (
	"context"
	"time"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/pat/keys"
)

const (
	keySetPath = ".well-known/jwks.json"
	maxKeySet  = 1 << 20 // the maximum size of a key set, in bytes
	// A service introduces a new key within about a second after its first signature, so the client looks for the key of a receipt up to
	// trustTries times, with trustWait in between. If the key set lacks the key, the client looks for no key until trustPause has passed.
	trustTries = 4
	trustWait  = time.Second
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

// pin trusts exactly the keys that the service uses now for receipts and for its log. If the service has no such keys,
// or does not send its key set, pin changes nothing. If no key is trusted then, the first receipt pins the keys.
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

// trust replaces the trusted keys, and records them in the book of receipts.
func (s *Service) trust(ctx context.Context, set evidence.KeySet) {
	if set.Len() == 0 {
		return
	}
	s.mu.Lock()
	s.session.Keys = set
	s.mu.Unlock()
	if book := s.Book(); book != nil {
		_ = book.Trust(ctx, set, s.client.o.Now()) // on failure, an offline check reports an unknown key until the next agreement
	}
}

// trusted returns the keys that were pinned with the agreement. If there are none, it pins those that the service uses now.
func (s *Service) trusted(ctx context.Context) evidence.KeySet {
	if set := s.Session().Keys; set.Len() > 0 {
		return set
	}
	s.trusting.Lock()
	defer s.trusting.Unlock()
	if s.Session().Keys.Len() == 0 && s.mayFetchKeys() {
		s.pin(ctx)
		s.noteFetch()
	}
	return s.Session().Keys
}

// mayFetchKeys reports whether the client may fetch the key set now because of a receipt.
func (s *Service) mayFetchKeys() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keysFetched.IsZero() || s.client.o.Now().Sub(s.keysFetched).Abs() >= trustPause
}

func (s *Service) noteFetch() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keysFetched = s.client.o.Now()
}

// findKey looks for a key for receipts that the agent does not trust yet, until a trusted key introduces it, and reports whether the key is
// trusted now. Calls that look for keys at the same time wait for each other.
func (s *Service) findKey(ctx context.Context, id keys.ID) bool {
	s.trusting.Lock()
	defer s.trusting.Unlock()
	has := func() bool {
		_, ok := s.Session().Keys.Key(evidence.PurposeReceipt, id)
		return ok
	}
	var err error
	for try := range trustTries {
		if has() {
			return true
		}
		if !s.mayFetchKeys() || try > 0 && s.client.o.Sleep(ctx, trustWait) != nil {
			return false
		}
		_, err = s.trustNew(ctx)
	}
	if err == nil && !has() {
		s.noteFetch()
	}
	return has()
}

// trustNew fetches the key set, and trusts the new keys that trusted keys introduce: the member uim_entry of a key is the log entry that
// introduces it. It reports whether there is such a key. The caller must hold trusting.
func (s *Service) trustNew(ctx context.Context) (found bool, err error) {
	text, err := s.fetchKeys(ctx)
	if err != nil {
		return false, err
	}
	document, err := strictjson.DecodeObject(text)
	if err != nil {
		return false, answerError(err)
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
			_ = set.Introduce(entry) // a key that no trusted key introduces is not trusted
		}
		if set.Len() == had {
			break
		}
	}
	if set.Len() == before {
		return false, nil
	}
	s.trust(ctx, set)
	return true, nil
}
