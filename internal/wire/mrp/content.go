package mrp

// The types of content that the protocol names. A relay does not look into any.
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

// A Request asks another agent for something.
type Request struct {
	Action         string         `json:"action"` // by convention the name of a capability
	Params         map[string]any `json:"params"`
	ResponseFormat string         `json:"response_format,omitempty"` // a hint
}

// A Response answers a Request: Status is "ok" with a Result, or "error" with a Fault.
type Response struct {
	Status string `json:"status"`
	Result any    `json:"result,omitempty"`
	Fault  *Fault `json:"error,omitempty"`
}

// A Fault is why a request was not done. Code is snake_case.
type Fault struct {
	Code    string         `json:"code"`
	Message string         `json:"message"`
	Details map[string]any `json:"details,omitempty"`
}

// The words of Response.Status.
const (
	ResponseOK    = "ok"
	ResponseError = "error"
)

// UnsupportedAction is the code of a Fault for an action that an agent does not have.
const UnsupportedAction = "unsupported_action"

// An Event expects no answer.
type Event struct {
	Event string         `json:"event"` // such as task.completed
	Data  map[string]any `json:"data"`
}

// A Progress is the progress of a request.
type Progress struct {
	State    string  `json:"state"`
	Progress float64 `json:"progress"` // 0 to 1
	Detail   string  `json:"detail,omitempty"`
}
