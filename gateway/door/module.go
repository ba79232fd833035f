package door

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/consent"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/membudget"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

// A Module implements a protocol with which agents call services. It implements the interfaces of this package that it needs: Configurable,
// Preparer, FormSource, Door, Opener, Runner, Reporter, Connector and Listener. All methods except Provision are safe for concurrent use.
type Module interface {
	// Name returns the name of the module in logs, metrics and audit records.
	Name() string
	// Provision passes the module its dependencies. It is called once, before the first service is served. Programs that only read a
	// configuration do not call it; they call only Name and Blocks.
	Provision(ctx context.Context, p Process) error
}

// A Configurable is a Module with a block in the configuration.
type Configurable interface {
	// Blocks returns the blocks that the module reads.
	Blocks() config.Blocks
}

// A Preparer is a Module that prepares each service before it is served, for example by creating its key.
type Preparer interface {
	// Prepare completes the settings of the module in d.Doors. If it returns an error, the new configuration is not applied.
	Prepare(d *service.Definition) error
}

// A FormSource is a Module whose agents have a different form of agreements or ids.
type FormSource interface {
	Form() pat.Form
}

// Forms returns the forms of all modules.
func Forms(modules []Module) (forms []pat.Form) {
	for _, m := range Of[FormSource](modules) {
		forms = append(forms, m.Form())
	}
	return forms
}

// A Runner is a Module that works in the background.
type Runner interface {
	// Run works until ctx ends.
	Run(ctx context.Context) error
	// Drain finishes the work in progress. If ctx ends first, Drain abandons the rest and returns the number of abandoned requests or
	// messages. It is called at most once, after the last request.
	Drain(ctx context.Context) (left int)
}

// An Opener is a Module that listens on separate ports, or connects to other networks.
type Opener interface {
	// Open opens the listeners and connections of exactly these services, with their current settings. It closes the listeners and connections
	// of all other services after the requests there have ended. It returns the errors of the listeners and connections that it could not
	// open; the others are open.
	Open(ctx context.Context, services []*service.Service) error
}

// A Process is the environment of a Module.
type Process struct {
	Host     Host
	API      http.Handler // the handler of the public listener
	Consents *consent.Service
	// Services returns the services that are currently served. Sole reports whether no other process serves them.
	Services func() []*service.Service
	Sole     bool

	Config *config.Config  // as read when the process started
	Data   *config.DataDir // where a module stores its keys
	Keys   *keys.Keyring
	// State is the store of the process. A module asserts the interface that it needs.
	State any

	// Listen binds an address until the process ends, and returns the listener and its URL.
	Listen func(ctx context.Context, address string) (net.Listener, string, error)
	// Certificate returns the certificate of the listeners. nil: the listeners do not use TLS.
	Certificate func() *tls.Certificate
	// Documents fetches documents from URLs that other parties name. nil: the module creates its own client.
	Documents *fetch.Client
	Memory    *membudget.Budget // the memory budget of requests
	// RecordSigning records in the audit stream what the agent of a service has signed or refused to sign. nil: nothing is recorded.
	RecordSigning func(SignatureDecision)
	Shed          func(reason.Cause) // counts requests that are refused because of load
	// DrainTimeout returns how long work in progress may continue after a shutdown or reload has begun.
	DrainTimeout func() time.Duration
	Metrics      prometheus.Registerer
	Now          func() time.Time
	Log          *zap.Logger
	Version      string // the version of the program
}

// A SignatureDecision is the decision of a service's agent about a message or transaction that one of its skills proposed to sign.
type SignatureDecision struct {
	Door, Service string
	Agent         string // address of the service as an agent
	Skill         string // id of the skill that proposed it
	Kind          string // message, transaction or state_update
	SHA256        [sha256.Size]byte
	Signed        bool
}

// Blocks returns the blocks of all modules.
func Blocks(modules []Module) (all config.Blocks) {
	for _, m := range modules {
		if c, ok := m.(Configurable); ok {
			b := c.Blocks()
			all.Doors, all.Beside = append(all.Doors, b.Doors...), append(all.Beside, b.Beside...)
		}
	}
	return all
}

// Of returns the modules that implement an interface of this package.
func Of[T any](modules []Module) (list []T) {
	for _, m := range modules {
		if t, ok := m.(T); ok {
			list = append(list, t)
		}
	}
	return list
}

// Provision provisions modules, and stops at the first error.
func Provision(ctx context.Context, modules []Module, p Process) error {
	for _, m := range modules {
		if err := m.Provision(ctx, p); err != nil {
			return fmt.Errorf("%s: %w", m.Name(), err)
		}
	}
	return nil
}

// Prepare calls the Preparers among modules for a service, and stops at the first error.
func Prepare(modules []Module, d *service.Definition) error {
	for _, m := range Of[Preparer](modules) {
		if err := m.Prepare(d); err != nil {
			return err
		}
	}
	return nil
}
