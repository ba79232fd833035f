package openapi_test

import (
	"testing"

	"github.com/uimgate/uimgate/intents/openapi"
)

// Slack's Web API names operations object.verb: GET /auth.revoke revokes the token.
func TestVerbAfterDot(t *testing.T) {
	const methods = `
openapi: 3.0.3
info: {title: T, version: 1.0.0}
servers: [{url: 'https://s.example'}]
paths:
  /auth.revoke: {get: {operationId: a, responses: {'200': {description: ok}}}}
  /rtm.start: {get: {responses: {'200': {description: ok}}}}
  /dnd/end: {get: {operationId: dnd.setSnooze, responses: {'200': {description: ok}}}}
  /jobs/{id}:cancel: {get: {operationId: job, parameters: [{name: id, in: path, required: true, schema: {type: string}}], responses: {'200': {description: ok}}}}
  /channels.list: {get: {operationId: channels.list, responses: {'200': {description: ok}}}}
  /calendar.getOrder: {get: {operationId: order, responses: {'200': {description: ok}}}}
  /report.csv: {get: {operationId: report, responses: {'200': {description: ok}}}}
  /items.move: {get: {x-read-only: true, operationId: items.move, responses: {'200': {description: ok}}}}
`
	dir, _ := again(t, nil, methods, openapi.Options{})
	wantNames(t, dir, "channels-list:v1", "items-move:v1", "order:v1", "report:v1")
}
