package api

import (
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/suggest"
)

// Services finds the services that requests name.
type Services struct{ Directory *service.Directory }

// Find returns the service with the given id. If id is empty, it returns the only service.
func (s Services) Find(id string) (*service.Service, error) {
	snapshot := s.Directory.Current()
	ids := make([]string, 0, len(snapshot.Services()))
	for _, one := range snapshot.Services() {
		ids = append(ids, one.ID)
	}
	switch {
	case id == "" && len(ids) == 1:
		return snapshot.Services()[0], nil
	case id == "":
		return nil, reason.ServiceMissing.Refusal("").With("services", ids)
	}
	if one := snapshot.Service(id); one != nil {
		return one, nil
	}
	f := reason.UnknownService.Refusal("").With("services", ids)
	if near := suggest.Name(id, ids); near != "" {
		f.Message = "This gateway has no such service. Did you mean " + near + "?"
	}
	return nil, f
}
