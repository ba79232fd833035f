package reason

import "net/http"

var canonical = map[int]string{
	http.StatusBadRequest: "INVALID_ARGUMENT", http.StatusUnauthorized: "UNAUTHENTICATED", http.StatusForbidden: "PERMISSION_DENIED",
	http.StatusNotFound: "NOT_FOUND", http.StatusConflict: "ABORTED", http.StatusTooManyRequests: "RESOURCE_EXHAUSTED",
	http.StatusMethodNotAllowed: "UNIMPLEMENTED", http.StatusRequestEntityTooLarge: "INVALID_ARGUMENT",
	http.StatusRequestTimeout: "DEADLINE_EXCEEDED", http.StatusInternalServerError: "INTERNAL",
	http.StatusServiceUnavailable: "UNAVAILABLE",
}

// Canonical returns the name of the google.rpc.Code for an HTTP status, or "UNKNOWN" for a status that this package does not map. Protocols
// whose errors are google.rpc.Status messages send this name. https://github.com/googleapis/googleapis/blob/master/google/rpc/code.proto
func Canonical(status int) string {
	if name, ok := canonical[status]; ok {
		return name
	}
	return "UNKNOWN"
}
