package store

import "strings"

// A Service is a service in a configuration.
type Service struct {
	ID     string
	Issuer string // the issuer of its PATs
	// IssuerSet means that the configuration sets the issuer; a change of the issuer is then intended.
	IssuerSet bool
	// Formerly is the previous id of the service, which the store may still use for its state; empty means none.
	Formerly string
}

// Services are all services in a configuration.
type Services struct {
	Served []Service
	// Unserved are the ids of services that the process does not serve, but whose state stays in the store.
	Unserved []string
}

// A ServiceProblem is one reason why a configuration conflicts with the services in the store.
type ServiceProblem struct {
	At      int    // index in Services.Served; -1 if the problem concerns none of them
	Key     string // the setting: id, issuer or formerly
	Message string
}

// A ServicesError rejects a configuration whose services conflict with those in the store, because the state of a service would be lost.
type ServicesError []ServiceProblem

func (e ServicesError) Error() string {
	all := make([]string, len(e))
	for i, p := range e {
		all[i] = p.Message
	}
	return strings.Join(all, "; ")
}
