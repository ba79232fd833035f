package bridge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/intents"
)

// A service is a UIM service and the agreement with it.
type service struct {
	b        *Bridge
	target   string     // as the owner wrote it
	agreeing sync.Mutex // one check of the agreement at a time

	mu       sync.Mutex
	current  *agent.Service   // nil until the service is found
	catalog  *intents.Catalog // as last read
	offered  agent.Policy     // as last read; without a digest until it is read
	terms    Terms            // the terms of the intents in termsOf, under the policy in offered
	termsOf  *intents.Catalog
	exceeded map[agreedIntent]excess         // by intent and agreed policy
	compared *comparison                     // the last one; nil: none
	limits   map[intents.UID]agent.RateLimit // as the service stated them last
	next     string                          // digest of the announced policy that the bridge has already handled
}

// A comparison is the difference between an agreed policy and an offered one, by their digests.
type comparison struct {
	agreed, offered string
	known           bool
	Difference
}

// find reads the catalogue, and the policy for the descriptions of the tools. It resumes a stored agreement, or makes a new one if the
// owner has accepted the policy. It returns only the errors of reading the catalogue; it logs all others.
func (s *service) find(ctx context.Context) error {
	if err := s.readCatalog(ctx); err != nil {
		return err
	}
	if _, _, err := s.readPolicy(ctx); err != nil {
		s.b.o.Log(fmt.Sprintf("%s: %s", oneLine(s.target, maxTitle), oneLine(err.Error(), maxNote)))
		return nil // the calls report the error; there are tools to list
	}
	if _, _, err := s.agreed(ctx, ""); err != nil && len(s.b.o.Accept) > 0 {
		s.b.o.Log(fmt.Sprintf("%s: %s", oneLine(s.target, maxTitle), oneLine(err.Error(), maxNote)))
	}
	return nil
}

func (s *service) found() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current != nil
}

// state returns the current state of the service.
func (s *service) state() (*agent.Service, *intents.Catalog, agent.Policy, Terms) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current, s.catalog, s.offered, s.terms
}

// readPolicy reads the policy that the service currently offers, and its terms for the intents of the catalogue. If the policy has
// changed, readPolicy reads the catalogue again and lists the tools with the new terms.
func (s *service) readPolicy(ctx context.Context) (agent.Policy, Terms, error) {
	current, _, before, _ := s.state()
	policy, err := current.Policy(ctx)
	if err != nil {
		return agent.Policy{}, Terms{}, err
	}
	isNew := policy.Digest != before.Digest
	if isNew && before.Digest != "" {
		_ = s.readCatalog(ctx) // if this fails, the tools stay unchanged
	}
	s.mu.Lock()
	catalog, terms, termsOf := s.catalog, s.terms, s.termsOf
	s.mu.Unlock()
	if isNew || terms.Intents == nil || termsOf != catalog {
		terms = Terms{}
		if s.b.o.ReadTerms != nil {
			terms = s.b.o.ReadTerms(ctx, policy, catalog)
		}
	}
	s.mu.Lock()
	s.offered, s.terms, s.termsOf = policy, terms, catalog
	s.mu.Unlock()
	if isNew {
		s.b.offer()
	}
	return policy, terms, nil
}

