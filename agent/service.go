package agent

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/uimgate/uimgate/agent/via"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/problem"
)

// A Service is a UIM service and the session with it. It is safe for concurrent use.
type Service struct {
	client   *Client
	renewing singleflight.Group

	mu             sync.Mutex
	session        Session
	catalog        *intents.Catalog // nil until needed if the service was resumed
	warnings       problem.List
	unlisted       map[string]*intents.Intent // by uid: intents that agents.json does not list
	proofRequested map[string]bool            // by uid: the service has requested a proof of key
	a2a            *via.A2A                   // from the agent card; nil until needed
	keysFetched    time.Time                  // when the key set was last fetched for a receipt and lacked its key
	policy         Policy                     // the policy of the last receipt, if it is not the agreed one
	policyFetched  time.Time                  // when a policy was last fetched for a receipt
	prices         map[statedPrice]bool       // the prices of receipts that were found in the policy

	trusting sync.Mutex // held while the client looks for the key of a receipt
}

// String returns the service's name and address, without the PAT.
func (s *Service) String() string {
	u := s.Endpoints().Agents
	return "UIM service " + s.Issuer() + " (" + u + ")"
}

// Format writes the result of String for every verb, so that no verb prints a secret.
func (s *Service) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// Endpoints returns the addresses of the service.
func (s *Service) Endpoints() Endpoints { return s.Session().Endpoints }

// Issuer returns the name to which agreements and proofs are made out.
func (s *Service) Issuer() string { return s.Session().Issuer }

// Warnings returns the problems of agents.json, such as addresses that the client will not use. For a resumed Service, it returns nil until
// Catalog has fetched the document.
func (s *Service) Warnings() problem.List {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.warnings
}

// Catalog returns the intents that the service offers. For a resumed Service, the first call fetches them; endpoints and issuer
// remain those of the agreement, even if the fetched document states others.
func (s *Service) Catalog(ctx context.Context) (*intents.Catalog, error) {
	s.mu.Lock()
	catalog, at := s.catalog, s.session.Endpoints.Agents
	s.mu.Unlock()
	if catalog != nil {
		return catalog, nil
	}
	catalog, problems, _, err := s.client.agentsFile(ctx, at, nil)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.catalog, s.warnings = catalog, problems
	return catalog, nil
}
