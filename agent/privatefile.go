package agent

import (
	"errors"
	"fmt"

	"github.com/uimgate/uimgate/internal/privatefile"
)

// writePrivate replaces a file atomically and durably, readable by its owner alone.
func writePrivate(path string, data []byte) error {
	if err := privatefile.Write(path, data); err != nil {
		return fmt.Errorf("%w: %w", ErrFile, err)
	}
	return nil
}

func readPrivate(path string, most int64) ([]byte, error) {
	data, err := privatefile.Read(path, most)
	switch {
	case err == nil:
		return data, nil
	case errors.Is(err, privatefile.ErrOpen):
		return nil, fmt.Errorf("%s: %w: %w; chmod 600 it, or better make a new key", path, ErrFile, err)
	case errors.Is(err, privatefile.ErrTooLarge):
		return nil, fmt.Errorf("%s: %w: it has more than %d bytes", path, ErrFile, most)
	default:
		return nil, fmt.Errorf("%w: %w", ErrFile, err)
	}
}
