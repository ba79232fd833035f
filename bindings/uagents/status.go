package uagents

import (
	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/service"
)

// Status implements door.Reporter.
func (d *Door) Status(s *service.Service) (door.Status, bool) {
	own := SettingsOf(s.Definition)
	if own == nil {
		return door.Status{}, false
	}
	return door.Status{
		Door: Name, Addresses: map[string]string{"url": s.At(own.Path), "address": own.Address}, Activity: d.Activity(s.ID),
	}, true
}
