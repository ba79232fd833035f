package store

import "strings"

// A Service is a service as a configuration names it.
type Service struct {
	ID     string
	Issuer string // of its PATs
	// IssuerSet: the configuration names the issuer, so that a change of it is intended.
	IssuerSet bool
	// Formerly is the id that the state of the service was stored under before; empty: none.
	Formerly string
}

// Services are all services that a configuration names.
type Services struct {
	Served []Service
	// Unserved are the ids of services whose state stays in the store, but which the process does not serve.
	Unserved []string
}

// A ServiceProblem is one reason why a configuration does not fit the services in the store.
type ServiceProblem struct {
	At      int    // in Services.Served; -1: none of them
	Key     string // the setting: id, issuer or formerly
	Message string
}

// A ServicesError rejects a configuration whose services do not fit those in the store: the state of a service would be lost.
type ServicesError []ServiceProblem

func (e ServicesError) Error() string {
	all := make([]string, len(e))
	for i, p := range e {
		all[i] = p.Message
	}
	return strings.Join(all, "; ")
}