// readCatalog reads the intents that the service currently offers. If it fails, the catalogue stays unchanged.
func (s *service) readCatalog(ctx context.Context) error {
	found, err := s.b.client.Discover(ctx, s.target)
	if err != nil {
		return err
	}
	catalog, err := found.Catalog(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.catalog = catalog; s.current == nil {
		s.current = found
	}
	return nil
}

// introduction describes the service for the instructions of the server.
func (s *service) introduction() string {
	current, catalog, _, _ := s.state()
	if current == nil {
		return fmt.Sprintf("The service %s could not be reached.", oneLine(s.target, maxTitle))
	}
	text := fmt.Sprintf("Tools of %s (%s): %s", oneLine(catalog.Service.Name, maxTitle), oneLine(current.Issuer(), maxTitle),
		oneLine(catalog.Service.Description, maxNote))
	if !current.Session().Agreed() {
		text += " The owner of this agent has not agreed to its terms yet: a call returns the terms and the command for agreeing to them."
	}
	return text
}

// A termsError means that the owner must first read a policy and accept it.
type termsError struct {
	service string // issuer of the service
	offered agent.Policy
	agreed  string // digest of the previously agreed policy; empty if there is none
	words   string
	changes bool // words are about what changes, and not about the whole policy
	command string
}

func (e *termsError) Error() string {
	if e.agreed != "" {
		return fmt.Sprintf("%s has changed its terms: %s was accepted, but %s is now offered", e.service, e.agreed, e.offered.Digest)
	}
	return fmt.Sprintf("the agent has no agreement with %s, which offers the terms %s", e.service, e.offered.Digest)
}

// agreed returns the service, with an agreement that permits calls to the intent uid, and the terms of the offered policy. The agreement is
// to that policy or, unless uid is empty, to an earlier one with the same terms for the intent. agreed agrees only to a policy that the
// owner has accepted by digest, or sends again an agreement that waits for approval. Errors: *termsError, and those of agent.Service.Policy
// and Agree.
func (s *service) agreed(ctx context.Context, uid string) (*agent.Service, Terms, error) {
	s.agreeing.Lock()
	defer s.agreeing.Unlock()
	s.load()
	current, _, offered, terms := s.state()
	session := current.Session()
	if session.Agreed() && session.PolicyDigest == offered.Digest && s.planned(session) {
		s.prepareNext(ctx, current)
		return current, terms, nil
	}
	offered, terms, err := s.readPolicy(ctx)
	if err != nil {
		return nil, Terms{}, err
	}
	if session.Agreed() && session.PolicyDigest == offered.Digest && s.planned(session) {
		return current, terms, nil
	}
	accepts := slices.Contains(s.b.o.Accept, offered.Digest)
	if !accepts && s.planned(session) && uid != "" && s.compare(ctx, session, offered).Same[uid] {
		return current, terms, nil
	}
	waiting := session.Pending() && session.PendingDigest() == offered.Digest && s.planned(session)
	if !waiting && !accepts {
		return nil, Terms{}, s.wanted(ctx, current, offered, terms)
	}
	accepted := agent.Acceptance{Digest: offered.Digest, Issuer: session.AcceptedIssuer, Plan: s.b.o.Plan}
	if waiting {
		accepted.Scope, accepted.Declared, accepted.Plan = session.Requested, session.Declared, ""
	}
	_, err = current.Agree(ctx, accepted)
	if _, pending := errors.AsType[*agent.PendingError](err); err == nil || pending {
		s.save(current)
	}
	return current, terms, err
}

// planned reports whether an agreement has the plan of the options, if they have one.
func (s *service) planned(session agent.Session) bool {
	return s.b.o.Plan == "" || session.Declared.Plan() == s.b.o.Plan
}

// compare compares the policy of an agreement with the offered one. If the session has no policy, the terms of all intents count as
// changed.
func (s *service) compare(ctx context.Context, session agent.Session, offered agent.Policy) comparison {
	s.mu.Lock()
	last, catalog := s.compared, s.catalog
	s.mu.Unlock()
	if last != nil && last.agreed == session.PolicyDigest && last.offered == offered.Digest {
		return *last
	}
	c := comparison{agreed: session.PolicyDigest, offered: offered.Digest}
	if s.b.o.Compare != nil && session.Agreed() && len(session.Document) > 0 {
		c.Difference, c.known = s.b.o.Compare(ctx, session.Document, offered.Raw, catalog)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.compared = &c
	return c
}

// prepareNext agrees to the policy that the service has announced for a later date, from that date on, if the owner has accepted it.
// Otherwise it logs, once for each policy, how the owner can agree.
func (s *service) prepareNext(ctx context.Context, current *agent.Service) {
	s.mu.Lock()
	catalog, handled := s.catalog, s.next
	next := catalog.Successor
	if next != nil {
		s.next = next.Digest
	}
	s.mu.Unlock()
	session := current.Session()
	if later, agreed := session.Next(); next == nil || next.Digest == handled || agreed && later.PolicyDigest == next.Digest {
		return
	}
	about := fmt.Sprintf("%s changes its terms at %s", oneLine(s.target, maxTitle), next.From.UTC().Format(time.RFC3339))
	if !slices.Contains(s.b.o.Accept, next.Digest) {
		if s.b.o.NextCommand != nil {
			about += "; to read what changes and to agree in advance, run: " + s.b.o.NextCommand(s.target, session.Declared.Plan())
		}
		s.b.o.Log(about)
		return
	}
	_, err := current.Agree(ctx, agent.Acceptance{
		Digest: next.Digest, Issuer: session.AcceptedIssuer, Scope: session.Requested, Declared: session.Declared, OnDate: true,
	})
	if err != nil {
		s.b.o.Log(about + "; agreeing to them failed: " + oneLine(err.Error(), maxNote))
		return
	}
	s.save(current)
}

// wanted returns the error that names the policy to accept. If there is an agreement to another policy, and the two policies can be
// compared, the error describes only what changes.
func (s *service) wanted(ctx context.Context, current *agent.Service, offered agent.Policy, terms Terms) *termsError {
	e := &termsError{service: oneLine(current.Issuer(), maxTitle), offered: offered, words: terms.Words}
	if session := current.Session(); session.Agreed() {
		e.agreed = session.PolicyDigest
		if c := s.compare(ctx, session, offered); c.known {
			e.words, e.changes = c.Words, true
		}
	}
	if s.b.o.AgreeCommand != nil {
		e.command = s.b.o.AgreeCommand(s.target, offered.Digest, "")
	}
	return e
}

// changed reads the policy again after the service refused a call because its policy changed. It returns a *termsError if the owner must
// accept the offered policy, and cause otherwise.
func (s *service) changed(ctx context.Context, cause error) error {
	if _, _, err := s.readPolicy(ctx); err != nil {
		return cause
	}
	current, _, offered, terms := s.state()
	if session := current.Session(); session.Agreed() && session.PolicyDigest == offered.Digest {
		return cause
	}
	return s.wanted(ctx, current, offered, terms)
}

func (s *service) path(of agent.Session) string {
	return filepath.Join(s.b.o.Agreements, of.FileName())
}

// load resumes the stored agreement if it is newer than the current one: the owner may have agreed in the meantime, or another process may
// have renewed the PAT.
func (s *service) load() {
	current, _, offered, _ := s.state()
	session := current.Session()
	kept, err := agent.LoadSession(s.path(session))
	if err != nil {
		if !errors.Is(err, os.ErrNotExist) {
			s.b.o.Log(oneLine(err.Error(), maxNote))
		}
		return
	}
	better := kept.PolicyDigest == offered.Digest && session.PolicyDigest != offered.Digest
	newer := kept.Agreed() && (!session.Agreed() || better || kept.IssuedAt.After(session.IssuedAt)) ||
		kept.Pending() && !session.Agreed() && !session.Pending()
	if !newer {
		return
	}
	resumed, err := s.b.client.Resume(kept)
	if err != nil {
		s.b.o.Log(oneLine(err.Error(), maxNote))
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current = resumed
}

// save stores the agreement and its PAT.
func (s *service) save(current *agent.Service) {
	session := current.Session()
	if err := agent.SaveSession(s.path(session), session); err != nil {
		s.b.o.Log(oneLine(err.Error(), maxNote))
	}
}
