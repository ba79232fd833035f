package verify

import (
	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/agent/verify/doors"
	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/problem"
)

// A verification is one run: its clients, and the results that earlier checks leave for later ones.
type verification struct {
	*doors.Service

	options  Options
	recorder *recorder
	client   *agent.Client
	fetch    *fetch.Client
	outcomes map[string]Outcome

	// Discovery.
	domain  string // empty if the target is not a bare domain; DNS is not queried then
	records Records
	dnsErr  error

	exchanges     []exchange // exchanges of the search for agents.json
	agentsFile    *exchange  // nil if none was found
	service       *agent.Service
	findErr       error
	problems      problem.List
	publicKeyText string // uim-public-key

	// The policy.
	policy      fetch.Answer
	policyTree  map[string]any
	digest      string
	bytesChange bool // its bytes or its ETag changed between two fetches

	searchURL, intentURL string
	searchPage           page

	// Addresses that respond, and their responses without a PAT.
	executeURL, issueURL string
	withoutPAT           fetch.Answer // to a call without a PAT
	malformed            fetch.Answer // to an agreement that is not JSON
	noSuchPath           fetch.Answer // to a path that does not exist

	// The PAT, and the sample call made with it.
	token         patText
	issueExchange exchange       // the exchange that returned the PAT
	issueAnswer   map[string]any // its body
	sampleCall    call
	sampled       bool // findSample has been called; its result is sampleCall

	doors     *doors.Doors
	doorFetch *fetch.Client
}
