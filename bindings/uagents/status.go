package uagents

import (
	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/service"
)

// Status implements door.Reporter.
func (d *Door) Status(s *service.Service) (door.Status, bool) {
	status, open := door.AtURL(Name, s.UAgentsURL())
	status.Addresses["address"] = s.Doors.UAgents.Address
	status.Activity = d.Activity(s.ID)
	return status, open
}
