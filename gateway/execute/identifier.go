package execute

import "github.com/google/uuid"

// newID makes the id of an execution: UUIDv7, so that ids sort by the time they were made. RFC 9562 5.7.
func newID() (string, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return "", err
	}
	return id.String(), nil
}
