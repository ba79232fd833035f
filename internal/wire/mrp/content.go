package mrp

// The content types that the protocol defines. A relay does not interpret them.
const (
	TypeJSON      = "application/json"
	TypeText      = "text/plain"
	TypeEncrypted = "application/x-m2m-encrypted"
	TypeRequest   = "application/x-mrp-request+json"
	TypeResponse  = "application/x-mrp-response+json"
	TypeEvent     = "application/x-mrp-event+json"
	TypeStatus    = "application/x-mrp-status+json"
	TypeBlob      = "application/octet-stream"
)

// A Request asks another agent to perform an action.
type Request struct {
	Action         string         `json:"action"` // by convention the name of a capability
	Params         map[string]any `json:"params"`
	ResponseFormat string         `json:"response_format,omitempty"` // a hint
}

// A Response is the reply to a Request. Status is "ok" with a Result, or "error" with a Fault.
type Response struct {
	Status string `json:"status"`
	Result any    `json:"result,omitempty"`
	Fault  *Fault `json:"error,omitempty"`
}

// A Fault describes why a request failed. Code is in snake_case.
type Fault struct {
	Code    string         `json:"code"`
	Message string         `json:"message"`
	Details map[string]any `json:"details,omitempty"`
}

// The values of Response.Status.
const (
	ResponseOK    = "ok"
	ResponseError = "error"
)

// UnsupportedAction is the code of a Fault for an action that the agent does not support.
const UnsupportedAction = "unsupported_action"

// An Event notifies another agent and expects no response.
type Event struct {
	Event string         `json:"event"` // such as task.completed
	Data  map[string]any `json:"data"`
}

// A Progress reports the progress of a request.
type Progress struct {
	State    string  `json:"state"`
	Progress float64 `json:"progress"` // 0 to 1
	Detail   string  `json:"detail,omitempty"`
}
